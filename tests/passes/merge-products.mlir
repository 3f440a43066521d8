// Products with the same right operand.
// RUN: kiln opt %s --kiln-merge-products | FileCheck %s

// Steps of a recurrent cell: one product of all rows, and what each step takes of it.
// CHECK-LABEL: func.func @steps
// CHECK-NEXT: %[[R:.*]] = kiln.reshape %arg0 : tensor<3x4x8xf32> -> tensor<12x8xf32>
// CHECK-NEXT: %[[P:.*]] = kiln.dot %[[R]], %arg1 {transpose_rhs} : tensor<12x8xf32>, tensor<16x8xf32> -> tensor<12x16xf32>
// CHECK-NEXT: %[[A:.*]] = kiln.slice %[[P]] [0, 0] to [4, 16]
// CHECK-NEXT: %[[B:.*]] = kiln.slice %[[P]] [8, 0] to [12, 16]
// CHECK-NEXT: %[[S:.*]] = kiln.binary add %[[A]], %[[B]]
// CHECK-NEXT: %[[C:.*]] = kiln.slice %[[P]] [4, 0] to [8, 16]
// CHECK-NEXT: kiln.binary mul %[[S]], %[[C]]
func.func @steps(%x: tensor<3x4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %0 = kiln.slice %x [0, 0, 0] to [1, 4, 8] by [1, 1, 1] : tensor<3x4x8xf32> -> tensor<1x4x8xf32>
  %1 = kiln.reshape %0 : tensor<1x4x8xf32> -> tensor<4x8xf32>
  %2 = kiln.dot %1, %w {transpose_rhs} : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %3 = kiln.slice %x [2, 0, 0] to [3, 4, 8] by [1, 1, 1] : tensor<3x4x8xf32> -> tensor<1x4x8xf32>
  %4 = kiln.reshape %3 : tensor<1x4x8xf32> -> tensor<4x8xf32>
  %5 = kiln.dot %4, %w {transpose_rhs} : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %6 = kiln.binary add %2, %5 : tensor<4x16xf32>
  %7 = kiln.slice %x [1, 0, 0] to [2, 4, 8] by [1, 1, 1] : tensor<3x4x8xf32> -> tensor<1x4x8xf32>
  %8 = kiln.reshape %7 : tensor<1x4x8xf32> -> tensor<4x8xf32>
  %9 = kiln.dot %8, %w {transpose_rhs} : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %10 = kiln.binary mul %6, %9 : tensor<4x16xf32>
  return %10 : tensor<4x16xf32>
}

// Most rows would be computed for nothing; other weights; columns of the array; rows that overlap.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-6: kiln.dot {{.*}} -> tensor<2x16xf32>
func.func @apart(%x: tensor<8x8xf32>, %w: tensor<8x16xf32>, %v: tensor<8x16xf32>, %y: tensor<2x16xf32>, %z: tensor<3x8xf32>, %u: tensor<8x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>) {
  %0 = kiln.slice %x [0, 0] to [2, 8] by [1, 1] : tensor<8x8xf32> -> tensor<2x8xf32>
  %1 = kiln.slice %x [2, 0] to [4, 8] by [1, 1] : tensor<8x8xf32> -> tensor<2x8xf32>
  %2 = kiln.dot %0, %w : tensor<2x8xf32>, tensor<8x16xf32> -> tensor<2x16xf32>
  %3 = kiln.dot %1, %v : tensor<2x8xf32>, tensor<8x16xf32> -> tensor<2x16xf32>
  %4 = kiln.slice %y [0, 0] to [2, 8] by [1, 1] : tensor<2x16xf32> -> tensor<2x8xf32>
  %5 = kiln.slice %y [0, 8] to [2, 16] by [1, 1] : tensor<2x16xf32> -> tensor<2x8xf32>
  %6 = kiln.dot %4, %w : tensor<2x8xf32>, tensor<8x16xf32> -> tensor<2x16xf32>
  %7 = kiln.dot %5, %w : tensor<2x8xf32>, tensor<8x16xf32> -> tensor<2x16xf32>
  %8 = kiln.slice %z [0, 0] to [2, 8] by [1, 1] : tensor<3x8xf32> -> tensor<2x8xf32>
  %9 = kiln.slice %z [1, 0] to [3, 8] by [1, 1] : tensor<3x8xf32> -> tensor<2x8xf32>
  %10 = kiln.dot %8, %u : tensor<2x8xf32>, tensor<8x16xf32> -> tensor<2x16xf32>
  %11 = kiln.dot %9, %u : tensor<2x8xf32>, tensor<8x16xf32> -> tensor<2x16xf32>
  return %2, %3, %6, %7, %10, %11 : tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>
}

// The first pair makes the array that the second pair reads.
// CHECK-LABEL: func.func @chained
// CHECK-NEXT: %[[A:.*]] = kiln.dot %arg0, %arg1 : tensor<8x8xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
// CHECK-NEXT: kiln.slice %[[A]] [0, 0] to [4, 16]
// CHECK: kiln.dot {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT: kiln.dot {{.*}} -> tensor<2x8xf32>
func.func @chained(%x: tensor<8x8xf32>, %w: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %0 = kiln.slice %x [0, 0] to [4, 8] by [1, 1] : tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = kiln.slice %x [4, 0] to [8, 8] by [1, 1] : tensor<8x8xf32> -> tensor<4x8xf32>
  %2 = kiln.dot %0, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %3 = kiln.dot %1, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %4 = kiln.slice %2 [0, 0] to [2, 16] by [1, 1] : tensor<4x16xf32> -> tensor<2x16xf32>
  %5 = kiln.slice %2 [2, 0] to [4, 16] by [1, 1] : tensor<4x16xf32> -> tensor<2x16xf32>
  %6 = kiln.dot %4, %v : tensor<2x16xf32>, tensor<16x8xf32> -> tensor<2x8xf32>
  %7 = kiln.dot %5, %v : tensor<2x16xf32>, tensor<16x8xf32> -> tensor<2x8xf32>
  %8 = kiln.concatenate %6, %7 axis 0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %9 = kiln.slice %3 [0, 0] to [4, 8] by [1, 1] : tensor<4x16xf32> -> tensor<4x8xf32>
  %10 = kiln.binary add %8, %9 : tensor<4x8xf32>
  return %10 : tensor<4x8xf32>
}
