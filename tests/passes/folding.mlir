// The identities that may rewrite, and look-alikes that may not.
// RUN: kiln opt %s --kiln-canonicalize | FileCheck %s

// CHECK-LABEL: func.func @exact
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0, %arg0
func.func @exact(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = kiln.constant dense<1.0> : tensor<4xf32>
  %zero = kiln.constant dense<0.0> : tensor<4xf32>
  %minus_zero = kiln.constant dense<-0.0> : tensor<4xf32>
  %0 = kiln.binary mul %x, %one : tensor<4xf32>
  %1 = kiln.binary mul %one, %x : tensor<4xf32>
  %2 = kiln.binary div %x, %one : tensor<4xf32>
  %3 = kiln.binary sub %x, %zero : tensor<4xf32>
  %4 = kiln.binary add %x, %minus_zero : tensor<4xf32>
  %n = kiln.unary neg %x : tensor<4xf32>
  %5 = kiln.unary neg %n : tensor<4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// x + 0 turns -0 into +0; x - (-0) does too; x * 0 is NaN for infinities; x / x and x - x for NaN.
// CHECK-LABEL: func.func @not_exact
// CHECK: kiln.binary add %arg0
// CHECK: kiln.binary sub %arg0
// CHECK: kiln.binary mul %arg0
// CHECK: kiln.binary div %arg0, %arg0
// CHECK: kiln.binary sub %arg0, %arg0
// CHECK: kiln.binary max
func.func @not_exact(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = kiln.constant dense<0.0> : tensor<4xf32>
  %minus_zero = kiln.constant dense<-0.0> : tensor<4xf32>
  %0 = kiln.binary add %x, %zero : tensor<4xf32>
  %1 = kiln.binary sub %x, %minus_zero : tensor<4xf32>
  %2 = kiln.binary mul %x, %zero : tensor<4xf32>
  %3 = kiln.binary div %x, %x : tensor<4xf32>
  %4 = kiln.binary sub %x, %x : tensor<4xf32>
  // CHECK-SAME: %{{.*}}, %arg0
  %5 = kiln.binary max %zero, %x : tensor<4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @integers
// CHECK-NEXT: return %arg0, %arg0, %arg0
func.func @integers(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %one = kiln.constant dense<1> : tensor<4xi32>
  %zero = kiln.constant dense<0> : tensor<4xi32>
  %0 = kiln.binary mul %x, %one : tensor<4xi32>
  %1 = kiln.binary add %x, %zero : tensor<4xi32>
  %2 = kiln.binary sub %x, %zero : tensor<4xi32>
  return %0, %1, %2 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @movement
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0
func.func @movement(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = kiln.broadcast %x [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = kiln.transpose %x [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = kiln.slice %x [0, 0] to [2, 3] by [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %a = kiln.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %b = kiln.reshape %a : tensor<6xf32> -> tensor<3x2xf32>
  %3 = kiln.reshape %b : tensor<3x2xf32> -> tensor<2x3xf32>
  %4 = kiln.concatenate %x axis 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @splats
// CHECK: %[[S:.*]] = kiln.constant dense<2.000000e+00> : tensor<4x5xf32>
// CHECK: %[[I:.*]] = kiln.iota 1 : tensor<4x5xf32>
// CHECK: kiln.binary add %[[I]], %[[S]]
func.func @splats() -> tensor<4x5xf32> {
  %c = kiln.constant dense<2.0> : tensor<f32>
  %0 = kiln.broadcast %c [] : tensor<f32> -> tensor<5x4xf32>
  %1 = kiln.transpose %0 [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
  %i = kiln.iota 0 : tensor<5xf32>
  %2 = kiln.broadcast %i [1] : tensor<5xf32> -> tensor<4x5xf32>
  %3 = kiln.binary add %1, %2 : tensor<4x5xf32>
  return %3 : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @dead
// CHECK-NEXT: return %arg0
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kiln.unary exp %x : tensor<4xf32>
  %1 = kiln.unary log %0 : tensor<4xf32>
  %2 = kiln.cast %x : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// A slice out of a concatenation looks at the part that it lies in, and is that part where it is all of it.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT: kiln.slice %arg1 [1] to [3] by [1]
// CHECK-NEXT: %[[BOTH:.*]] = kiln.concatenate
// CHECK-NEXT: kiln.slice %[[BOTH]] [2] to [6]
// CHECK-NEXT: return %arg0,
func.func @parts(%x: tensor<4xf32>, %y: tensor<3xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) {
  %0 = kiln.concatenate %x, %y axis 0 : (tensor<4xf32>, tensor<3xf32>) -> tensor<7xf32>
  %1 = kiln.slice %0 [0] to [4] by [1] : tensor<7xf32> -> tensor<4xf32>
  %2 = kiln.slice %0 [5] to [7] by [1] : tensor<7xf32> -> tensor<2xf32>
  %3 = kiln.concatenate %x, %y axis 0 : (tensor<4xf32>, tensor<3xf32>) -> tensor<7xf32>
  %4 = kiln.slice %3 [2] to [6] by [1] : tensor<7xf32> -> tensor<4xf32>
  return %1, %2, %4 : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
}

// The first elements of long sorted rows need no sort of whole rows.
// CHECK-LABEL: func.func @first_of_sorted
// CHECK-NEXT: %[[ORDER:.*]], %{{.*}} = kiln.sort %arg0 {descending} : tensor<3x100xf32> -> tensor<3x5xi64>, tensor<3x148xi64>
// CHECK-NEXT: return %[[ORDER]]
func.func @first_of_sorted(%x: tensor<3x100xf32>) -> tensor<3x5xi64> {
  %order, %scratch = kiln.sort %x {descending} : tensor<3x100xf32> -> tensor<3x100xi64>, tensor<3x100xi64>
  %0 = kiln.slice %order [0, 0] to [3, 5] by [1, 1] : tensor<3x100xi64> -> tensor<3x5xi64>
  return %0 : tensor<3x5xi64>
}

// Not for others than the first, many of them, some rows, or an order that something else reads.
// CHECK-LABEL: func.func @not_the_first
// CHECK-COUNT-5: kiln.sort {{.*}} -> tensor<3x100xi64>
func.func @not_the_first(%x: tensor<3x100xf32>) -> (tensor<3x5xi64>, tensor<3x5xi64>, tensor<3x18xi64>, tensor<2x5xi64>, tensor<3x5xi64>, tensor<3x100xi64>) {
  %a:2 = kiln.sort %x : tensor<3x100xf32> -> tensor<3x100xi64>, tensor<3x100xi64>
  %0 = kiln.slice %a#0 [0, 1] to [3, 6] by [1, 1] : tensor<3x100xi64> -> tensor<3x5xi64>
  %b:2 = kiln.sort %x : tensor<3x100xf32> -> tensor<3x100xi64>, tensor<3x100xi64>
  %1 = kiln.slice %b#0 [0, 0] to [3, 10] by [1, 2] : tensor<3x100xi64> -> tensor<3x5xi64>
  %c:2 = kiln.sort %x : tensor<3x100xf32> -> tensor<3x100xi64>, tensor<3x100xi64>
  %2 = kiln.slice %c#0 [0, 0] to [3, 18] by [1, 1] : tensor<3x100xi64> -> tensor<3x18xi64>
  %d:2 = kiln.sort %x : tensor<3x100xf32> -> tensor<3x100xi64>, tensor<3x100xi64>
  %3 = kiln.slice %d#0 [0, 0] to [2, 5] by [1, 1] : tensor<3x100xi64> -> tensor<2x5xi64>
  %e:2 = kiln.sort %x : tensor<3x100xf32> -> tensor<3x100xi64>, tensor<3x100xi64>
  %4 = kiln.slice %e#0 [0, 0] to [3, 5] by [1, 1] : tensor<3x100xi64> -> tensor<3x5xi64>
  return %0, %1, %2, %3, %4, %e#0 : tensor<3x5xi64>, tensor<3x5xi64>, tensor<3x18xi64>, tensor<2x5xi64>, tensor<3x5xi64>, tensor<3x100xi64>
}

// Rounding keeps the order of numbers, so a bound that both types have may come first.
// CHECK-LABEL: func.func @round_after_bound
// CHECK: %[[ZERO:.*]] = kiln.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[RELU:.*]] = kiln.binary max %arg0, %[[ZERO]] : tensor<4xf32>
// CHECK: %[[ROUNDED:.*]] = kiln.cast %[[RELU]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK: %[[SIX:.*]] = kiln.constant dense<6.000000e+00> : tensor<4xf32>
// CHECK: %[[BOUNDED:.*]] = kiln.binary min %arg0, %[[SIX]] : tensor<4xf32>
// CHECK: %[[HALF:.*]] = kiln.cast %[[BOUNDED]] : tensor<4xf32> -> tensor<4xf16>
// CHECK: return %[[ROUNDED]], %[[HALF]]
func.func @round_after_bound(%x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf16>) {
  %zero = kiln.constant dense<0.0> : tensor<4xbf16>
  %six = kiln.constant dense<6.0> : tensor<4xf16>
  %0 = kiln.cast %x : tensor<4xf32> -> tensor<4xbf16>
  %1 = kiln.binary max %0, %zero : tensor<4xbf16>
  %2 = kiln.cast %x : tensor<4xf32> -> tensor<4xf16>
  %3 = kiln.binary min %2, %six : tensor<4xf16>
  return %1, %3 : tensor<4xbf16>, tensor<4xf16>
}

// A number rounded to a zero keeps its sign, which min(., 0) and max(., -0) do not return; a cast to a wider
// type does not round; a value that is rounded for another use is rounded once.
// CHECK-LABEL: func.func @not_round_after_bound
// CHECK: %[[A:.*]] = kiln.cast %arg0 : tensor<4xf32> -> tensor<4xbf16>
// CHECK: kiln.binary min %[[A]], {{.*}} : tensor<4xbf16>
// CHECK: %[[B:.*]] = kiln.cast %arg0 : tensor<4xf32> -> tensor<4xbf16>
// CHECK: kiln.binary max %[[B]], {{.*}} : tensor<4xbf16>
// CHECK: %[[C:.*]] = kiln.cast %arg0 : tensor<4xf32> -> tensor<4xf64>
// CHECK: kiln.binary max %[[C]], {{.*}} : tensor<4xf64>
// CHECK: %[[D:.*]] = kiln.cast %arg0 : tensor<4xf32> -> tensor<4xf16>
// CHECK: kiln.binary max %[[D]], {{.*}} : tensor<4xf16>
func.func @not_round_after_bound(%x: tensor<4xf32>)
    -> (tensor<4xbf16>, tensor<4xbf16>, tensor<4xf64>, tensor<4xf16>, tensor<4xf16>) {
  %zero = kiln.constant dense<0.0> : tensor<4xbf16>
  %minus_zero = kiln.constant dense<-0.0> : tensor<4xbf16>
  %zero64 = kiln.constant dense<0.0> : tensor<4xf64>
  %zero16 = kiln.constant dense<0.0> : tensor<4xf16>
  %a = kiln.cast %x : tensor<4xf32> -> tensor<4xbf16>
  %0 = kiln.binary min %a, %zero : tensor<4xbf16>
  %b = kiln.cast %x : tensor<4xf32> -> tensor<4xbf16>
  %1 = kiln.binary max %b, %minus_zero : tensor<4xbf16>
  %c = kiln.cast %x : tensor<4xf32> -> tensor<4xf64>
  %2 = kiln.binary max %c, %zero64 : tensor<4xf64>
  %d = kiln.cast %x : tensor<4xf32> -> tensor<4xf16>
  %3 = kiln.binary max %d, %zero16 : tensor<4xf16>
  return %0, %1, %2, %3, %d : tensor<4xbf16>, tensor<4xbf16>, tensor<4xf64>, tensor<4xf16>, tensor<4xf16>
}
