// Where values live.
// RUN: kiln opt %s --kiln-plan-buffers | FileCheck %s

// One buffer for all: each kernel writes over what it reads, from the beginning in the caller's array.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: kiln.arena_bytes = 0 : i64, kiln.arena_lower_bound = 0 : i64
// CHECK-COUNT-3: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @in_place(%x: tensor<10xf32>) -> tensor<10xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  %1 = kiln.fusion (%a = %0) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  %2 = kiln.fusion (%a = %1) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  return %2 : tensor<10xf32>
}

// The same in the arena, where the end is no result.
// CHECK-LABEL: func.func @in_arena
// CHECK-SAME: kiln.arena_bytes = 64 : i64, kiln.arena_lower_bound = 64 : i64
// CHECK-COUNT-2: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @in_arena(%x: tensor<10xf32>) -> tensor<f32> {
  %0 = kiln.fusion (%a = %x) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  %1 = kiln.fusion (%a = %0) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  %2 = kiln.fusion (%a = %1) : (tensor<10xf32>) -> tensor<f32> {
    %3 = kiln.reduce sum %a [0] : tensor<10xf32> -> tensor<f32>
    kiln.yield %3 : tensor<f32>
  }
  return %2 : tensor<f32>
}

// Not where elements are read at other places than they are written.
// CHECK-LABEL: func.func @moved
// CHECK-SAME: kiln.arena_bytes = 64 : i64
// CHECK: kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.buffers = [#kiln.place<output 0>]
func.func @moved(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %3 = kiln.unary exp %a : tensor<4x4xf32>
    kiln.yield %3 : tensor<4x4xf32>
  }
  %1 = kiln.fusion (%a = %0) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %3 = kiln.transpose %a [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    %4 = kiln.binary add %3, %a : tensor<4x4xf32>
    kiln.yield %4 : tensor<4x4xf32>
  }
  %2 = kiln.fusion (%a = %1) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %3 = kiln.unary exp %a : tensor<4x4xf32>
    kiln.yield %3 : tensor<4x4xf32>
  }
  return %2 : tensor<4x4xf32>
}

// Behind a product too, but not what it multiplies.
// CHECK-LABEL: func.func @behind_product
// CHECK-SAME: kiln.arena_bytes = 1024 : i64
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena {{.*}}>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @behind_product(%x: tensor<16x16xf32>, %w: tensor<1x16x16xf32>) -> tensor<16x16xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    %3 = kiln.unary exp %a : tensor<16x16xf32>
    kiln.yield %3 : tensor<16x16xf32>
  }
  %1 = kiln.fusion (%a = %x) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    %3 = kiln.unary log %a : tensor<16x16xf32>
    kiln.yield %3 : tensor<16x16xf32>
  }
  %2 = kiln.fusion (%a = %0, %b = %1, %c = %w) : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32> {
    %3 = kiln.packed_dot %b, %c : tensor<16x16xf32>, tensor<1x16x16xf32> -> tensor<16x16xf32>
    %4 = kiln.binary add %3, %a : tensor<16x16xf32>
    kiln.yield %4 : tensor<16x16xf32>
  }
  return %2 : tensor<16x16xf32>
}

// Nor where the value is needed later, or the kernel reduces. The last reader takes the first's memory.
// CHECK-LABEL: func.func @needed
// CHECK-SAME: kiln.arena_bytes = 128 : i64, kiln.arena_lower_bound = 128 : i64
// CHECK: kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.buffers = [#kiln.place<arena 64>]
// CHECK: kiln.buffers = [#kiln.place<output 0>]
func.func @needed(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.unary exp %a : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  %1 = kiln.fusion (%a = %0) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.unary exp %a : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  %2 = kiln.fusion (%a = %1) : (tensor<16xf32>) -> tensor<f32> {
    %3 = kiln.reduce sum %a [0] : tensor<16xf32> -> tensor<f32>
    kiln.yield %3 : tensor<f32>
  }
  %4 = kiln.fusion (%a = %0, %b = %1, %c = %2) : (tensor<16xf32>, tensor<16xf32>, tensor<f32>) -> tensor<16xf32> {
    %5 = kiln.binary add %a, %b : tensor<16xf32>
    %6 = kiln.broadcast %c [] : tensor<f32> -> tensor<16xf32>
    %7 = kiln.binary add %5, %6 : tensor<16xf32>
    kiln.yield %7 : tensor<16xf32>
  }
  return %4 : tensor<16xf32>
}

