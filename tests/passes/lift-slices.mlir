// Windows of a pooling go up to the product.
// RUN: kiln opt %s --kiln-lift-slices | FileCheck %s
// RUN: kiln opt %s --kiln-lift-slices --kiln-fuse | FileCheck %s --check-prefix=FUSED

// What has no neighbours, here a bias, is the same for all points of a window.
// CHECK-LABEL: func.func @bias
// CHECK-NEXT: %[[Y:.*]] = kiln.packed_convolution
// CHECK-NEXT: %[[B:.*]] = kiln.broadcast %arg2 [3]
// CHECK-NEXT: %[[Y0:.*]] = kiln.slice %[[Y]] [0, 0, 0, 0] to [1, 4, 5, 8] by [1, 2, 2, 1]
// CHECK-NEXT: %[[B0:.*]] = kiln.slice %[[B]]
// CHECK-NEXT: %[[S0:.*]] = kiln.binary add %[[Y0]], %[[B0]] : tensor<1x2x3x8xf32>
// CHECK-NEXT: %[[Y1:.*]] = kiln.slice %[[Y]] [0, 0, 1, 0]
// CHECK-NEXT: %[[S1:.*]] = kiln.binary add %[[Y1]], %[[B0]]
// CHECK-NEXT: %[[M:.*]] = kiln.binary max %[[S0]], %[[S1]]
// CHECK-NEXT: kiln.slice %[[Y]] [0, 1, 0, 0]
// CHECK-NEXT: kiln.binary add %{{.*}}, %[[B0]]
// CHECK-NEXT: kiln.slice %[[Y]] [0, 1, 1, 0]
// CHECK-NEXT: kiln.binary add %{{.*}}, %[[B0]]
// CHECK-NEXT: kiln.binary max
// CHECK-NEXT: kiln.binary max %[[M]]
// CHECK-NEXT: return
// FUSED-LABEL: func.func @bias
// FUSED-COUNT-1: kiln.fusion
// FUSED-NOT: kiln.fusion
// FUSED: return
func.func @bias(%x: tensor<1x5x6x4xf32>, %w: tensor<1x1x4x8xf32>, %b: tensor<8xf32>) -> tensor<1x2x3x8xf32> {
  %0 = kiln.packed_convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, kernel = array<i64: 1, 1>, stride = array<i64: 1, 1>} : tensor<1x5x6x4xf32>, tensor<1x1x4x8xf32> -> tensor<1x5x6x8xf32>
  %1 = kiln.broadcast %b [3] : tensor<8xf32> -> tensor<1x5x6x8xf32>
  %2 = kiln.binary add %0, %1 : tensor<1x5x6x8xf32>
  %3 = kiln.slice %2 [0, 0, 0, 0] to [1, 4, 5, 8] by [1, 2, 2, 1] : tensor<1x5x6x8xf32> -> tensor<1x2x3x8xf32>
  %4 = kiln.slice %2 [0, 0, 1, 0] to [1, 4, 6, 8] by [1, 2, 2, 1] : tensor<1x5x6x8xf32> -> tensor<1x2x3x8xf32>
  %5 = kiln.binary max %3, %4 : tensor<1x2x3x8xf32>
  %6 = kiln.slice %2 [0, 1, 0, 0] to [1, 4, 5, 8] by [1, 2, 2, 1] : tensor<1x5x6x8xf32> -> tensor<1x2x3x8xf32>
  %7 = kiln.slice %2 [0, 1, 1, 0] to [1, 4, 6, 8] by [1, 2, 2, 1] : tensor<1x5x6x8xf32> -> tensor<1x2x3x8xf32>
  %8 = kiln.binary max %6, %7 : tensor<1x2x3x8xf32>
  %9 = kiln.binary max %5, %8 : tensor<1x2x3x8xf32>
  return %9 : tensor<1x2x3x8xf32>
}

