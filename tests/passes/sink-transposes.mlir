// Transposes of channels go behind other operations, and meet.
// RUN: kiln opt %s --kiln-sink-transposes | FileCheck %s

// Between two convolutions: scaled by channel, rectified, padded, cut.
// CHECK-LABEL: func.func @chain
// CHECK-NOT: kiln.transpose
// CHECK: %[[S:.*]] = kiln.broadcast %arg1 [3] : tensor<8xf32> -> tensor<1x6x6x8xf32>
// CHECK-NEXT: %[[M:.*]] = kiln.binary mul %arg0, %[[S]] : tensor<1x6x6x8xf32>
// CHECK-NEXT: %[[Z:.*]] = kiln.constant dense<0.000000e+00> : tensor<1x6x6x8xf32>
// CHECK-NEXT: %[[R:.*]] = kiln.binary max %[[M]], %[[Z]]
// CHECK-NEXT: %[[P:.*]] = kiln.pad %[[R]] 0.000000e+00 : f32 [0, 1, 2, 0] [0, 1, 2, 0] {{.*}} -> tensor<1x8x10x8xf32>
// CHECK-NEXT: %[[C:.*]] = kiln.slice %[[P]] [0, 1, 0, 0] to [1, 8, 10, 8] by [1, 2, 3, 1] {{.*}} -> tensor<1x4x4x8xf32>
// CHECK-NEXT: return %[[C]]
func.func @chain(%y: tensor<1x6x6x8xf32>, %scale: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = kiln.transpose %y [0, 3, 1, 2] : tensor<1x6x6x8xf32> -> tensor<1x8x6x6xf32>
  %s = kiln.broadcast %scale [1] : tensor<8xf32> -> tensor<1x8x6x6xf32>
  %1 = kiln.binary mul %0, %s : tensor<1x8x6x6xf32>
  %z = kiln.constant dense<0.0> : tensor<1x8x6x6xf32>
  %2 = kiln.binary max %1, %z : tensor<1x8x6x6xf32>
  %3 = kiln.pad %2 0.0 : f32 [0, 0, 1, 2] [0, 0, 1, 2] : tensor<1x8x6x6xf32> -> tensor<1x8x8x10xf32>
  %4 = kiln.slice %3 [0, 0, 1, 0] to [1, 8, 8, 10] by [1, 1, 2, 3] : tensor<1x8x8x10xf32> -> tensor<1x8x4x4xf32>
  %5 = kiln.transpose %4 [0, 2, 3, 1] : tensor<1x8x4x4xf32> -> tensor<1x4x4x8xf32>
  return %5 : tensor<1x4x4x8xf32>
}

