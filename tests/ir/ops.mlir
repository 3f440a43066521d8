// Every operation prints as it parses.
// RUN: kiln opt %s | kiln opt | FileCheck %s

// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf16> {
  // CHECK: kiln.unary log1p %arg0 : tensor<2x3xf32>
  %0 = kiln.unary log1p %x : tensor<2x3xf32>
  // CHECK: kiln.binary hypot %0, %arg1 : tensor<2x3xf32>
  %1 = kiln.binary hypot %0, %y : tensor<2x3xf32>
  // CHECK: kiln.compare le %1, %arg1 : tensor<2x3xf32> -> tensor<2x3xi1>
  %2 = kiln.compare le %1, %y : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: kiln.select %2, %1, %arg0 : tensor<2x3xi1>, tensor<2x3xf32>
  %3 = kiln.select %2, %1, %x : tensor<2x3xi1>, tensor<2x3xf32>
  // CHECK: kiln.fma %3, %1, %arg0 : tensor<2x3xf32>
  %4 = kiln.fma %3, %1, %x : tensor<2x3xf32>
  // CHECK: kiln.cast %4 : tensor<2x3xf32> -> tensor<2x3xf16>
  %5 = kiln.cast %4 : tensor<2x3xf32> -> tensor<2x3xf16>
  return %5 : tensor<2x3xf16>
}

// CHECK-LABEL: func.func @from_nothing
func.func @from_nothing() -> (tensor<3xf32>, tensor<2x3xi64>, tensor<4xf32>, tensor<2xui8>, tensor<bf16>) {
  // CHECK: kiln.constant dense<[1.000000e+00, 2.500000e+00, -0.000000e+00]> : tensor<3xf32>
  %0 = kiln.constant dense<[1.0, 2.5, -0.0]> : tensor<3xf32>
  // CHECK: kiln.iota 1 : tensor<2x3xi64>
  %1 = kiln.iota 1 : tensor<2x3xi64>
  // CHECK: kiln.random_uniform 7 : tensor<4xf32>
  %2 = kiln.random_uniform 7 : tensor<4xf32>
  // CHECK: kiln.constant dense<200> : tensor<2xui8>
  %3 = kiln.constant dense<200> : tensor<2xui8>
  // CHECK: kiln.constant dense<1.000000e+00> : tensor<bf16>
  %4 = kiln.constant dense<1.0> : tensor<bf16>
  return %0, %1, %2, %3, %4 : tensor<3xf32>, tensor<2x3xi64>, tensor<4xf32>, tensor<2xui8>, tensor<bf16>
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<3xf32>, %i: tensor<2x2xi32>) -> tensor<2x2x2xf32> {
  // CHECK: kiln.broadcast %arg0 [1] : tensor<3xf32> -> tensor<2x3xf32>
  %0 = kiln.broadcast %x [1] : tensor<3xf32> -> tensor<2x3xf32>
  // CHECK: kiln.reshape %0 : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = kiln.reshape %0 : tensor<2x3xf32> -> tensor<3x2xf32>
  // CHECK: kiln.transpose %1 [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %2 = kiln.transpose %1 [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  // CHECK: kiln.slice %2 [0, 0] to [2, 3] by [1, 2] : tensor<2x3xf32> -> tensor<2x2xf32>
  %3 = kiln.slice %2 [0, 0] to [2, 3] by [1, 2] : tensor<2x3xf32> -> tensor<2x2xf32>
  // CHECK: kiln.reverse %3 [0, 1] : tensor<2x2xf32>
  %4 = kiln.reverse %3 [0, 1] : tensor<2x2xf32>
  // CHECK: kiln.pad %4 0xFF800000 : f32 [0, 1] [1, 0] : tensor<2x2xf32> -> tensor<3x3xf32>
  %5 = kiln.pad %4 0xFF800000 : f32 [0, 1] [1, 0] : tensor<2x2xf32> -> tensor<3x3xf32>
  // CHECK: kiln.concatenate %5, %5 axis 1 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x6xf32>
  %6 = kiln.concatenate %5, %5 axis 1 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x6xf32>
  // CHECK: kiln.insert %3 into %6 [1, 0] by [1, 5] : tensor<2x2xf32> into tensor<3x6xf32>
  %7 = kiln.insert %3 into %6 [1, 0] by [1, 5] : tensor<2x2xf32> into tensor<3x6xf32>
  // CHECK: kiln.gather %2 %arg1 axis 1 : tensor<2x3xf32>, tensor<2x2xi32> -> tensor<2x2x2xf32>
  %8 = kiln.gather %2 %i axis 1 : tensor<2x3xf32>, tensor<2x2xi32> -> tensor<2x2x2xf32>
  // CHECK: kiln.extend reflect %2 [1, 0] [0, 2] : tensor<2x3xf32> -> tensor<3x5xf32>
  %9 = kiln.extend reflect %2 [1, 0] [0, 2] : tensor<2x3xf32> -> tensor<3x5xf32>
  return %8 : tensor<2x2x2xf32>
}