// A reshape is a name; through it the buffer lives on.
// CHECK-LABEL: func.func @alias
// CHECK-SAME: kiln.arena_bytes = 128 : i64
// CHECK: kiln.fusion {{.*}}#kiln.place<arena [[A:.*]]>]
// CHECK: kiln.reshape {{.*}}kiln.buffers = [#kiln.place<alias 0>]
// CHECK: kiln.fusion {{.*}}#kiln.place<arena [[B:.*]]>]
// CHECK: kiln.concatenate {{.*}}#kiln.place<output 0>]
func.func @alias(%x: tensor<4x4xf32>) -> tensor<32xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %3 = kiln.unary exp %a : tensor<4x4xf32>
    kiln.yield %3 : tensor<4x4xf32>
  }
  %1 = kiln.reshape %0 : tensor<4x4xf32> -> tensor<16xf32>
  %2 = kiln.fusion (%a = %x) : (tensor<4x4xf32>) -> tensor<16xf32> {
    %3 = kiln.reshape %a : tensor<4x4xf32> -> tensor<16xf32>
    %4 = kiln.unary log %3 : tensor<16xf32>
    kiln.yield %4 : tensor<16xf32>
  }
  %5 = kiln.concatenate %1, %2 axis 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  return %5 : tensor<32xf32>
}

// Each result of the call is written by one operation: arguments, constants and repetitions are copied.
// CHECK-LABEL: func.func @returned
// CHECK: %[[C:.*]] = kiln.constant {{.*}}kiln.buffers = [#kiln.place<constant 0>]
// CHECK: %[[E:.*]] = kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 1>]
// CHECK: %[[R:.*]] = kiln.reshape %[[E]] {kiln.buffers = [#kiln.place<alias 0>]}
// CHECK: %[[X:.*]] = kiln.fusion (%{{.*}} = %arg0) attributes {kiln.buffers = [#kiln.place<output 0>]}
// CHECK-NEXT: kiln.yield
// CHECK: %[[R2:.*]] = kiln.fusion (%{{.*}} = %[[R]]) attributes {kiln.buffers = [#kiln.place<output 2>]}
// CHECK: %[[C2:.*]] = kiln.fusion (%{{.*}} = %[[C]]) attributes {kiln.buffers = [#kiln.place<output 3>]}
// CHECK: return %[[X]], %[[E]], %[[R2]], %[[C2]]
func.func @returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>) {
  %c = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = kiln.fusion (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %3 = kiln.unary exp %a : tensor<4xf32>
    kiln.yield %3 : tensor<4xf32>
  }
  %1 = kiln.reshape %0 : tensor<4xf32> -> tensor<2x2xf32>
  return %x, %0, %1, %c : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>
}

// The new contents of %x and %y are staged in the arena, as later kernels copy the old ones. Nothing reads those of %z.
// CHECK-LABEL: func.func @writes
// CHECK-SAME: kiln.arena_bytes = 128 : i64
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
// CHECK: %[[W0:.*]] = kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: %[[W1:.*]] = kiln.fusion (%{{.*}} = %arg0) {{.*}}kiln.buffers = [#kiln.place<arena 64>]
// CHECK: %[[W2:.*]] = kiln.fusion (%{{.*}} = %arg1) {{.*}}kiln.buffers = [#kiln.place<input 2>]
// CHECK: return %{{.*}}, %[[W0]], %[[W1]], %[[W2]]
func.func @writes(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {kiln.writes = array<i64: 0, 1, 2>} {
  %0 = kiln.fusion (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %3 = kiln.unary exp %a : tensor<4xf32>
    kiln.yield %3 : tensor<4xf32>
  }
  return %0, %0, %x, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// New contents of an input that each element's old contents determine are computed in place.
// CHECK-LABEL: func.func @update
// CHECK-SAME: kiln.arena_bytes = 0 : i64
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<input 0>]
func.func @update(%w: tensor<16xf32>, %g: tensor<16xf32>) -> tensor<16xf32> attributes {kiln.writes = array<i64: 0>} {
  %0 = kiln.fusion (%a = %w, %b = %g) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.binary sub %a, %b : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  return %0 : tensor<16xf32>
}

// As are the values on the way, after the last read of the old contents as a whole.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: kiln.arena_bytes = 64 : i64
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK-COUNT-2: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<input 0>]
func.func @chain(%w: tensor<16xf32>) -> tensor<16xf32> attributes {kiln.writes = array<i64: 0>} {
  %0 = kiln.fusion (%a = %w) : (tensor<16xf32>) -> tensor<f32> {
    %3 = kiln.reduce sum %a [0] : tensor<16xf32> -> tensor<f32>
    kiln.yield %3 : tensor<f32>
  }
  %1 = kiln.fusion (%a = %w, %b = %0) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32> {
    %3 = kiln.broadcast %b [] : tensor<f32> -> tensor<16xf32>
    %4 = kiln.binary sub %a, %3 : tensor<16xf32>
    kiln.yield %4 : tensor<16xf32>
  }
  %2 = kiln.fusion (%a = %1) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.unary exp %a : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  return %2 : tensor<16xf32>
}

