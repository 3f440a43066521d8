// Windows, paddings, small products and scattered reductions in terms of simpler operations.
// RUN: kiln opt %s --target-lanes=1 --kiln-expand | FileCheck %s

// A small window is one tree: along the last axis, then the axis before it.
// CHECK-LABEL: func.func @max_pool
// CHECK-NEXT: %[[A:.*]] = kiln.slice %arg0 [0, 0, 0, 0] to [1, 2, 3, 3] by [1, 1, 2, 2]
// CHECK-NEXT: %[[B:.*]] = kiln.slice %arg0 [0, 0, 0, 1] to [1, 2, 3, 4] by [1, 1, 2, 2]
// CHECK-NEXT: %[[AB:.*]] = kiln.binary max %[[A]], %[[B]]
// CHECK-NEXT: %[[C:.*]] = kiln.slice %arg0 [0, 0, 1, 0] to [1, 2, 4, 3] by [1, 1, 2, 2]
// CHECK-NEXT: %[[D:.*]] = kiln.slice %arg0 [0, 0, 1, 1] to [1, 2, 4, 4] by [1, 1, 2, 2]
// CHECK-NEXT: %[[CD:.*]] = kiln.binary max %[[C]], %[[D]]
// CHECK-NEXT: %[[R:.*]] = kiln.binary max %[[AB]], %[[CD]] : tensor<1x2x2x2xf32>
// CHECK-NEXT: return %[[R]]
func.func @max_pool(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %0 = kiln.reduce_window max %x {dilate = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 2, 2>} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// What is outside does not win: the least value.
// CHECK-LABEL: func.func @padded_pool
// CHECK-NEXT: %[[P:.*]] = kiln.pad %arg0 0xFF800000 : f32 [0, 0, 1] [0, 0, 0]
// CHECK-NEXT: kiln.slice %[[P]] [0, 0, 0] to [1, 2, 4] by [1, 1, 1]
// CHECK-NEXT: kiln.slice %[[P]] [0, 0, 1] to [1, 2, 5] by [1, 1, 1]
func.func @padded_pool(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %0 = kiln.reduce_window max %x {dilate = array<i64: 1>, kernel = array<i64: 2>, pad_high = array<i64: 0>, pad_low = array<i64: 1>, stride = array<i64: 1>} : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
  return %0 : tensor<1x2x4xf32>
}

// CHECK-LABEL: func.func @padded_pool_of_bytes
// CHECK-NEXT: kiln.pad %arg0 -128 : i8
// CHECK: kiln.pad %arg1 0 : ui8
func.func @padded_pool_of_bytes(%x: tensor<1x2x4xi8>, %y: tensor<1x2x4xui8>) -> (tensor<1x2x4xi8>, tensor<1x2x4xui8>) {
  %0 = kiln.reduce_window max %x {dilate = array<i64: 1>, kernel = array<i64: 2>, pad_high = array<i64: 0>, pad_low = array<i64: 1>, stride = array<i64: 1>} : tensor<1x2x4xi8> -> tensor<1x2x4xi8>
  %1 = kiln.reduce_window max %y {dilate = array<i64: 1>, kernel = array<i64: 2>, pad_high = array<i64: 0>, pad_low = array<i64: 1>, stride = array<i64: 1>} : tensor<1x2x4xui8> -> tensor<1x2x4xui8>
  return %0, %1 : tensor<1x2x4xi8>, tensor<1x2x4xui8>
}

// A large window goes axis by axis.
// CHECK-LABEL: func.func @large_window
// CHECK-COUNT-5: kiln.slice %arg0 {{.*}} -> tensor<1x2x8x4xf32>
// CHECK: %[[ROWS:.*]] = kiln.binary add {{.*}} : tensor<1x2x8x4xf32>
// CHECK-COUNT-5: kiln.slice %[[ROWS]] {{.*}} -> tensor<1x2x4x4xf32>
// CHECK-NOT: kiln.slice
func.func @large_window(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %0 = kiln.reduce_window sum %x {dilate = array<i64: 1, 1>, kernel = array<i64: 5, 5>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x2x8x8xf32> -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @convolution
// CHECK-NEXT: %[[P:.*]] = kiln.pad %arg0 0.000000e+00 : f32 [0, 0, 1, 1] [0, 0, 1, 0]
// CHECK-NEXT: kiln.convolution %[[P]], %arg1 {{.*}}pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>
func.func @convolution(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x7xf32> {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 1>, stride = array<i64: 1, 1>} : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x8x7xf32>
  return %0 : tensor<1x4x8x7xf32>
}

// CHECK-LABEL: func.func @weights
// CHECK-NEXT: %[[P:.*]] = kiln.pad %arg0 0.000000e+00 : f32 [0, 0, 1, 1] [0, 0, 1, 0]
// CHECK-NEXT: kiln.convolution_weights %[[P]], %arg1 {{.*}}pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>
func.func @weights(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x8x7xf32>) -> tensor<4x3x3x3xf32> {
  %0 = kiln.convolution_weights %x, %g {dilate = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 1>, stride = array<i64: 1, 1>} : tensor<1x3x8x8xf32>, tensor<1x4x8x7xf32> -> tensor<4x3x3x3xf32>
  return %0 : tensor<4x3x3x3xf32>
}

// CHECK-LABEL: func.func @weights_of_nothing
// CHECK-NEXT: kiln.constant dense<0.000000e+00> : tensor<4x3x3x3xf32>
func.func @weights_of_nothing(%x: tensor<0x3x8x8xf32>, %g: tensor<0x4x6x6xf32>) -> tensor<4x3x3x3xf32> {
  %0 = kiln.convolution_weights %x, %g {dilate = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<0x3x8x8xf32>, tensor<0x4x6x6xf32> -> tensor<4x3x3x3xf32>
  return %0 : tensor<4x3x3x3xf32>
}

// One element of k: a multiply-add to +0, which fuses.
// CHECK-LABEL: func.func @outer_product
// CHECK-DAG: %[[Z:.*]] = kiln.constant dense<0.000000e+00> : tensor<3x4x5xf32>
// CHECK-DAG: %[[X:.*]] = kiln.reshape %arg0 : tensor<3x1x4xf32> -> tensor<3x4x1xf32>
// CHECK-DAG: %[[A:.*]] = kiln.broadcast %[[X]] [0, 1, 2] : tensor<3x4x1xf32> -> tensor<3x4x5xf32>
// CHECK-DAG: %[[B:.*]] = kiln.broadcast %arg1 [0, 1, 2] : tensor<3x1x5xf32> -> tensor<3x4x5xf32>
// CHECK: kiln.fma %[[A]], %[[B]], %[[Z]]
// CHECK-NOT: kiln.dot
// CHECK: return
func.func @outer_product(%x: tensor<3x1x4xf32>, %y: tensor<3x1x5xf32>) -> tensor<3x4x5xf32> {
  %0 = kiln.dot %x, %y {transpose_lhs} : tensor<3x1x4xf32>, tensor<3x1x5xf32> -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}

// Each run of axes, the last one first.
// CHECK-LABEL: func.func @reduce_around
// CHECK-NEXT: %[[R:.*]] = kiln.reduce sum %arg0 [2, 3] : tensor<2x3x4x5xf32> -> tensor<2x3xf32>
// CHECK-NEXT: kiln.reduce sum %[[R]] [0] : tensor<2x3xf32> -> tensor<3xf32>
func.func @reduce_around(%x: tensor<2x3x4x5xf32>) -> tensor<3xf32> {
  %0 = kiln.reduce sum %x [0, 2, 3] : tensor<2x3x4x5xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @reduce_between
// CHECK-NEXT: %[[R:.*]] = kiln.reduce sum %arg0 [2] : tensor<2x3x4x5xf32> -> tensor<2x3x5xf32>
// CHECK-NEXT: kiln.reduce sum %[[R]] [0] : tensor<2x3x5xf32> -> tensor<3x5xf32>
func.func @reduce_between(%x: tensor<2x3x4x5xf32>) -> tensor<3x5xf32> {
  %0 = kiln.reduce sum %x [0, 2] : tensor<2x3x4x5xf32> -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// A kept axis parts the reduced ones whatever its extent.
// CHECK-LABEL: func.func @reduce_ones
// CHECK-NEXT: %[[R:.*]] = kiln.reduce sum %arg0 [2] : tensor<2x1x4x5xf32> -> tensor<2x1x5xf32>
// CHECK-NEXT: kiln.reduce sum %[[R]] [0] : tensor<2x1x5xf32> -> tensor<1x5xf32>
// CHECK-NEXT: return
func.func @reduce_ones(%x: tensor<2x1x4x5xf32>) -> tensor<1x5xf32> {
  %0 = kiln.reduce sum %x [0, 2] : tensor<2x1x4x5xf32> -> tensor<1x5xf32>
  return %0 : tensor<1x5xf32>
}

// A run of one element is left out, wherever it is.
// CHECK-LABEL: func.func @reduce_last_one
// CHECK-NEXT: %[[R:.*]] = kiln.reshape %arg0 : tensor<5x3x1xf32> -> tensor<5x3xf32>
// CHECK-NEXT: kiln.reduce sum_squares %[[R]] [0] : tensor<5x3xf32> -> tensor<3xf32>
func.func @reduce_last_one(%x: tensor<5x3x1xf32>) -> tensor<3xf32> {
  %0 = kiln.reduce sum_squares %x [0, 2] : tensor<5x3x1xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// CHECK-LABEL: func.func @reduce_first_one
// CHECK-NEXT: %[[R:.*]] = kiln.reduce max %arg0 [2] : tensor<1x3x5xf32> -> tensor<1x3xf32>
// CHECK-NEXT: kiln.reshape %[[R]] : tensor<1x3xf32> -> tensor<3xf32>
func.func @reduce_first_one(%x: tensor<1x3x5xf32>) -> tensor<3xf32> {
  %0 = kiln.reduce max %x [0, 2] : tensor<1x3x5xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// The squares are added once.
// CHECK-LABEL: func.func @squares_around
// CHECK-NEXT: %[[R:.*]] = kiln.reduce sum_squares %arg0 [3] : tensor<2x3x4x5xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT: kiln.reduce sum %[[R]] [1] : tensor<2x3x4xf32> -> tensor<2x4xf32>
func.func @squares_around(%x: tensor<2x3x4x5xf32>) -> tensor<2x4xf32> {
  %0 = kiln.reduce sum_squares %x [1, 3] : tensor<2x3x4x5xf32> -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @sum_of_nothing
// CHECK-NEXT: kiln.constant dense<0.000000e+00> : tensor<4x5xf32>
// CHECK-NEXT: return
func.func @sum_of_nothing(%x: tensor<4x0xf32>, %y: tensor<0x5xf32>) -> tensor<4x5xf32> {
  %0 = kiln.dot %x, %y : tensor<4x0xf32>, tensor<0x5xf32> -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
