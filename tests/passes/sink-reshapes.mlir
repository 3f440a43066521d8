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

// Several pointwise users that all go in front.
// CHECK-LABEL: func.func @gelu
// CHECK: kiln.packed_dot
// CHECK-NOT: kiln.reshape
// CHECK: %[[E:.*]] = kiln.unary erf
// CHECK-NEXT: %[[R:.*]] = kiln.binary mul %{{.*}}, %[[E]] : tensor<6x16xf32>
// CHECK-NEXT: kiln.reshape %[[R]] : tensor<6x16xf32> -> tensor<2x3x16xf32>
// CHECK-NEXT: return
// FUSED-LABEL: func.func @gelu
// FUSED: kiln.fusion
// FUSED-NOT: kiln.fusion
// FUSED: return
func.func @gelu(%x: tensor<6x12xf32>, %w: tensor<1x12x16xf32>) -> tensor<2x3x16xf32> {
  %0 = kiln.packed_dot %x, %w : tensor<6x12xf32>, tensor<1x12x16xf32> -> tensor<6x16xf32>
  %1 = kiln.reshape %0 : tensor<6x16xf32> -> tensor<2x3x16xf32>
  %c = kiln.constant dense<0.7> : tensor<2x3x16xf32>
  %2 = kiln.binary mul %1, %c : tensor<2x3x16xf32>
  %3 = kiln.unary erf %2 : tensor<2x3x16xf32>
  %4 = kiln.binary mul %1, %3 : tensor<2x3x16xf32>
  return %4 : tensor<2x3x16xf32>
}

// A reshape that is no strides: what is behind reads the operand where it lies, and no copy is made.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT: %[[T:.*]] = kiln.transpose %arg0
// CHECK-NEXT: %[[C:.*]] = kiln.constant dense<2.0{{.*}}> : tensor<2x4x6x4xf32>
// CHECK-NEXT: %[[D:.*]] = kiln.binary div %[[T]], %[[C]]
// CHECK-NEXT: kiln.reshape %[[D]] : tensor<2x4x6x4xf32> -> tensor<8x6x4xf32>
// FUSED-LABEL: func.func @heads
// FUSED: kiln.fusion
// FUSED-NOT: kiln.fusion
// FUSED: return
func.func @heads(%x: tensor<2x6x4x4xf32>) -> tensor<8x6x4xf32> {
  %0 = kiln.transpose %x [0, 2, 1, 3] : tensor<2x6x4x4xf32> -> tensor<2x4x6x4xf32>
  %1 = kiln.reshape %0 : tensor<2x4x6x4xf32> -> tensor<8x6x4xf32>
  %c = kiln.constant dense<2.0> : tensor<8x6x4xf32>
  %2 = kiln.binary div %1, %c : tensor<8x6x4xf32>
  return %2 : tensor<8x6x4xf32>
}
