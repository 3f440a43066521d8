// The constant part is replaced by what generated kernels compute for it.
// RUN: kiln opt %s --kiln-fold | FileCheck %s

// CHECK-LABEL: func.func @tutorial
// CHECK-NEXT: %[[C:.*]] = kiln.constant dense<1.000000e+01> : tensor<1000x1000xf32>
// CHECK-NEXT: kiln.binary mul %arg0, %[[C]]
// CHECK-NEXT: return
func.func @tutorial(%x: tensor<1000x1000xf32>) -> tensor<1000x1000xf32> {
  %1 = kiln.constant dense<1.0> : tensor<1000x1000xf32>
  %2 = kiln.constant dense<2.0> : tensor<1000x1000xf32>
  %3 = kiln.constant dense<3.0> : tensor<1000x1000xf32>
  %4 = kiln.constant dense<4.0> : tensor<1000x1000xf32>
  %a = kiln.binary add %1, %2 : tensor<1000x1000xf32>
  %b = kiln.binary add %3, %4 : tensor<1000x1000xf32>
  %c = kiln.binary add %a, %b : tensor<1000x1000xf32>
  %d = kiln.binary mul %x, %c : tensor<1000x1000xf32>
  return %d : tensor<1000x1000xf32>
}

// CHECK-LABEL: func.func @elements
// CHECK-NEXT: kiln.constant dense<[2.000000e+00, 4.000000e+00, 6.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: return
func.func @elements() -> tensor<3xf32> {
  %0 = kiln.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = kiln.binary add %0, %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}

// A splat that something else than a pointwise operation takes is spread out; an array of one number becomes a splat again.
// CHECK-LABEL: func.func @sum_of_splat
// CHECK-NEXT: kiln.constant dense<1.200000e+01> : tensor<f32>
// CHECK-NEXT: return
func.func @sum_of_splat() -> tensor<f32> {
  %0 = kiln.constant dense<1.0> : tensor<2x3xf32>
  %1 = kiln.binary add %0, %0 : tensor<2x3xf32>
  %2 = kiln.reduce sum %1 [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func.func @equal_elements
// CHECK-NEXT: kiln.constant dense<3.000000e+00> : tensor<2xf32>
func.func @equal_elements() -> tensor<2xf32> {
  %0 = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = kiln.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %2 = kiln.binary add %0, %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}

// Movement stays: behind fusion it costs nothing, and an array in memory does.
// CHECK-LABEL: func.func @movement_stays
// CHECK: %[[C:.*]] = kiln.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK: kiln.broadcast %[[C]] [1] : tensor<2xf32> -> tensor<1000x2xf32>
func.func @movement_stays(%x: tensor<1000x2xf32>) -> tensor<1000x2xf32> {
  %0 = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = kiln.binary add %0, %0 : tensor<2xf32>
  %2 = kiln.broadcast %1 [1] : tensor<2xf32> -> tensor<1000x2xf32>
  %3 = kiln.binary mul %x, %2 : tensor<1000x2xf32>
  return %3 : tensor<1000x2xf32>
}

// 4 MiB made from nothing are left to run time.
// CHECK-LABEL: func.func @too_large
// CHECK: kiln.iota
// CHECK: kiln.binary add
func.func @too_large() -> tensor<1048576xf32> {
  %0 = kiln.iota 0 : tensor<1048576xf32>
  %1 = kiln.constant dense<1.0> : tensor<1048576xf32>
  %2 = kiln.binary add %0, %1 : tensor<1048576xf32>
  return %2 : tensor<1048576xf32>
}

// CHECK-LABEL: func.func @random
// CHECK: kiln.random_uniform
// CHECK: kiln.binary add
func.func @random() -> tensor<4xf32> {
  %0 = kiln.random_uniform 0 : tensor<4xf32>
  %1 = kiln.constant dense<1.0> : tensor<4xf32>
  %2 = kiln.binary add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func.func @empty
// CHECK: kiln.binary add
func.func @empty() -> tensor<0xf32> {
  %0 = kiln.constant dense<1.0> : tensor<0xf32>
  %1 = kiln.binary add %0, %0 : tensor<0xf32>
  return %1 : tensor<0xf32>
}

// No CPU has the bits of tensor cores.
// CHECK-LABEL: func.func @tensor_cores
// CHECK: %[[X:.*]] = kiln.constant
// CHECK: kiln.dot %[[X]], %{{.*}} by tensor_cores
func.func @tensor_cores() -> tensor<4x4xf32> {
  %0 = kiln.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf16>
  %1 = kiln.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf16>
  %2 = kiln.dot %0, %1 by tensor_cores : tensor<4x2xf16>, tensor<2x4xf16> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