// An operand in memory is sliced, what is computed of others alone stays; splats are splats.
// CHECK-LABEL: func.func @operands
// CHECK: %[[Y:.*]] = kiln.winograd
// CHECK-NEXT: %[[E:.*]] = kiln.unary exp %arg2 : tensor<1x4x4x16xf32>
// CHECK-NEXT: kiln.slice %[[Y]] [0, 0, 0, 0]
// CHECK-NEXT: kiln.slice %[[E]] [0, 0, 0, 0]
// CHECK-NEXT: kiln.binary add
// CHECK-NEXT: %[[Z:.*]] = kiln.constant dense<0.0{{.*}} : tensor<1x2x2x16xf32>
// CHECK-NEXT: kiln.binary max %{{.*}}, %[[Z]]
// CHECK-NEXT: kiln.slice %[[Y]] [0, 0, 1, 0]
// CHECK-NEXT: kiln.slice %[[E]] [0, 0, 1, 0]
// CHECK-NEXT: kiln.binary add
// CHECK-NEXT: kiln.binary max %{{.*}}, %[[Z]]
// FUSED-LABEL: func.func @operands
// FUSED: kiln.fusion
// FUSED: unary exp
// FUSED: kiln.fusion
// FUSED: kiln.winograd
// FUSED-NOT: kiln.fusion
// FUSED: return
func.func @operands(%x: tensor<1x6x6x16xf32>, %w: tensor<1x16x16x16xf32>, %r: tensor<1x4x4x16xf32>) -> tensor<1x2x2x16xf32> {
  %0 = kiln.winograd %x, %w {pad_low = array<i64: 0, 0>} : tensor<1x6x6x16xf32>, tensor<1x16x16x16xf32> -> tensor<1x4x4x16xf32>
  %1 = kiln.unary exp %r : tensor<1x4x4x16xf32>
  %2 = kiln.binary add %0, %1 : tensor<1x4x4x16xf32>
  %z = kiln.constant dense<0.0> : tensor<1x4x4x16xf32>
  %3 = kiln.binary max %2, %z : tensor<1x4x4x16xf32>
  %4 = kiln.slice %3 [0, 0, 0, 0] to [1, 3, 3, 16] by [1, 2, 2, 1] : tensor<1x4x4x16xf32> -> tensor<1x2x2x16xf32>
  %5 = kiln.slice %3 [0, 0, 1, 0] to [1, 3, 4, 16] by [1, 2, 2, 1] : tensor<1x4x4x16xf32> -> tensor<1x2x2x16xf32>
  %6 = kiln.binary add %4, %5 : tensor<1x2x2x16xf32>
  %7 = kiln.slice %3 [0, 1, 0, 0] to [1, 4, 3, 16] by [1, 2, 2, 1] : tensor<1x4x4x16xf32> -> tensor<1x2x2x16xf32>
  %8 = kiln.binary add %6, %7 : tensor<1x2x2x16xf32>
  %9 = kiln.slice %3 [0, 1, 1, 0] to [1, 4, 4, 16] by [1, 2, 2, 1] : tensor<1x4x4x16xf32> -> tensor<1x2x2x16xf32>
  %10 = kiln.binary add %8, %9 : tensor<1x2x2x16xf32>
  return %10 : tensor<1x2x2x16xf32>
}

