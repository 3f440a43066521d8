// Loops and branches: what leaves a body, and bodies as functions.
// RUN: kiln opt %s --kiln-hoist | FileCheck %s --check-prefix=HOIST
// RUN: kiln opt %s --kiln-layout --kiln-hoist --kiln-outline | FileCheck %s --check-prefix=OUTLINE
// RUN: kiln opt %s --kiln-pipeline | FileCheck %s --check-prefix=PLAN

// What every step computes alike is computed once; random numbers are not alike.
// HOIST-LABEL: func.func @recurrent
// HOIST: kiln.unary exp %arg2
// HOIST: kiln.loop 3 carries %arg0 : tensor<4x8xf32> rows %arg1 : tensor<3x4x8xf32>
// HOIST-NOT: kiln.unary exp
// HOIST: kiln.random_uniform
// HOIST: kiln.yield

// The packs, one of them of a parameter, leave the loop; the splat goes back into it.
// OUTLINE-LABEL: func.func private @recurrent_body0
// OUTLINE-SAME: (%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<1x8x8xf32>, %arg3: tensor<1x8x8xf32>)
// OUTLINE: kiln.constant dense<2.0
// OUTLINE: kiln.packed_dot %arg0, %arg2
// OUTLINE-LABEL: func.func @recurrent
// OUTLINE: %[[W:.*]] = kiln.pack transposed %arg2
// OUTLINE: %[[E:.*]] = kiln.pack
// OUTLINE: kiln.run_loop @recurrent_body0 3 carries %arg0 : tensor<4x8xf32> rows %arg1 : tensor<3x4x8xf32> invariants %[[W]], %[[E]]
// OUTLINE-SAME: {draws = 1 : i64}

// Prepacked constants, and scratch memory for the loop: the second copy of what it carries, and the body's arena.
// PLAN-LABEL: func.func @recurrent
// PLAN: kiln.fusion
// PLAN-SAME: kiln.buffers = [#kiln.place<prepacked 0>]
// PLAN: kiln.pack
// PLAN-SAME: kiln.buffers = [#kiln.place<prepacked 1>]
// PLAN: kiln.run_loop
// PLAN-SAME: kiln.buffers = [#kiln.place<output 0>, #kiln.place<output 1>, #kiln.place<arena {{[0-9]+}}>]
func.func @recurrent(%h: tensor<4x8xf32>, %x: tensor<3x4x8xf32>, %w: tensor<8x8xf32> {kiln.parameter})
    -> (tensor<4x8xf32>, tensor<3x4x8xf32>) attributes {kiln.random_draws = 3 : i64} {
  %0:2 = kiln.loop 3 carries %h : tensor<4x8xf32> rows %x : tensor<3x4x8xf32> attributes {draws = 1 : i64}
      -> tensor<4x8xf32>, tensor<3x4x8xf32> {
  ^bb0(%carried: tensor<4x8xf32>, %row: tensor<4x8xf32>):
    %two = kiln.constant dense<2.0> : tensor<4x8xf32>
    %e = kiln.unary exp %w : tensor<8x8xf32>
    %1 = kiln.dot %carried, %w {transpose_rhs} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %2 = kiln.dot %1, %e : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %u = kiln.random_uniform 0 : tensor<4x8xf32>
    %3 = kiln.binary add %2, %row : tensor<4x8xf32>
    %4 = kiln.binary add %3, %u : tensor<4x8xf32>
    %5 = kiln.binary mul %4, %two : tensor<4x8xf32>
    kiln.yield %5, %4 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<3x4x8xf32>
}

// Nothing but packs leaves a branch: the other may run.
// HOIST-LABEL: func.func @either
// HOIST: kiln.if
// HOIST: kiln.unary exp
// HOIST: else
// OUTLINE-LABEL: func.func private @either_then0
// OUTLINE-LABEL: func.func private @either_else1
// OUTLINE-LABEL: func.func @either
// OUTLINE: kiln.run_if @either_then0 else @either_else1, %arg0 : tensor<i1> of %arg1 : tensor<4xf32> -> tensor<4xf32>
func.func @either(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    %1 = kiln.unary exp %x : tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  } else {
    kiln.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// Inner bodies first.
// OUTLINE-LABEL: func.func private @nested_body0
// OUTLINE-LABEL: func.func private @nested_body1
// OUTLINE: kiln.run_loop @nested_body0 2
// OUTLINE-LABEL: func.func @nested
// OUTLINE: kiln.run_loop @nested_body1 3 carries %arg0 : tensor<4xf32> invariants %arg1 : tensor<4xf32> while %arg2 : tensor<i1>
func.func @nested(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = kiln.loop 3 carries %x : tensor<4xf32> while %c : tensor<i1> -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = kiln.loop 2 carries %a : tensor<4xf32> -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %2 = kiln.binary mul %b, %y : tensor<4xf32>
      kiln.yield %2 : tensor<4xf32>
    }
    %s = kiln.reduce sum %1 [0] : tensor<4xf32> -> tensor<f32>
    %zero = kiln.constant dense<0.0> : tensor<f32>
    %more = kiln.compare gt %s, %zero : tensor<f32> -> tensor<i1>
    kiln.yield %1, %more : tensor<4xf32>, tensor<i1>
  }
  return %0 : tensor<4xf32>
}