// Not while a later kernel reads the old contents.
// CHECK-LABEL: func.func @read_later
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @read_later(%w: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {kiln.writes = array<i64: 0>} {
  %0 = kiln.fusion (%a = %w) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.unary exp %a : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  %1 = kiln.fusion (%a = %w) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.unary log %a : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  return %1, %0 : tensor<16xf32>, tensor<16xf32>
}

// Nor in a kernel that reads them at other places than it writes.
// CHECK-LABEL: func.func @read_shifted
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena 0>]
func.func @read_shifted(%w: tensor<16xf32>) -> tensor<16xf32> attributes {kiln.writes = array<i64: 0>} {
  %0 = kiln.fusion (%a = %w) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.reverse %a [0] : tensor<16xf32>
    %4 = kiln.binary add %3, %a : tensor<16xf32>
    kiln.yield %4 : tensor<16xf32>
  }
  return %0 : tensor<16xf32>
}

// A call that throws leaves its inputs as they were: the first kernel precedes a check, the second does not.
// CHECK-LABEL: func.func @check
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.check_bounds
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<input 1>]
func.func @check(%w: tensor<16xf32>, %v: tensor<16xf32>, %i: tensor<3xi64>) -> (tensor<3xf32>, tensor<16xf32>, tensor<16xf32>) attributes {kiln.writes = array<i64: 0, 1>} {
  %0 = kiln.fusion (%a = %w) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.unary exp %a : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  %1 = kiln.check_bounds %i below 16 for "take" : tensor<3xi64>
  %2 = kiln.fusion (%a = %v) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.unary exp %a : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  %4 = kiln.fusion (%a = %1) : (tensor<3xi64>) -> tensor<3xf32> {
    %3 = kiln.cast %a : tensor<3xi64> -> tensor<3xf32>
    kiln.yield %3 : tensor<3xf32>
  }
  return %4, %0, %2 : tensor<3xf32>, tensor<16xf32>, tensor<16xf32>
}