// Not where windows overlap or a point is missing, where a tile has no whole window, and where more than the
// windows is needed.
// CHECK-LABEL: func.func @stays
// CHECK: kiln.winograd
// CHECK-NEXT: kiln.unary abs
// CHECK-NEXT: kiln.slice
// CHECK-NEXT: kiln.slice
// CHECK: kiln.packed_dot
// CHECK-NEXT: kiln.unary abs
// CHECK-NEXT: kiln.slice
// CHECK-NEXT: kiln.slice
// CHECK: kiln.packed_convolution
// CHECK-NEXT: kiln.unary neg
// CHECK-NEXT: kiln.unary abs
// CHECK-NEXT: kiln.slice
// CHECK-NEXT: kiln.slice
// CHECK: kiln.packed_convolution
// CHECK-NEXT: kiln.unary abs
// CHECK-NEXT: kiln.slice
// CHECK-NEXT: kiln.slice
func.func @stays(%x: tensor<1x6x6x16xf32>, %w: tensor<1x16x16x16xf32>, %a: tensor<2x4xf32>, %d: tensor<1x4x16xf32>, %v: tensor<1x1x16x16xf32>) -> (tensor<1x4x2x16xf32>, tensor<1x16xf32>, tensor<1x6x3x16xf32>, tensor<1x6x6x16xf32>, tensor<1x6x2x16xf32>) {
  %0 = kiln.winograd %x, %w {pad_low = array<i64: 0, 0>} : tensor<1x6x6x16xf32>, tensor<1x16x16x16xf32> -> tensor<1x4x4x16xf32>
  %1 = kiln.unary abs %0 : tensor<1x4x4x16xf32>
  %2 = kiln.slice %1 [0, 0, 0, 0] to [1, 4, 3, 16] by [1, 1, 2, 1] : tensor<1x4x4x16xf32> -> tensor<1x4x2x16xf32>
  %3 = kiln.slice %1 [0, 0, 1, 0] to [1, 4, 4, 16] by [1, 1, 2, 1] : tensor<1x4x4x16xf32> -> tensor<1x4x2x16xf32>
  %4 = kiln.binary max %2, %3 : tensor<1x4x2x16xf32>
  %5 = kiln.packed_dot %a, %d : tensor<2x4xf32>, tensor<1x4x16xf32> -> tensor<2x16xf32>
  %6 = kiln.unary abs %5 : tensor<2x16xf32>
  %7 = kiln.slice %6 [0, 0] to [1, 16] by [2, 1] : tensor<2x16xf32> -> tensor<1x16xf32>
  %8 = kiln.slice %6 [1, 0] to [2, 16] by [2, 1] : tensor<2x16xf32> -> tensor<1x16xf32>
  %9 = kiln.binary max %7, %8 : tensor<1x16xf32>
  %10 = kiln.packed_convolution %x, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, kernel = array<i64: 1, 1>, stride = array<i64: 1, 1>} : tensor<1x6x6x16xf32>, tensor<1x1x16x16xf32> -> tensor<1x6x6x16xf32>
  %11 = kiln.unary neg %10 : tensor<1x6x6x16xf32>
  %12 = kiln.unary abs %11 : tensor<1x6x6x16xf32>
  %13 = kiln.slice %12 [0, 0, 0, 0] to [1, 6, 5, 16] by [1, 1, 2, 1] : tensor<1x6x6x16xf32> -> tensor<1x6x3x16xf32>
  %14 = kiln.slice %12 [0, 0, 1, 0] to [1, 6, 6, 16] by [1, 1, 2, 1] : tensor<1x6x6x16xf32> -> tensor<1x6x3x16xf32>
  %15 = kiln.binary max %13, %14 : tensor<1x6x3x16xf32>
  %16 = kiln.packed_convolution %x, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, kernel = array<i64: 1, 1>, stride = array<i64: 1, 1>} : tensor<1x6x6x16xf32>, tensor<1x1x16x16xf32> -> tensor<1x6x6x16xf32>
  %17 = kiln.unary abs %16 : tensor<1x6x6x16xf32>
  %18 = kiln.slice %17 [0, 0, 0, 0] to [1, 6, 4, 16] by [1, 1, 3, 1] : tensor<1x6x6x16xf32> -> tensor<1x6x2x16xf32>
  %19 = kiln.slice %17 [0, 0, 1, 0] to [1, 6, 5, 16] by [1, 1, 3, 1] : tensor<1x6x6x16xf32> -> tensor<1x6x2x16xf32>
  %20 = kiln.binary max %18, %19 : tensor<1x6x2x16xf32>
  return %4, %9, %15, %11, %20 : tensor<1x4x2x16xf32>, tensor<1x16xf32>, tensor<1x6x3x16xf32>, tensor<1x6x6x16xf32>, tensor<1x6x2x16xf32>
}

// Only one of two products takes its windows; the other is in memory.
// CHECK-LABEL: func.func @two
// CHECK: %[[A:.*]] = kiln.packed_convolution %arg0
// CHECK-NEXT: %[[B:.*]] = kiln.packed_convolution %arg1
// CHECK-NEXT: kiln.slice %[[A]] [0, 0, 0, 0]
// CHECK-NEXT: kiln.slice %[[B]] [0, 0, 0, 0]
// CHECK-NEXT: kiln.binary add
// FUSED-LABEL: func.func @two
// FUSED-COUNT-2: kiln.fusion
// FUSED-NOT: kiln.fusion
// FUSED: return
func.func @two(%x: tensor<1x2x4x16xf32>, %y: tensor<1x2x4x16xf32>, %v: tensor<1x1x16x16xf32>) -> tensor<1x2x2x16xf32> {
  %0 = kiln.packed_convolution %x, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, kernel = array<i64: 1, 1>, stride = array<i64: 1, 1>} : tensor<1x2x4x16xf32>, tensor<1x1x16x16xf32> -> tensor<1x2x4x16xf32>
  %1 = kiln.packed_convolution %y, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, kernel = array<i64: 1, 1>, stride = array<i64: 1, 1>} : tensor<1x2x4x16xf32>, tensor<1x1x16x16xf32> -> tensor<1x2x4x16xf32>
  %2 = kiln.binary add %0, %1 : tensor<1x2x4x16xf32>
  %3 = kiln.slice %2 [0, 0, 0, 0] to [1, 2, 3, 16] by [1, 1, 2, 1] : tensor<1x2x4x16xf32> -> tensor<1x2x2x16xf32>
  %4 = kiln.slice %2 [0, 0, 1, 0] to [1, 2, 4, 16] by [1, 1, 2, 1] : tensor<1x2x4x16xf32> -> tensor<1x2x2x16xf32>
  %5 = kiln.binary max %3, %4 : tensor<1x2x2x16xf32>
  return %5 : tensor<1x2x2x16xf32>
}
