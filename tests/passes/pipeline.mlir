// One small program at every stage: a dense layer, its loss, and constants that a user's code left.
// RUN: kiln opt %s --pass-pipeline='builtin.module(func.func(kiln-canonicalize,kiln-fold,kiln-canonicalize,cse))' | FileCheck %s --check-prefix=KILN
// RUN: kiln opt %s --kiln-pipeline | FileCheck %s --check-prefix=BUFFERS

// KILN-LABEL: func.func @net
// KILN: %[[Y:.*]] = kiln.dot %arg0, %arg1 {transpose_rhs}
// KILN: %[[B:.*]] = kiln.broadcast %arg2 [1]
// KILN: %[[YB:.*]] = kiln.binary add %[[Y]], %[[B]]
// KILN: %[[ZERO:.*]] = kiln.constant dense<0.000000e+00> : tensor<4x20xf32>
// KILN: %[[RELU:.*]] = kiln.binary max %[[YB]], %[[ZERO]]
// KILN: %[[TEN:.*]] = kiln.constant dense<1.000000e+01> : tensor<4x20xf32>
// KILN: %[[SCALED:.*]] = kiln.binary mul %[[RELU]], %[[TEN]]
// KILN: %[[SUM:.*]] = kiln.reduce sum %[[SCALED]] [0, 1]
// KILN: return %[[SUM]]

// BUFFERS-LABEL: func.func @net
// BUFFERS-SAME: kiln.arena_bytes = 320 : i64, kiln.arena_lower_bound = 320 : i64
// BUFFERS: %[[W:.*]] = kiln.pack transposed %arg1 {groups = 1 : i64, kiln.buffers = [#kiln.place<prepacked 0>], kiln.prepacked, panel = 32 : i64}
// BUFFERS: %[[Y:.*]] = kiln.fusion (%[[X:.*]] = %arg0, %[[P:.*]] = %[[W]], %[[B:.*]] = %arg2) attributes {kiln.buffers = [#kiln.place<arena 0>], kiln.missed_fusion = ["reduce: a reduction cannot follow another root in one kernel"]}
// BUFFERS-NEXT:   kiln.packed_dot %[[X]], %[[P]]
// BUFFERS-NEXT:   kiln.broadcast %[[B]] [1]
// BUFFERS-NEXT:   kiln.binary add
// BUFFERS-NEXT:   kiln.constant dense<0.0
// BUFFERS-NEXT:   kiln.binary max
// BUFFERS-NEXT:   kiln.constant dense<1.000000e+01>
// BUFFERS-NEXT:   kiln.binary mul
// BUFFERS-NEXT:   kiln.yield
// BUFFERS: kiln.fusion (%{{.*}} = %[[Y]]) attributes {kiln.buffers = [#kiln.place<output 0>]
// BUFFERS-NEXT:   kiln.reduce sum
// BUFFERS-NEXT:   kiln.yield
func.func @net(%x: tensor<4x16xf32>, %w: tensor<20x16xf32> {kiln.parameter}, %b: tensor<20xf32> {kiln.parameter}) -> tensor<f32> {
  %dot = kiln.dot %x, %w {transpose_rhs} : tensor<4x16xf32>, tensor<20x16xf32> -> tensor<4x20xf32>
  %bias = kiln.broadcast %b [1] : tensor<20xf32> -> tensor<4x20xf32>
  %y = kiln.binary add %dot, %bias : tensor<4x20xf32>
  %scalar = kiln.constant dense<0.0> : tensor<f32>
  %zero = kiln.broadcast %scalar [] : tensor<f32> -> tensor<4x20xf32>
  %relu = kiln.binary max %y, %zero : tensor<4x20xf32>
  %1 = kiln.constant dense<1.0> : tensor<4x20xf32>
  %2 = kiln.constant dense<2.0> : tensor<4x20xf32>
  %3 = kiln.constant dense<3.0> : tensor<4x20xf32>
  %4 = kiln.constant dense<4.0> : tensor<4x20xf32>
  %a = kiln.binary add %1, %2 : tensor<4x20xf32>
  %c = kiln.binary add %3, %4 : tensor<4x20xf32>
  %ten = kiln.binary add %a, %c : tensor<4x20xf32>
  %scaled = kiln.binary mul %ten, %relu : tensor<4x20xf32>
  %sum = kiln.reduce sum %scaled [0, 1] : tensor<4x20xf32> -> tensor<f32>
  return %sum : tensor<f32>
}