// Two inputs change places: the old contents of one are staged.
// CHECK-LABEL: func.func @swap
// CHECK-SAME: kiln.arena_bytes = 64 : i64
// CHECK: kiln.fusion (%{{.*}} = %arg1) {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.fusion (%{{.*}} = %arg0) {{.*}}kiln.buffers = [#kiln.place<input 1>]
func.func @swap(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {kiln.writes = array<i64: 0, 1>} {
  return %y, %x : tensor<16xf32>, tensor<16xf32>
}

// Two inputs get one value: it is computed in the first and copied to the second by write-back.
// CHECK-LABEL: func.func @two_inputs
// CHECK: %[[R:.*]] = kiln.fusion {{.*}}kiln.buffers = [#kiln.place<input 0>]
// CHECK: return %[[R]], %[[R]]
func.func @two_inputs(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {kiln.writes = array<i64: 0, 1>} {
  %0 = kiln.fusion (%a = %x, %b = %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.binary sub %a, %b : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  return %0, %0 : tensor<16xf32>, tensor<16xf32>
}

// An array that several kernels write part by part.
// CHECK-LABEL: func.func @parts
// CHECK: kiln.empty {{.*}}kiln.buffers = [#kiln.place<arena 0>]
func.func @parts(%w: tensor<4xf32>, %x: tensor<2xf32>) -> tensor<4xf32> attributes {kiln.writes = array<i64: 0>} {
  %0 = kiln.empty : tensor<4xf32>
  %1 = kiln.fusion (%a = %x, %b = %0) : (tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %3 = kiln.unary exp %a : tensor<2xf32>
    %4 = kiln.insert %3 into %b [0] by [1] : tensor<2xf32> into tensor<4xf32>
    kiln.yield %4 : tensor<4xf32>
  }
  %2 = kiln.fusion (%a = %x, %b = %1) : (tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %3 = kiln.unary log %a : tensor<2xf32>
    %4 = kiln.insert %3 into %b [2] by [1] : tensor<2xf32> into tensor<4xf32>
    kiln.yield %4 : tensor<4xf32>
  }
  return %2 : tensor<4xf32>
}

// The kernels of a row fusion run interleaved: an earlier one may read rows that the last has overwritten.
// CHECK-LABEL: func.func @read_in_row_fusion
// CHECK: kiln.buffers = [#kiln.place<arena [[#MAX:]]>]
// CHECK: kiln.buffers = [#kiln.place<arena [[#]]>]
func.func @read_in_row_fusion(%w: tensor<64x8xf32>) -> tensor<64x8xf32> attributes {kiln.writes = array<i64: 0>} {
  %0 = kiln.fusion (%a = %w) attributes {kiln.row_fusion = array<i64: 0, 64, 36>} : (tensor<64x8xf32>) -> tensor<64xf32> {
    %3 = kiln.reduce max %a [1] : tensor<64x8xf32> -> tensor<64xf32>
    kiln.yield %3 : tensor<64xf32>
  }
  %1 = kiln.fusion (%a = %w, %b = %0) attributes {kiln.row_fusion = array<i64: 0, 64, 36>} : (tensor<64x8xf32>, tensor<64xf32>) -> tensor<64x8xf32> {
    %3 = kiln.broadcast %b [0] : tensor<64xf32> -> tensor<64x8xf32>
    %4 = kiln.binary sub %a, %3 : tensor<64x8xf32>
    kiln.yield %4 : tensor<64x8xf32>
  }
  return %1 : tensor<64x8xf32>
}

// Prepacked constants are numbered, and take no memory of the call.
// CHECK-LABEL: func.func @prepacked
// CHECK: kiln.pack matrix %arg0 {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.pack matrix %arg1 {{.*}}kiln.buffers = [#kiln.place<prepacked 0>]
// CHECK: kiln.pack {{.*}}kiln.buffers = [#kiln.place<prepacked 1>]
func.func @prepacked(%x: tensor<20x16xf32>, %w: tensor<20x16xf32> {kiln.parameter}, %v: tensor<320xf32> {kiln.parameter}) -> tensor<2x20x16xf32> {
  %0 = kiln.pack matrix %x {groups = 1 : i64, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %1 = kiln.pack matrix %w {groups = 1 : i64, kiln.prepacked, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %2 = kiln.reshape %v : tensor<320xf32> -> tensor<20x16xf32>
  %3 = kiln.pack matrix %2 {groups = 1 : i64, kiln.prepacked, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %4 = kiln.concatenate %0, %3 axis 0 : (tensor<1x20x16xf32>, tensor<1x20x16xf32>) -> tensor<2x20x16xf32>
  return %4 : tensor<2x20x16xf32>
}

// The results of one prepacked kernel follow each other.
// CHECK-LABEL: func.func @prepacked_results
// CHECK-SAME: kiln.arena_lower_bound = 0 : i64
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<prepacked 0>, #kiln.place<prepacked 0 + 64>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<prepacked 1>]
// CHECK: kiln.concatenate {{.*}}kiln.buffers = [#kiln.place<prepacked 2>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @prepacked_results(%x: tensor<20xf32>, %g: tensor<10xf32> {kiln.parameter}, %b: tensor<10xf32> {kiln.parameter}) -> tensor<20xf32> {
  %0:2 = kiln.fusion (%a = %g, %c = %b) attributes {kiln.prepacked} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
    %8 = kiln.binary mul %a, %c : tensor<10xf32>
    %9 = kiln.unary neg %8 : tensor<10xf32>
    kiln.yield %8, %9 : tensor<10xf32>, tensor<10xf32>
  }
  %1 = kiln.fusion (%a = %0#1) attributes {kiln.prepacked} : (tensor<10xf32>) -> tensor<10xf32> {
    %8 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %8 : tensor<10xf32>
  }
  %2 = kiln.concatenate %0#0, %1 axis 0 {kiln.prepacked} : (tensor<10xf32>, tensor<10xf32>) -> tensor<20xf32>
  %3 = kiln.fusion (%a = %x, %c = %2) : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32> {
    %8 = kiln.binary add %a, %c : tensor<20xf32>
    kiln.yield %8 : tensor<20xf32>
  }
  return %3 : tensor<20xf32>
}

// The kernels of a row fusion are one step. Both results of the third end in it, and one of them takes what it reads.
// CHECK-LABEL: func.func @two_results_in_a_row_fusion
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena [[#SLOT:]]>]
// CHECK: kiln.fusion
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena [[#SLOT]]>, #kiln.place<arena [[#SLOT + 262144]]>]
// CHECK: kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.buffers = [#kiln.place<output 1>]
func.func @two_results_in_a_row_fusion(%x: tensor<4096x4x4xf32>) -> (tensor<4096x4x4xf32>, tensor<4096x4x4xf32>) {
  %0 = kiln.fusion (%a = %x) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>) -> tensor<4096x4x4xf32> {
    %5 = kiln.unary exp %a : tensor<4096x4x4xf32>
    kiln.yield %5 : tensor<4096x4x4xf32>
  }
  %1 = kiln.fusion (%a = %0) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>) -> tensor<4096xf32> {
    %5 = kiln.reduce sum %a [1, 2] : tensor<4096x4x4xf32> -> tensor<4096xf32>
    kiln.yield %5 : tensor<4096xf32>
  }
  %2:2 = kiln.fusion (%a = %0, %b = %1) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>, tensor<4096xf32>) -> (tensor<4096x4x4xf32>, tensor<4096x4x4xf32>) {
    %5 = kiln.broadcast %b [0] : tensor<4096xf32> -> tensor<4096x4x4xf32>
    %6 = kiln.binary mul %a, %5 : tensor<4096x4x4xf32>
    %7 = kiln.unary tanh %6 : tensor<4096x4x4xf32>
    kiln.yield %6, %7 : tensor<4096x4x4xf32>, tensor<4096x4x4xf32>
  }
  %3 = kiln.fusion (%a = %2#0) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>) -> tensor<4096x4x4xf32> {
    %5 = kiln.transpose %a [0, 2, 1] : tensor<4096x4x4xf32> -> tensor<4096x4x4xf32>
    kiln.yield %5 : tensor<4096x4x4xf32>
  }
  %4 = kiln.fusion (%a = %2#1) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>) -> tensor<4096x4x4xf32> {
    %5 = kiln.transpose %a [0, 2, 1] : tensor<4096x4x4xf32> -> tensor<4096x4x4xf32>
    kiln.yield %5 : tensor<4096x4x4xf32>
  }
  return %3, %4 : tensor<4096x4x4xf32>, tensor<4096x4x4xf32>
}

// The place of a saved value is free until it is computed: here for the value it is computed from.
// CHECK-LABEL: func.func @forward_entry
// CHECK-SAME: kiln.arena_bytes = 0 : i64
// CHECK: kiln.transpose {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.unary {{.*}}kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.transpose {{.*}}kiln.buffers = [#kiln.place<arena 0>]
func.func @forward_entry(%x: tensor<8x16xf32>) -> (tensor<16x8xf32>, tensor<8x16xf32> {kiln.saved = 0 : i64}) attributes {kiln.saved_bytes = 512 : i64} {
  %0 = kiln.transpose %x [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  %1 = kiln.unary neg %0 : tensor<16x8xf32>
  %2 = kiln.transpose %1 [1, 0] : tensor<16x8xf32> -> tensor<8x16xf32>
  return %1, %2 : tensor<16x8xf32>, tensor<8x16xf32>
}

// It is free again after its last use. No value is in both parts of the arena: the concatenation does not begin
// in the saved part, where it has no room.
// CHECK-LABEL: func.func @backward_entry
// CHECK-SAME: kiln.arena_bytes = 512 : i64, kiln.arena_lower_bound = 256 : i64
// CHECK: kiln.unary {{.*}}kiln.buffers = [#kiln.place<arena 256>]
// CHECK: kiln.unary {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.unary {{.*}}kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.concatenate {{.*}}kiln.buffers = [#kiln.place<arena 256>]
func.func @backward_entry(%g: tensor<64xf32>, %s: tensor<64xf32> {kiln.saved = 0 : i64}) -> (tensor<64xf32>, tensor<128xf32>) attributes {kiln.saved_bytes = 256 : i64} {
  %0 = kiln.unary neg %s : tensor<64xf32>
  %1 = kiln.unary neg %0 : tensor<64xf32>
  %2 = kiln.unary neg %1 : tensor<64xf32>
  %3 = kiln.concatenate %g, %g axis 0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  %4 = kiln.unary neg %3 : tensor<128xf32>
  return %2, %4 : tensor<64xf32>, tensor<128xf32>
}

// A kernel that is the last to read a saved value may overwrite it.
// CHECK-LABEL: func.func @overwrites_saved
// CHECK-SAME: kiln.arena_bytes = 0 : i64
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena 0>]
func.func @overwrites_saved(%g: tensor<64xf32>, %s: tensor<64xf32> {kiln.saved = 0 : i64}) -> tensor<64xf32> attributes {kiln.saved_bytes = 256 : i64} {
  %0 = kiln.fusion (%a = %s, %b = %g) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    %1 = kiln.binary mul %a, %b : tensor<64xf32>
    kiln.yield %1 : tensor<64xf32>
  }
  %2 = kiln.unary neg %0 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
