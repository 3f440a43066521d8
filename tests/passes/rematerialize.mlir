// What a reduction of rows can compute itself from a statistic of the same rows is not passed to it in memory.
// RUN: kiln opt %s --kiln-rematerialize | FileCheck %s
// RUN: kiln opt %s --kiln-rematerialize --kiln-fuse | FileCheck %s --check-prefix=FUSED

// The variance has a difference of its own.
// CHECK-LABEL: func.func @normalise
// CHECK-DAG: %[[A:.*]] = kiln.binary sub %arg0, %[[M:.*]] : tensor<8x64xf32>
// CHECK-DAG: %[[B:.*]] = kiln.binary sub %arg0, %[[M]] : tensor<8x64xf32>
// CHECK: kiln.binary mul %[[A]], %[[A]]
// CHECK: kiln.binary mul %[[B]], %{{.*}}
// FUSED-LABEL: func.func @normalise
// FUSED: kiln.fusion
// FUSED: kiln.reduce
// FUSED: kiln.fusion
// FUSED-NEXT: kiln.reshape
// FUSED-NEXT: kiln.broadcast
// FUSED-NEXT: kiln.binary sub
// FUSED: kiln.reduce
// FUSED: kiln.fusion
// FUSED: kiln.binary sub
// FUSED-NOT: kiln.fusion
// FUSED: return
func.func @normalise(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = kiln.reduce sum %x [1] : tensor<8x64xf32> -> tensor<8xf32>
  %1 = kiln.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = kiln.broadcast %1 [0, 1] : tensor<8x1xf32> -> tensor<8x64xf32>
  %3 = kiln.binary sub %x, %2 : tensor<8x64xf32>
  %4 = kiln.binary mul %3, %3 : tensor<8x64xf32>
  %5 = kiln.reduce sum %4 [1] : tensor<8x64xf32> -> tensor<8xf32>
  %6 = kiln.reshape %5 : tensor<8xf32> -> tensor<8x1xf32>
  %7 = kiln.broadcast %6 [0, 1] : tensor<8x1xf32> -> tensor<8x64xf32>
  %8 = kiln.binary mul %3, %7 : tensor<8x64xf32>
  return %8 : tensor<8x64xf32>
}

// Not what costs more than reading it.
// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-1: kiln.unary exp
// CHECK-NOT: kiln.unary exp
// CHECK: return
func.func @softmax(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = kiln.reduce max %x [1] : tensor<8x64xf32> -> tensor<8xf32>
  %1 = kiln.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = kiln.broadcast %1 [0, 1] : tensor<8x1xf32> -> tensor<8x64xf32>
  %3 = kiln.binary sub %x, %2 : tensor<8x64xf32>
  %4 = kiln.unary exp %3 : tensor<8x64xf32>
  %5 = kiln.reduce sum %4 [1] : tensor<8x64xf32> -> tensor<8xf32>
  %6 = kiln.reshape %5 : tensor<8xf32> -> tensor<8x1xf32>
  %7 = kiln.broadcast %6 [0, 1] : tensor<8x1xf32> -> tensor<8x64xf32>
  %8 = kiln.binary div %4, %7 : tensor<8x64xf32>
  return %8 : tensor<8x64xf32>
}

// Nor a value that could be made where its operand is: an array would be read that need not exist.
// CHECK-LABEL: func.func @bias
// CHECK-COUNT-1: kiln.binary add
// CHECK-NOT: kiln.binary add
// CHECK: return
func.func @bias(%x: tensor<8x64xf32>, %b: tensor<64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>) {
  %0 = kiln.broadcast %b [1] : tensor<64xf32> -> tensor<8x64xf32>
  %1 = kiln.binary add %x, %0 : tensor<8x64xf32>
  %2 = kiln.reduce sum %1 [1] : tensor<8x64xf32> -> tensor<8xf32>
  %3 = kiln.unary abs %1 : tensor<8x64xf32>
  return %2, %3 : tensor<8xf32>, tensor<8x64xf32>
}

// Nor where columns are reduced, nor what is a result itself.
// CHECK-LABEL: func.func @columns
// CHECK-COUNT-1: kiln.binary sub
// CHECK-NOT: kiln.binary sub
// CHECK: return
func.func @columns(%x: tensor<8x64xf32>) -> (tensor<64xf32>, tensor<8x64xf32>) {
  %0 = kiln.reduce sum %x [0] : tensor<8x64xf32> -> tensor<64xf32>
  %1 = kiln.broadcast %0 [1] : tensor<64xf32> -> tensor<8x64xf32>
  %2 = kiln.binary sub %x, %1 : tensor<8x64xf32>
  %3 = kiln.reduce max %2 [0] : tensor<8x64xf32> -> tensor<64xf32>
  %4 = kiln.unary abs %2 : tensor<8x64xf32>
  return %3, %4 : tensor<64xf32>, tensor<8x64xf32>
}
// CHECK-LABEL: func.func @result
// CHECK-COUNT-1: kiln.binary sub
// CHECK-NOT: kiln.binary sub
// CHECK: return
func.func @result(%x: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>) {
  %0 = kiln.reduce sum %x [1] : tensor<8x64xf32> -> tensor<8xf32>
  %1 = kiln.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = kiln.broadcast %1 [0, 1] : tensor<8x1xf32> -> tensor<8x64xf32>
  %3 = kiln.binary sub %x, %2 : tensor<8x64xf32>
  %4 = kiln.reduce max %3 [1] : tensor<8x64xf32> -> tensor<8xf32>
  return %4, %3 : tensor<8xf32>, tensor<8x64xf32>
}