// A concatenation of channels becomes one of the last axis; what lies in memory is looked at in the other order.
// CHECK-LABEL: func.func @joined
// CHECK-NEXT: %[[X:.*]] = kiln.transpose %arg1 [0, 2, 3, 1]
// CHECK-NEXT: %[[C:.*]] = kiln.concatenate %arg0, %[[X]] axis 3
// CHECK-NEXT: %[[T:.*]] = kiln.transpose %[[C]] [0, 3, 1, 2]
// CHECK-NEXT: return %[[T]]
func.func @joined(%y: tensor<1x4x4x8xf32>, %x: tensor<1x2x4x4xf32>) -> tensor<1x10x4x4xf32> {
  %0 = kiln.transpose %y [0, 3, 1, 2] : tensor<1x4x4x8xf32> -> tensor<1x8x4x4xf32>
  %1 = kiln.concatenate %0, %x axis 1 : (tensor<1x8x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x10x4x4xf32>
  return %1 : tensor<1x10x4x4xf32>
}

// Where more operands lie in the other order, the transpose stays.
// CHECK-LABEL: func.func @outnumbered
// CHECK: kiln.select %arg1, %{{.*}}, %arg2 : {{.*}}tensor<1x8x4x4xf32>
func.func @outnumbered(%y: tensor<1x4x4x8xf32>, %c: tensor<1x8x4x4xi1>, %x: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  %0 = kiln.transpose %y [0, 3, 1, 2] : tensor<1x4x4x8xf32> -> tensor<1x8x4x4xf32>
  %1 = kiln.select %c, %0, %x : tensor<1x8x4x4xi1>, tensor<1x8x4x4xf32>
  return %1 : tensor<1x8x4x4xf32>
}

// The order of a reduction's elements is that of its logical axes: it reads through the transpose.
// CHECK-LABEL: func.func @pooled
// CHECK-NEXT: %[[T:.*]] = kiln.transpose %arg0 [0, 3, 1, 2]
// CHECK-NEXT: kiln.reduce sum %[[T]] [2, 3]
func.func @pooled(%y: tensor<1x4x4x8xf32>) -> tensor<1x8xf32> {
  %0 = kiln.transpose %y [0, 3, 1, 2] : tensor<1x4x4x8xf32> -> tensor<1x8x4x4xf32>
  %1 = kiln.reduce sum %0 [2, 3] : tensor<1x8x4x4xf32> -> tensor<1x8xf32>
  return %1 : tensor<1x8xf32>
}

// What a reduction alone uses is computed in the order of its axes, so that it is part of its kernel.
// CHECK-LABEL: func.func @statistics
// CHECK-DAG: %[[Y:.*]] = kiln.transpose %arg0 [3, 0, 1, 2]
// CHECK-DAG: %[[M:.*]] = kiln.broadcast %arg1 [0] : tensor<8xf32> -> tensor<8x2x4x4xf32>
// CHECK: %[[D:.*]] = kiln.binary sub %[[Y]], %[[M]]
// CHECK-NEXT: kiln.reduce sum_squares %[[D]] [1, 2, 3]
func.func @statistics(%y: tensor<2x4x4x8xf32>, %mean: tensor<8xf32>) -> tensor<8xf32> {
  %0 = kiln.transpose %y [0, 3, 1, 2] : tensor<2x4x4x8xf32> -> tensor<2x8x4x4xf32>
  %1 = kiln.broadcast %mean [1] : tensor<8xf32> -> tensor<2x8x4x4xf32>
  %2 = kiln.binary sub %0, %1 : tensor<2x8x4x4xf32>
  %3 = kiln.transpose %2 [1, 0, 2, 3] : tensor<2x8x4x4xf32> -> tensor<8x2x4x4xf32>
  %4 = kiln.reduce sum_squares %3 [1, 2, 3] : tensor<8x2x4x4xf32> -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// Several reductions compute it each, from one copy of the only array in which their axes are not one.
// CHECK-LABEL: func.func @two_sums
// CHECK-DAG: %[[X:.*]] = kiln.transpose %arg0 [1, 0, 2, 3]
// CHECK-DAG: %[[M:.*]] = kiln.broadcast %arg1 [0] : tensor<8xf32> -> tensor<8x2x4x4xf32>
// CHECK: %[[D:.*]] = kiln.binary sub %[[X]], %[[M]]
// CHECK: kiln.reduce sum %[[D]] [1, 2, 3]
// CHECK: %[[E:.*]] = kiln.binary sub
// CHECK: kiln.reduce sum_squares %[[E]] [1, 2, 3]
func.func @two_sums(%x: tensor<2x8x4x4xf32>, %mean: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %1 = kiln.broadcast %mean [1] : tensor<8xf32> -> tensor<2x8x4x4xf32>
  %2 = kiln.binary sub %x, %1 : tensor<2x8x4x4xf32>
  %3 = kiln.transpose %2 [1, 0, 2, 3] : tensor<2x8x4x4xf32> -> tensor<8x2x4x4xf32>
  %4 = kiln.reduce sum %3 [1, 2, 3] : tensor<8x2x4x4xf32> -> tensor<8xf32>
  %5 = kiln.transpose %2 [1, 0, 2, 3] : tensor<2x8x4x4xf32> -> tensor<8x2x4x4xf32>
  %6 = kiln.reduce sum_squares %5 [1, 2, 3] : tensor<8x2x4x4xf32> -> tensor<8xf32>
  return %4, %6 : tensor<8xf32>, tensor<8xf32>
}

// Not from two such arrays, and not over different axes.
// CHECK-LABEL: func.func @two_arrays
// CHECK: %[[D:.*]] = kiln.binary sub %arg0, %arg1
// CHECK: kiln.transpose %[[D]] [1, 0, 2, 3]
// CHECK: %[[E:.*]] = kiln.unary abs %arg0
// CHECK: kiln.transpose %[[E]] [1, 0, 2, 3]
func.func @two_arrays(%x: tensor<2x8x4x4xf32>, %y: tensor<2x8x4x4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x4xf32>) {
  %2 = kiln.binary sub %x, %y : tensor<2x8x4x4xf32>
  %3 = kiln.transpose %2 [1, 0, 2, 3] : tensor<2x8x4x4xf32> -> tensor<8x2x4x4xf32>
  %4 = kiln.reduce sum %3 [1, 2, 3] : tensor<8x2x4x4xf32> -> tensor<8xf32>
  %5 = kiln.reduce sum_squares %3 [1, 2, 3] : tensor<8x2x4x4xf32> -> tensor<8xf32>
  %6 = kiln.unary abs %x : tensor<2x8x4x4xf32>
  %7 = kiln.transpose %6 [1, 0, 2, 3] : tensor<2x8x4x4xf32> -> tensor<8x2x4x4xf32>
  %8 = kiln.reduce sum %7 [1, 2, 3] : tensor<8x2x4x4xf32> -> tensor<8xf32>
  %9 = kiln.reduce sum %7 [1, 2] : tensor<8x2x4x4xf32> -> tensor<8x4xf32>
  return %4, %5, %8, %9 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x4xf32>
}

// Not if the reduced axes are several of an array, or there are other users.
// CHECK-LABEL: func.func @not_one_axis
// CHECK: %[[D:.*]] = kiln.binary sub
// CHECK-NEXT: %[[T:.*]] = kiln.transpose %[[D]] [3, 0, 1, 2]
// CHECK-NEXT: kiln.reduce sum %[[T]]
// CHECK: %[[S:.*]] = kiln.unary abs
// CHECK-NEXT: %[[U:.*]] = kiln.transpose %[[S]] [3, 0, 1, 2]
// CHECK-NEXT: kiln.reduce sum %[[U]]
func.func @not_one_axis(%y: tensor<2x4x4x8xf32>, %image: tensor<4x4x8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<2x4x4x8xf32>) {
  %0 = kiln.broadcast %image [1, 2, 3] : tensor<4x4x8xf32> -> tensor<2x4x4x8xf32>
  %1 = kiln.binary sub %y, %0 : tensor<2x4x4x8xf32>
  %2 = kiln.transpose %1 [3, 0, 1, 2] : tensor<2x4x4x8xf32> -> tensor<8x2x4x4xf32>
  %3 = kiln.reduce sum %2 [1, 2, 3] : tensor<8x2x4x4xf32> -> tensor<8xf32>
  %4 = kiln.unary abs %y : tensor<2x4x4x8xf32>
  %5 = kiln.transpose %4 [3, 0, 1, 2] : tensor<2x4x4x8xf32> -> tensor<8x2x4x4xf32>
  %6 = kiln.reduce sum %5 [1, 2, 3] : tensor<8x2x4x4xf32> -> tensor<8xf32>
  return %3, %6, %4 : tensor<8xf32>, tensor<8xf32>, tensor<2x4x4x8xf32>
}

// The gradient of a pooling repeats each element of an image: with the channels of a vector, in its layout.
// CHECK-LABEL: func.func @repeated
// CHECK-NEXT: %[[B:.*]] = kiln.broadcast %arg0 [0, 1, 3, 5] : tensor<1x3x3x64xf32> -> tensor<1x3x2x3x2x64xf32>
// CHECK-NEXT: %[[R:.*]] = kiln.reshape %[[B]] : {{.*}} -> tensor<1x6x6x64xf32>
// CHECK-NEXT: return %[[R]]
func.func @repeated(%y: tensor<1x3x3x64xf32>) -> tensor<1x6x6x64xf32> {
  %0 = kiln.transpose %y [0, 3, 1, 2] : tensor<1x3x3x64xf32> -> tensor<1x64x3x3xf32>
  %1 = kiln.broadcast %0 [0, 1, 2, 4] : tensor<1x64x3x3xf32> -> tensor<1x64x3x2x3x2xf32>
  %2 = kiln.reshape %1 : tensor<1x64x3x2x3x2xf32> -> tensor<1x64x6x6xf32>
  %3 = kiln.transpose %2 [0, 2, 3, 1] : tensor<1x64x6x6xf32> -> tensor<1x6x6x64xf32>
  return %3 : tensor<1x6x6x64xf32>
}

// With fewer channels, and where the batch or the channels change, it stays.
// CHECK-LABEL: func.func @few_channels
// CHECK: kiln.broadcast %{{.*}} [0, 1, 2, 4]
func.func @few_channels(%y: tensor<1x3x3x1xf32>) -> tensor<1x1x3x2x3x2xf32> {
  %0 = kiln.transpose %y [0, 3, 1, 2] : tensor<1x3x3x1xf32> -> tensor<1x1x3x3xf32>
  %1 = kiln.broadcast %0 [0, 1, 2, 4] : tensor<1x1x3x3xf32> -> tensor<1x1x3x2x3x2xf32>
  return %1 : tensor<1x1x3x2x3x2xf32>
}
// CHECK-LABEL: func.func @joined_channels
// CHECK: %[[T:.*]] = kiln.transpose
// CHECK-NEXT: kiln.reshape %[[T]]
func.func @joined_channels(%y: tensor<1x3x3x64xf32>) -> tensor<1x192x3xf32> {
  %0 = kiln.transpose %y [0, 3, 1, 2] : tensor<1x3x3x64xf32> -> tensor<1x64x3x3xf32>
  %1 = kiln.reshape %0 : tensor<1x64x3x3xf32> -> tensor<1x192x3xf32>
  return %1 : tensor<1x192x3xf32>
}

// Phases of a transposed convolution, put together.
// CHECK-LABEL: func.func @phases
// CHECK: %[[A:.*]] = kiln.insert %arg0 into %{{.*}} [0, 1, 0, 0] by [1, 2, 2, 1] : tensor<1x4x3x8xf32> into tensor<1x8x6x8xf32>
// CHECK-NEXT: %[[B:.*]] = kiln.insert %arg1 into %[[A]] [0, 0, 1, 0] by [1, 2, 2, 1]
// CHECK-NEXT: kiln.transpose %[[B]] [0, 3, 1, 2]
func.func @phases(%x: tensor<1x4x3x8xf32>, %y: tensor<1x4x3x8xf32>) -> tensor<1x8x8x6xf32> {
  %z = kiln.constant dense<0.0> : tensor<1x8x8x6xf32>
  %0 = kiln.transpose %x [0, 3, 1, 2] : tensor<1x4x3x8xf32> -> tensor<1x8x4x3xf32>
  %1 = kiln.transpose %y [0, 3, 1, 2] : tensor<1x4x3x8xf32> -> tensor<1x8x4x3xf32>
  %2 = kiln.insert %0 into %z [0, 0, 1, 0] by [1, 1, 2, 2] : tensor<1x8x4x3xf32> into tensor<1x8x8x6xf32>
  %3 = kiln.insert %1 into %2 [0, 0, 0, 1] by [1, 1, 2, 2] : tensor<1x8x4x3xf32> into tensor<1x8x8x6xf32>
  return %3 : tensor<1x8x8x6xf32>
}