// CHECK-LABEL: func.func @orders
func.func @orders(%x: tensor<2x3xf32>, %d: tensor<4xf64>, %i: tensor<5xi64>, %u: tensor<2x5xf32>) {
  // CHECK: %order, %scratch = kiln.sort %arg0 {descending} : tensor<2x3xf32> -> tensor<2x3xi64>, tensor<2x3xi64>
  %order, %scratch = kiln.sort %x {descending} : tensor<2x3xf32> -> tensor<2x3xi64>, tensor<2x3xi64>
  // CHECK: kiln.sort %arg1 : tensor<4xf64> -> tensor<4xi64>, tensor<1x12xi64>
  %wide:2 = kiln.sort %d : tensor<4xf64> -> tensor<4xi64>, tensor<1x12xi64>
  // CHECK: kiln.scatter add %arg3 into %arg0 %arg2 axis 1 : tensor<2x5xf32> into tensor<2x3xf32>, tensor<5xi64>
  %0 = kiln.scatter add %u into %x %i axis 1 : tensor<2x5xf32> into tensor<2x3xf32>, tensor<5xi64>
  // CHECK: kiln.cumulative sum %arg0 axis 1 : tensor<2x3xf32>
  %1 = kiln.cumulative sum %x axis 1 : tensor<2x3xf32>
  // CHECK: kiln.check_bounds %arg2 below 3 for "take 'rows'" : tensor<5xi64>
  %checked = kiln.check_bounds %i below 3 for "take 'rows'" : tensor<5xi64>
  // CHECK: kiln.random_uniform 3 : tensor<4xi64>
  %2 = kiln.random_uniform 3 : tensor<4xi64>
  // CHECK: kiln.random_uniform 4 word 2 : tensor<4xf32>
  %3 = kiln.random_uniform 4 word 2 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @sums
func.func @sums(%a: tensor<5x4x3xf64>, %b: tensor<5x2x3xf64>, %x: tensor<1x4x8x9xf32>, %w: tensor<6x2x3x3xf32>, %h: tensor<5x4xbf16>) {
  // CHECK: kiln.reduce min %arg0 [0, 2] : tensor<5x4x3xf64> -> tensor<4xf64>
  %0 = kiln.reduce min %a [0, 2] : tensor<5x4x3xf64> -> tensor<4xf64>
  // CHECK: kiln.dot %arg0, %arg1 {transpose_rhs} : tensor<5x4x3xf64>, tensor<5x2x3xf64> -> tensor<5x4x2xf64>
  %1 = kiln.dot %a, %b {transpose_rhs} : tensor<5x4x3xf64>, tensor<5x2x3xf64> -> tensor<5x4x2xf64>
  // CHECK: kiln.dot %arg4, %arg4 by tensor_cores {transpose_lhs} : tensor<5x4xbf16>, tensor<5x4xbf16> -> tensor<4x4xf32>
  %h2 = kiln.dot %h, %h by tensor_cores {transpose_lhs} : tensor<5x4xbf16>, tensor<5x4xbf16> -> tensor<4x4xf32>
  // CHECK: kiln.convolution %arg2, %arg3 {dilate = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 1>, stride = array<i64: 2, 1>} : tensor<1x4x8x9xf32>, tensor<6x2x3x3xf32> -> tensor<1x6x4x8xf32>
  %2 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 1>, stride = array<i64: 2, 1>} : tensor<1x4x8x9xf32>, tensor<6x2x3x3xf32> -> tensor<1x6x4x8xf32>
  // CHECK: kiln.convolution_weights %arg2, %{{.*}} {depthwise, dilate = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 1>, stride = array<i64: 2, 1>} : tensor<1x4x8x9xf32>, tensor<1x4x4x8xf32> -> tensor<4x1x3x3xf32>
  %g = kiln.slice %2 [0, 0, 0, 0] to [1, 4, 4, 8] by [1, 1, 1, 1] : tensor<1x6x4x8xf32> -> tensor<1x4x4x8xf32>
  %4 = kiln.convolution_weights %x, %g {depthwise, dilate = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 1>, stride = array<i64: 2, 1>} : tensor<1x4x8x9xf32>, tensor<1x4x4x8xf32> -> tensor<4x1x3x3xf32>
  // CHECK: kiln.reduce_window max %arg2 {dilate = array<i64: 1, 1>, kernel = array<i64: 2, 3>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 2, 3>} : tensor<1x4x8x9xf32> -> tensor<1x4x4x3xf32>
  %3 = kiln.reduce_window max %x {dilate = array<i64: 1, 1>, kernel = array<i64: 2, 3>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 2, 3>} : tensor<1x4x8x9xf32> -> tensor<1x4x4x3xf32>
  return
}

