// Decisions that passes record for later stages are verified.
// RUN: kiln opt %s -split-input-file -verify-diagnostics

func.func @dot_by_winograd(%x: tensor<4x5xf32>, %y: tensor<5x6xf32>) {
  // expected-error @+1 {{is no convolution, which winograd is for}}
  %0 = kiln.dot %x, %y by winograd : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @convolution_by_tensor_cores(%x: tensor<1x16x9x9xf32>, %w: tensor<16x16x3x3xf32>) {
  // expected-error @+1 {{cannot be by tensor_cores}}
  %0 = kiln.convolution %x, %w by tensor_cores {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x16x9x9xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x7x7xf32>
  return
}

// -----

func.func @strided_winograd(%x: tensor<1x16x9x9xf32>, %w: tensor<16x16x3x3xf32>) {
  // expected-error @+1 {{by winograd needs f32, kernels of 3x3, one group, and steps of 1}}
  %0 = kiln.convolution %x, %w by winograd {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 2, 2>} : tensor<1x16x9x9xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x4x4xf32>
  return
}

// -----

func.func @places_as_text(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs kiln.buffers to be an array of places}}
  %0 = kiln.unary neg %x {kiln.buffers = ["arena:0"]} : tensor<4xf32>
  return
}

// -----

func.func @too_many_places(%x: tensor<4xf32>) {
  // expected-error @+1 {{has 2 places for 1 results}}
  %0 = kiln.unary neg %x {kiln.buffers = [#kiln.place<arena 0>, #kiln.place<arena 64>]} : tensor<4xf32>
  return
}

// -----

func.func @alias_of_nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{has no operand 1 that #kiln.place<alias 1> could be}}
  %0 = kiln.reshape %x {kiln.buffers = [#kiln.place<alias 1>]} : tensor<4xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @negative_place(%x: tensor<4xf32>) {
  // expected-error @+1 {{has a negative number in #kiln.place<arena -64>}}
  %0 = kiln.unary neg %x {kiln.buffers = [#kiln.place<arena -64>]} : tensor<4xf32>
  return
}

// -----

func.func @input_not_written(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {kiln.writes = array<i64: 1>} {
  // expected-error @+1 {{has a result in #kiln.place<input 0>, which the call does not write}}
  %0 = kiln.unary neg %x {kiln.buffers = [#kiln.place<input 0>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @prepacked_input(%x: tensor<20x16xf32>) {
  // expected-error @+1 {{is prepacked, but does not derive from parameters alone}}
  %0 = kiln.pack matrix %x {groups = 1 : i64, kiln.prepacked, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  return
}

// -----

func.func @prepacked_written_parameter(%w: tensor<20x16xf32> {kiln.parameter}) -> tensor<20x16xf32> attributes {kiln.writes = array<i64: 0>} {
  // expected-error @+1 {{is prepacked, but does not derive from parameters alone}}
  %0 = kiln.pack matrix %w {groups = 1 : i64, kiln.prepacked, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %1 = kiln.unary neg %w : tensor<20x16xf32>
  return %1 : tensor<20x16xf32>
}

// -----

// expected-error @+1 {{needs kiln.writes to be inputs in ascending order}}
func.func @writes_out_of_order(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {kiln.writes = array<i64: 1, 0>} {
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @unknown_space(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected ::kiln::ir::Space to be one of: arena, output, alias, constant, prepacked, input}}
  // expected-error @+1 {{failed to parse Kiln_Place parameter 'space'}}
  %0 = kiln.unary neg %x {kiln.buffers = [#kiln.place<heap 0>]} : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{needs each kiln.saved to be a place of its own in 64 bytes}}
func.func @saved_twice(%x: tensor<4xf32> {kiln.saved = 0 : i64}, %y: tensor<4xf32> {kiln.saved = 0 : i64}) attributes {kiln.saved_bytes = 64 : i64} {
  return
}

// -----

// expected-error @+1 {{needs each kiln.saved to be a place of its own in 64 bytes}}
func.func @saved_behind_the_end(%x: tensor<4xf32> {kiln.saved = 64 : i64}) attributes {kiln.saved_bytes = 64 : i64} {
  return
}
