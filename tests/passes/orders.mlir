// Sorts, scatters and running sums through the passes: they stay outside of kernels, and the memory that a sort works in is planned.
// RUN: kiln opt %s --kiln-fuse --kiln-plan-buffers | FileCheck %s

// CHECK-LABEL: func.func @argsort
// CHECK-SAME: kiln.arena_bytes = 1600 : i64
func.func @argsort(%x: tensor<8x10xf32>) -> tensor<8x10xf32> {
  // What is in front of a sort is a kernel of its own.
  // CHECK: %[[IN:.*]] = kiln.fusion
  // CHECK: kiln.unary neg
  %0 = kiln.unary neg %x : tensor<8x10xf32>
  // CHECK: %[[ORDER:.*]], %{{.*}} = kiln.sort %[[IN]] {kiln.buffers = [#kiln.place<arena {{[0-9]+}}>, #kiln.place<arena {{[0-9]+}}>]}
  %order, %scratch = kiln.sort %0 : tensor<8x10xf32> -> tensor<8x10xi64>, tensor<8x10xi64>
  // CHECK: kiln.fusion (%{{.*}} = %[[ORDER]])
  // CHECK: kiln.cast
  %1 = kiln.cast %order : tensor<8x10xi64> -> tensor<8x10xf32>
  return %1 : tensor<8x10xf32>
}

// A transposed array becomes whole before it is read along its rows.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  // CHECK: %[[COPY:.*]] = kiln.fusion
  // CHECK: kiln.transpose
  // CHECK: kiln.cumulative sum %[[COPY]] axis 1 {kiln.buffers = [#kiln.place<output 0>]}
  %0 = kiln.transpose %x [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %1 = kiln.cumulative sum %0 axis 1 : tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%u: tensor<3x4xf32>, %i: tensor<3xi64>) -> tensor<5x4xf32> {
  // CHECK: %[[ZEROS:.*]] = kiln.fusion
  // CHECK: kiln.scatter add %arg0 into %[[ZEROS]] %arg1 axis 0 {kiln.buffers = [#kiln.place<output 0>]}
  %0 = kiln.constant dense<0.0> : tensor<5x4xf32>
  %1 = kiln.scatter add %u into %0 %i axis 0 : tensor<3x4xf32> into tensor<5x4xf32>, tensor<3xi64>
  return %1 : tensor<5x4xf32>
}
