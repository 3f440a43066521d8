// Which windows stay for a kernel along lines: those from an argument to results, of a target with vectors.
// RUN: kiln opt %s --kiln-expand | FileCheck %s
// RUN: kiln opt %s --target-lanes=1 --kiln-expand | FileCheck %s --check-prefix=SCALAR

// SCALAR-NOT: kiln.reduce_window

// What follows by elements is part of the kernel; what precedes it is a kernel of its own.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT: %[[X:.*]] = kiln.unary exp
// CHECK-NEXT: %[[Y:.*]] = kiln.reduce_window max %[[X]] {{.*}}pad_low = array<i64: 1, 1>
// CHECK-NEXT: kiln.unary tanh %[[Y]]
func.func @alone(%x: tensor<2x3x9x9xf32>) -> tensor<2x3x5x5xf32> {
  %e = kiln.unary exp %x : tensor<2x3x9x9xf32>
  %0 = kiln.reduce_window max %e {dilate = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad_high = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, stride = array<i64: 2, 2>} : tensor<2x3x9x9xf32> -> tensor<2x3x5x5xf32>
  %1 = kiln.unary tanh %0 : tensor<2x3x5x5xf32>
  return %1 : tensor<2x3x5x5xf32>
}

// Half precision rounds each sum, which the kernel would not; a maximum is exact.
// CHECK-LABEL: func.func @half
// CHECK: kiln.reduce_window max
// CHECK-NOT: kiln.reduce_window
func.func @half(%x: tensor<2x3x9xf16>) -> (tensor<2x3x7xf16>, tensor<2x3x7xf16>) {
  %0 = kiln.reduce_window max %x {dilate = array<i64: 1>, kernel = array<i64: 3>, pad_high = array<i64: 0>, pad_low = array<i64: 0>, stride = array<i64: 1>} : tensor<2x3x9xf16> -> tensor<2x3x7xf16>
  %1 = kiln.reduce_window sum %x {dilate = array<i64: 1>, kernel = array<i64: 3>, pad_high = array<i64: 0>, pad_low = array<i64: 0>, stride = array<i64: 1>} : tensor<2x3x9xf16> -> tensor<2x3x7xf16>
  return %0, %1 : tensor<2x3x7xf16>, tensor<2x3x7xf16>
}

// Between other operations, of integers, over three axes, and with steps of many columns.
// CHECK-LABEL: func.func @others
// CHECK-NOT: kiln.reduce_window
func.func @others(%x: tensor<2x3x9xf32>, %y: tensor<2x3x9xi32>, %z: tensor<1x1x4x4x4xf32>) -> (tensor<2x3x7xf32>, tensor<2x3x7xi32>, tensor<1x1x3x3x3xf32>, tensor<2x3x2xf32>) {
  %0 = kiln.reverse %x [2] : tensor<2x3x9xf32>
  %1 = kiln.reduce_window max %0 {dilate = array<i64: 1>, kernel = array<i64: 3>, pad_high = array<i64: 0>, pad_low = array<i64: 0>, stride = array<i64: 1>} : tensor<2x3x9xf32> -> tensor<2x3x7xf32>
  %2 = kiln.reduce_window max %y {dilate = array<i64: 1>, kernel = array<i64: 3>, pad_high = array<i64: 0>, pad_low = array<i64: 0>, stride = array<i64: 1>} : tensor<2x3x9xi32> -> tensor<2x3x7xi32>
  %3 = kiln.reduce_window max %z {dilate = array<i64: 1, 1, 1>, kernel = array<i64: 2, 2, 2>, pad_high = array<i64: 0, 0, 0>, pad_low = array<i64: 0, 0, 0>, stride = array<i64: 1, 1, 1>} : tensor<1x1x4x4x4xf32> -> tensor<1x1x3x3x3xf32>
  %4 = kiln.reduce_window max %x {dilate = array<i64: 1>, kernel = array<i64: 3>, pad_high = array<i64: 0>, pad_low = array<i64: 0>, stride = array<i64: 5>} : tensor<2x3x9xf32> -> tensor<2x3x2xf32>
  return %1, %2, %3, %4 : tensor<2x3x7xf32>, tensor<2x3x7xi32>, tensor<1x1x3x3x3xf32>, tensor<2x3x2xf32>
}
