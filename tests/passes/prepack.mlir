// Which kernels derive from parameters alone and are kept between calls.
// RUN: kiln opt %s --kiln-fuse | FileCheck %s

// CHECK-LABEL: func.func @packs
// CHECK: kiln.pack matrix %arg0 {groups = 1 : i64, panel
// CHECK: kiln.pack matrix %arg1 {groups = 1 : i64, kiln.prepacked
// CHECK: kiln.pack matrix %{{.*}} {groups = 1 : i64, kiln.prepacked
func.func @packs(%x: tensor<20x16xf32>, %w: tensor<20x16xf32> {kiln.parameter}, %v: tensor<320xf32> {kiln.parameter}) -> tensor<3x20x16xf32> {
  %0 = kiln.pack matrix %x {groups = 1 : i64, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %1 = kiln.pack matrix %w {groups = 1 : i64, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %2 = kiln.reshape %v : tensor<320xf32> -> tensor<20x16xf32>
  %3 = kiln.pack matrix %2 {groups = 1 : i64, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %4 = kiln.concatenate %0, %1, %3 axis 0 : (tensor<1x20x16xf32>, tensor<1x20x16xf32>, tensor<1x20x16xf32>) -> tensor<3x20x16xf32>
  return %4 : tensor<3x20x16xf32>
}

// A parameter that the call writes is a different one in each call.
// CHECK-LABEL: func.func @written_parameter
// CHECK: kiln.pack matrix %arg0 {groups = 1 : i64, panel
// CHECK: kiln.pack matrix %arg1 {groups = 1 : i64, kiln.prepacked
func.func @written_parameter(%w: tensor<20x16xf32> {kiln.parameter}, %v: tensor<20x16xf32> {kiln.parameter}) -> (tensor<2x20x16xf32>, tensor<20x16xf32>) attributes {kiln.writes = array<i64: 0>} {
  %0 = kiln.pack matrix %w {groups = 1 : i64, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %1 = kiln.pack matrix %v {groups = 1 : i64, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %2 = kiln.concatenate %0, %1 axis 0 : (tensor<1x20x16xf32>, tensor<1x20x16xf32>) -> tensor<2x20x16xf32>
  %3 = kiln.unary neg %w : tensor<20x16xf32>
  return %2, %3 : tensor<2x20x16xf32>, tensor<20x16xf32>
}

// One derives from another. Results of the function, random numbers and whatever uses them are not kept.
// CHECK-LABEL: func.func @chains
// CHECK: kiln.fusion {{.*}} attributes {kiln.prepacked}
// CHECK: kiln.concatenate {{.*}}kiln.prepacked
// CHECK: kiln.fusion (%{{.*}} = %arg1) : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT: kiln.unary log
// CHECK: kiln.fusion
// CHECK-SAME: %arg0
// CHECK-NOT: kiln.prepacked
// CHECK: return
func.func @chains(%x: tensor<20xf32>, %g: tensor<10xf32> {kiln.parameter}, %b: tensor<10xf32> {kiln.parameter}) -> (tensor<20xf32>, tensor<10xf32>) {
  %0 = kiln.binary mul %g, %b : tensor<10xf32>
  %1 = kiln.unary exp %0 : tensor<10xf32>
  %2 = kiln.concatenate %0, %1 axis 0 : (tensor<10xf32>, tensor<10xf32>) -> tensor<20xf32>
  %3 = kiln.unary log %g : tensor<10xf32>
  %4 = kiln.random_uniform 0 : tensor<20xf32>
  %5 = kiln.binary mul %2, %4 : tensor<20xf32>
  %6 = kiln.binary add %x, %5 : tensor<20xf32>
  return %6, %3 : tensor<20xf32>, tensor<10xf32>
}

// A kernel that grows by more than 1 MiB is not kept, but a broadcast within one takes no memory: weights are
// normalized once.
// CHECK-LABEL: func.func @growth
// CHECK: kiln.fusion (%{{.*}} = %arg1) : (tensor<10xf32>) -> tensor<200000x10xf32>
// CHECK: kiln.fusion {{.*}}attributes {kiln.prepacked} : (tensor<2000x300xf32>) -> tensor<2000xf32>
// CHECK: kiln.fusion {{.*}}attributes {kiln.prepacked} : (tensor<2000x300xf32>, tensor<2000xf32>) -> tensor<2000x300xf32>
func.func @growth(%x: tensor<2000x300xf32>, %g: tensor<10xf32> {kiln.parameter}, %w: tensor<2000x300xf32> {kiln.parameter}) -> (tensor<200000xf32>, tensor<10xf32>, tensor<2000xf32>, tensor<300xf32>) {
  %0 = kiln.broadcast %g [1] : tensor<10xf32> -> tensor<200000x10xf32>
  %1 = kiln.unary exp %0 : tensor<200000x10xf32>
  %2 = kiln.reduce max %1 [1] : tensor<200000x10xf32> -> tensor<200000xf32>
  %3 = kiln.reduce sum %1 [0] : tensor<200000x10xf32> -> tensor<10xf32>
  %5 = kiln.reduce sum_squares %w [1] : tensor<2000x300xf32> -> tensor<2000xf32>
  %6 = kiln.broadcast %5 [0] : tensor<2000xf32> -> tensor<2000x300xf32>
  %7 = kiln.binary div %w, %6 : tensor<2000x300xf32>
  %8 = kiln.reduce max %7 [1] : tensor<2000x300xf32> -> tensor<2000xf32>
  %9 = kiln.reduce sum %7 [0] : tensor<2000x300xf32> -> tensor<300xf32>
  %10 = kiln.reduce sum %x [1] : tensor<2000x300xf32> -> tensor<2000xf32>
  %11 = kiln.reduce sum %x [0] : tensor<2000x300xf32> -> tensor<300xf32>
  %12 = kiln.binary add %8, %10 : tensor<2000xf32>
  %13 = kiln.binary add %9, %11 : tensor<300xf32>
  return %2, %3, %12, %13 : tensor<200000xf32>, tensor<10xf32>, tensor<2000xf32>, tensor<300xf32>
}

// A reduction of parameters does not join one that each call computes.
// CHECK-LABEL: func.func @reductions_of_parameters
// CHECK-NEXT: kiln.fusion {{.*}}attributes {kiln.prepacked} : (tensor<20x30xf32>) -> tensor<20xf32>
// CHECK: kiln.fusion
// CHECK: kiln.binary div
func.func @reductions_of_parameters(%x: tensor<20x30xf32>, %w: tensor<20x30xf32> {kiln.parameter}) -> tensor<20xf32> {
  %0 = kiln.reduce sum %w [1] : tensor<20x30xf32> -> tensor<20xf32>
  %1 = kiln.binary mul %w, %x : tensor<20x30xf32>
  %2 = kiln.reduce sum %1 [1] : tensor<20x30xf32> -> tensor<20xf32>
  %3 = kiln.binary div %2, %0 : tensor<20xf32>
  return %3 : tensor<20xf32>
}

// A kernel that also computes for the call is not kept, nor is whatever uses it.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: kiln.prepacked
// CHECK: return
func.func @mixed(%x: tensor<10xf32>, %g: tensor<10xf32> {kiln.parameter}) -> (tensor<10xf32>, tensor<f32>) {
  %0 = kiln.unary exp %g : tensor<10xf32>
  %1 = kiln.binary add %x, %0 : tensor<10xf32>
  %2 = kiln.reduce sum %0 [0] : tensor<10xf32> -> tensor<f32>
  %3 = kiln.unary neg %2 : tensor<f32>
  %4 = kiln.reduce sum %1 [0] : tensor<10xf32> -> tensor<f32>
  %5 = kiln.binary add %3, %4 : tensor<f32>
  return %1, %5 : tensor<10xf32>, tensor<f32>
}

// Weights that are rounded to bfloat16 and widened again have the bytes that they had: a contraction that reads
// them unpacked finds them rounded.
// CHECK-LABEL: func.func @rounded
// CHECK: kiln.fusion {{.*}}attributes {kiln.prepacked} : (tensor<4x300000xf32>) -> tensor<4x300000xf32>
// CHECK: kiln.packed_dot
func.func @rounded(%x: tensor<1x300000xf32>, %w: tensor<4x300000xf32> {kiln.parameter}) -> tensor<1x4xf32> {
  %0 = kiln.cast %w : tensor<4x300000xf32> -> tensor<4x300000xbf16>
  %1 = kiln.cast %0 : tensor<4x300000xbf16> -> tensor<4x300000xf32>
  %2 = kiln.pack transposed %1 {groups = 1 : i64, panel = 4 : i64} : tensor<4x300000xf32> -> tensor<1x300000x4xf32>
  %3 = kiln.packed_dot %x, %2 : tensor<1x300000xf32>, tensor<1x300000x4xf32> -> tensor<1x4xf32>
  return %3 : tensor<1x4xf32>
}
