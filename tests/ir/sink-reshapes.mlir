// Reshapes of computed values go behind pointwise operations.
// RUN: kiln opt %s --kiln-sink-reshapes | FileCheck %s
// RUN: kiln opt %s --kiln-sink-reshapes --kiln-fuse | FileCheck %s --check-prefix=FUSED

// A dense layer over the last of three axes: bias and activation join its kernel.
// CHECK-LABEL: func.func @dense
// CHECK-NEXT: %[[Y:.*]] = kiln.packed_dot
// CHECK-NEXT: %[[B:.*]] = kiln.broadcast %arg2 [2]
// CHECK-NEXT: %[[BR:.*]] = kiln.reshape %[[B]] : tensor<2x3x16xf32> -> tensor<6x16xf32>
// CHECK-NEXT: %[[S:.*]] = kiln.binary add %[[Y]], %[[BR]] : tensor<6x16xf32>
// CHECK: %[[M:.*]] = kiln.binary max %[[S]], %{{.*}} : tensor<6x16xf32>
// CHECK: %[[C:.*]] = kiln.compare gt %[[M]], %{{.*}} : tensor<6x16xf32> -> tensor<6x16xi1>
// CHECK-NEXT: %[[R:.*]] = kiln.reshape %[[C]] : tensor<6x16xi1> -> tensor<2x3x16xi1>
// CHECK-NEXT: return %[[R]]
// FUSED-LABEL: func.func @dense
// FUSED: kiln.fusion
// FUSED-NOT: kiln.fusion
// FUSED: return
func.func @dense(%x: tensor<6x12xf32>, %w: tensor<1x12x16xf32>, %b: tensor<16xf32>, %r: tensor<2x3x16xf32>) -> tensor<2x3x16xi1> {
  %0 = kiln.packed_dot %x, %w : tensor<6x12xf32>, tensor<1x12x16xf32> -> tensor<6x16xf32>
  %1 = kiln.reshape %0 : tensor<6x16xf32> -> tensor<2x3x16xf32>
  %2 = kiln.broadcast %b [2] : tensor<16xf32> -> tensor<2x3x16xf32>
  %3 = kiln.binary add %1, %2 : tensor<2x3x16xf32>
  %z = kiln.constant dense<0.0> : tensor<2x3x16xf32>
  %4 = kiln.binary max %3, %z : tensor<2x3x16xf32>
  %5 = kiln.compare gt %4, %r : tensor<2x3x16xf32> -> tensor<2x3x16xi1>
  return %5 : tensor<2x3x16xi1>
}

// Not where the other operand could not be seen under the shape in front.
// CHECK-LABEL: func.func @stays
// CHECK: kiln.packed_dot
// CHECK-NEXT: kiln.reshape
// CHECK-NEXT: kiln.transpose
// CHECK-NEXT: kiln.binary add {{.*}} : tensor<2x3x16xf32>
func.func @stays(%x: tensor<6x12xf32>, %w: tensor<1x12x16xf32>, %r: tensor<3x2x16xf32>) -> tensor<2x3x16xf32> {
  %0 = kiln.packed_dot %x, %w : tensor<6x12xf32>, tensor<1x12x16xf32> -> tensor<6x16xf32>
  %1 = kiln.reshape %0 : tensor<6x16xf32> -> tensor<2x3x16xf32>
  %2 = kiln.transpose %r [1, 0, 2] : tensor<3x2x16xf32> -> tensor<2x3x16xf32>
  %3 = kiln.binary add %1, %2 : tensor<2x3x16xf32>
  return %3 : tensor<2x3x16xf32>
}

// Nor where another operation takes the reshaped value: it is in memory then.
// CHECK-LABEL: func.func @two_users
// CHECK: kiln.unary exp {{.*}} : tensor<2x3xf32>
func.func @two_users(%x: tensor<6x12xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  %0 = kiln.reduce sum %x [1] : tensor<6x12xf32> -> tensor<6xf32>
  %1 = kiln.reshape %0 : tensor<6xf32> -> tensor<2x3xf32>
  %2 = kiln.unary exp %1 : tensor<2x3xf32>
  %3 = kiln.reduce max %1 [1] : tensor<2x3xf32> -> tensor<2xf32>
  return %2, %3 : tensor<2x3xf32>, tensor<2xf32>
}