// CHECK-LABEL: func.func @kernels
func.func @kernels(%x: tensor<4x10xf32>, %w: tensor<20x10xf32>, %b: tensor<20xf32>) -> (tensor<4x20xf32>, tensor<4x20xf32>) {
  // CHECK: kiln.pack transposed %arg1 {groups = 1 : i64, panel = 16 : i64} : tensor<20x10xf32> -> tensor<2x10x16xf32>
  %p = kiln.pack transposed %w {groups = 1 : i64, panel = 16 : i64} : tensor<20x10xf32> -> tensor<2x10x16xf32>
  // CHECK: %[[F:.*]]:2 = kiln.fusion (%[[X:.*]] = %arg0, %[[P:.*]] = %0, %[[B:.*]] = %arg2) attributes {kiln.missed_fusion = ["no"]} : (tensor<4x10xf32>, tensor<2x10x16xf32>, tensor<20xf32>) -> (tensor<4x20xf32>, tensor<4x20xf32>) {
  %0:2 = kiln.fusion (%i = %x, %j = %p, %k = %b) attributes {kiln.missed_fusion = ["no"]} : (tensor<4x10xf32>, tensor<2x10x16xf32>, tensor<20xf32>) -> (tensor<4x20xf32>, tensor<4x20xf32>) {
    // CHECK: kiln.packed_dot %[[X]], %[[P]] : tensor<4x10xf32>, tensor<2x10x16xf32> -> tensor<4x20xf32>
    %1 = kiln.packed_dot %i, %j : tensor<4x10xf32>, tensor<2x10x16xf32> -> tensor<4x20xf32>
    // CHECK: kiln.broadcast %[[B]] [1]
    %2 = kiln.broadcast %k [1] : tensor<20xf32> -> tensor<4x20xf32>
    %3 = kiln.binary add %1, %2 : tensor<4x20xf32>
    // CHECK: kiln.yield %{{.*}}, %{{.*}} : tensor<4x20xf32>, tensor<4x20xf32>
    kiln.yield %1, %3 : tensor<4x20xf32>, tensor<4x20xf32>
  }
  // CHECK: return %[[F]]#0, %[[F]]#1
  return %0#0, %0#1 : tensor<4x20xf32>, tensor<4x20xf32>
}

// CHECK-LABEL: func.func @packed_convolution
func.func @packed_convolution(%x: tensor<1x8x8x4xf32>, %w: tensor<6x2x3x3xf32>) -> tensor<1x6x3x6xf32> {
  // CHECK: kiln.pack convolution %arg1 {groups = 2 : i64, panel = 8 : i64} : tensor<6x2x3x3xf32> -> tensor<2x1x18x8xf32>
  %p = kiln.pack convolution %w {groups = 2 : i64, panel = 8 : i64} : tensor<6x2x3x3xf32> -> tensor<2x1x18x8xf32>
  // CHECK: kiln.packed_convolution %arg0, %0 {dilate = array<i64: 1, 1>, groups = 2 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 2>} : tensor<1x8x8x4xf32>, tensor<2x1x18x8xf32> -> tensor<1x6x3x6xf32>
  %0 = kiln.packed_convolution %x, %p {dilate = array<i64: 1, 1>, groups = 2 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 2>} : tensor<1x8x8x4xf32>, tensor<2x1x18x8xf32> -> tensor<1x6x3x6xf32>
  return %0 : tensor<1x6x3x6xf32>
}
