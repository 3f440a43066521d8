// What becomes a kernel.
// RUN: kiln opt %s --kiln-fuse | FileCheck %s
// RUN: kiln opt %s --kiln-fuse="fuse=false" | FileCheck %s --check-prefix=ALONE

// The memory example of the tutorial: one kernel.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: kiln.fusion (%[[A:.*]] = %arg0) : (tensor<10xf64>) -> tensor<10xf64> {
// CHECK-NEXT:   kiln.constant dense<2.0
// CHECK-NEXT:   kiln.binary mul %[[A]]
// CHECK-NEXT:   kiln.binary mul %{{.*}}, %[[A]]
// CHECK-NEXT:   kiln.constant dense<1.0
// CHECK-NEXT:   %[[D:.*]] = kiln.binary add
// CHECK-NEXT:   kiln.yield %[[D]]
// CHECK-NEXT: }
// CHECK-NEXT: return
// ALONE-LABEL: func.func @chain
// ALONE-COUNT-3: kiln.fusion
// ALONE-NOT: kiln.fusion
// ALONE: return
func.func @chain(%a: tensor<10xf64>) -> tensor<10xf64> {
  %two = kiln.constant dense<2.0> : tensor<10xf64>
  %one = kiln.constant dense<1.0> : tensor<10xf64>
  %b = kiln.binary mul %a, %two : tensor<10xf64>
  %c = kiln.binary mul %b, %a : tensor<10xf64>
  %d = kiln.binary add %c, %one : tensor<10xf64>
  return %d : tensor<10xf64>
}

// A value in the middle may leave the kernel too.
// CHECK-LABEL: func.func @two_results
// CHECK-NEXT: %[[F:.*]]:2 = kiln.fusion
// CHECK: return %[[F]]#0, %[[F]]#1
func.func @two_results(%a: tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
  %b = kiln.unary exp %a : tensor<10xf32>
  %c = kiln.unary log %b : tensor<10xf32>
  return %b, %c : tensor<10xf32>, tensor<10xf32>
}

// Broadcast, slice, reverse, transpose and reshape of what is in memory are strides.
// CHECK-LABEL: func.func @views
// CHECK-NEXT: kiln.fusion (%[[A:.*]] = %arg0, %[[B:.*]] = %arg1)
// CHECK-NEXT:   kiln.transpose %[[A]] [1, 0]
// CHECK-NEXT:   kiln.slice
// CHECK-NEXT:   kiln.broadcast %[[B]] [1]
// CHECK-NEXT:   kiln.binary add
// CHECK-NEXT:   kiln.reverse %[[A]] [0]
// CHECK-NEXT:   kiln.reshape
// CHECK-NEXT:   kiln.slice
// CHECK-NEXT:   kiln.reshape
// CHECK-NEXT:   kiln.transpose
// CHECK-NEXT:   kiln.binary mul
// CHECK-NEXT:   kiln.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
// ALONE-LABEL: func.func @views
// ALONE-COUNT-8: kiln.fusion
// ALONE-NOT: kiln.fusion
// ALONE: return
func.func @views(%x: tensor<4x6xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  %t = kiln.transpose %x [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %s = kiln.slice %t [0, 0] to [6, 4] by [2, 1] : tensor<6x4xf32> -> tensor<3x4xf32>
  %b = kiln.broadcast %y [1] : tensor<4xf32> -> tensor<3x4xf32>
  %0 = kiln.binary add %s, %b : tensor<3x4xf32>
  %v = kiln.reverse %x [0] : tensor<4x6xf32>
  %z = kiln.reshape %v : tensor<4x6xf32> -> tensor<4x3x2xf32>
  %1 = kiln.slice %z [0, 0, 0] to [4, 3, 1] by [1, 1, 1] : tensor<4x3x2xf32> -> tensor<4x3x1xf32>
  %2 = kiln.reshape %1 : tensor<4x3x1xf32> -> tensor<4x3xf32>
  %3 = kiln.transpose %2 [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  %4 = kiln.binary mul %0, %3 : tensor<3x4xf32>
  return %4 : tensor<3x4xf32>
}

// A reshape that strides cannot express: its operand is copied first.
// CHECK-LABEL: func.func @copy_for_reshape
// CHECK-NEXT: %[[T:.*]] = kiln.fusion (%[[A:.*]] = %arg0) : (tensor<4x6xf32>) -> tensor<6x4xf32> {
// CHECK-NEXT:   kiln.transpose %[[A]]
// CHECK-NEXT:   kiln.yield
// CHECK-NEXT: }
// CHECK-NEXT: kiln.fusion (%[[B:.*]] = %[[T]])
// CHECK-NEXT:   kiln.reshape %[[B]]
// CHECK-NEXT:   kiln.unary exp
func.func @copy_for_reshape(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  %0 = kiln.transpose %x [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %1 = kiln.reshape %0 : tensor<6x4xf32> -> tensor<24xf32>
  %2 = kiln.unary exp %1 : tensor<24xf32>
  return %2 : tensor<24xf32>
}

// What a kernel computes is not moved inside of it.
// CHECK-LABEL: func.func @movement_ends
// CHECK-COUNT-2: kiln.fusion
func.func @movement_ends(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %0 = kiln.unary exp %x : tensor<4x6xf32>
  %1 = kiln.transpose %0 [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %2 = kiln.unary exp %1 : tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @moved_within
// CHECK: kiln.fusion
// CHECK-NEXT: kiln.unary exp
// CHECK-NEXT: kiln.yield
// CHECK: kiln.fusion {{.*}}kiln.missed_fusion = ["unary exp: it needs a view of a value computed in this kernel"]
func.func @moved_within(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kiln.unary exp %x : tensor<4x4xf32>
  %1 = kiln.transpose %0 [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = kiln.binary add %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// Flattening is another name for a buffer.
// CHECK-LABEL: func.func @alias
// CHECK: %[[E:.*]] = kiln.fusion
// CHECK: kiln.fusion (%[[X:.*]] = %[[E]], %{{.*}} = %arg1)
// CHECK-NEXT:   %[[F:.*]] = kiln.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<2x12xf32>
// CHECK-NEXT:   kiln.packed_dot %[[F]]
func.func @alias(%x: tensor<2x3x4xf32>, %w: tensor<1x12x16xf32>) -> tensor<2x16xf32> {
  %0 = kiln.unary exp %x : tensor<2x3x4xf32>
  %1 = kiln.reshape %0 : tensor<2x3x4xf32> -> tensor<2x12xf32>
  %2 = kiln.packed_dot %1, %w : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  return %2 : tensor<2x16xf32>
}

// Bias and activation end a product; the residual is an operand.
// CHECK-LABEL: func.func @epilogue
// CHECK-NEXT: kiln.fusion (%[[X:.*]] = %arg0, %[[W:.*]] = %arg1, %[[B:.*]] = %arg2, %[[R:.*]] = %arg3)
// CHECK-NEXT:   kiln.packed_dot %[[X]], %[[W]]
// CHECK-NEXT:   kiln.broadcast %[[B]] [1]
// CHECK-NEXT:   kiln.binary add
// CHECK-NEXT:   kiln.unary tanh
// CHECK-NEXT:   kiln.binary mul
// CHECK-NEXT:   kiln.binary add %{{.*}}, %[[R]]
// CHECK-NEXT:   kiln.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @epilogue(%x: tensor<2x12xf32>, %w: tensor<1x12x16xf32>, %b: tensor<16xf32>, %r: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %0 = kiln.packed_dot %x, %w : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  %1 = kiln.broadcast %b [1] : tensor<16xf32> -> tensor<2x16xf32>
  %2 = kiln.binary add %0, %1 : tensor<2x16xf32>
  %3 = kiln.unary tanh %2 : tensor<2x16xf32>
  %4 = kiln.binary mul %2, %3 : tensor<2x16xf32>
  %5 = kiln.binary add %4, %r : tensor<2x16xf32>
  return %5 : tensor<2x16xf32>
}

// What is packed in each call, and for one product, that product packs.
// CHECK-LABEL: func.func @pack
// CHECK-NEXT: kiln.fusion (%[[Y:.*]] = %arg1, %[[X:.*]] = %arg0)
// CHECK-NEXT:   %[[P:.*]] = kiln.pack matrix %[[Y]]
// CHECK-NEXT:   kiln.packed_dot %[[X]], %[[P]]
// CHECK-NEXT:   kiln.unary tanh
// CHECK-NEXT:   kiln.yield
func.func @pack(%x: tensor<2x12xf32>, %y: tensor<12x16xf32>) -> tensor<2x16xf32> {
  %0 = kiln.pack matrix %y {groups = 1, panel = 16} : tensor<12x16xf32> -> tensor<1x12x16xf32>
  %1 = kiln.packed_dot %x, %0 : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  %2 = kiln.unary tanh %1 : tensor<2x16xf32>
  return %2 : tensor<2x16xf32>
}

// A pack of weights moves all elements anyway: it reads a phase of them, turned, as they lie in memory.
// CHECK-LABEL: func.func @pack_of_view
// CHECK-NEXT: kiln.fusion ({{.*}} = %arg0)
// CHECK-NEXT:   %[[T:.*]] = kiln.transpose
// CHECK-NEXT:   %[[R:.*]] = kiln.reverse %[[T]]
// CHECK-NEXT:   %[[S:.*]] = kiln.slice %[[R]]
// CHECK-NEXT:   kiln.pack convolution %[[S]]
func.func @pack_of_view(%w: tensor<2x8x4x4xf32>) -> tensor<1x1x8x8xf32> {
  %0 = kiln.transpose %w [1, 0, 2, 3] : tensor<2x8x4x4xf32> -> tensor<8x2x4x4xf32>
  %1 = kiln.reverse %0 [2, 3] : tensor<8x2x4x4xf32>
  %2 = kiln.slice %1 [0, 0, 0, 1] to [8, 2, 3, 4] by [1, 1, 2, 2] : tensor<8x2x4x4xf32> -> tensor<8x2x2x2xf32>
  %3 = kiln.pack convolution %2 {groups = 1 : i64, panel = 8 : i64} : tensor<8x2x2x2xf32> -> tensor<1x1x8x8xf32>
  return %3 : tensor<1x1x8x8xf32>
}

// Of gradients with the channels last that are packed as weights, also of several groups.
// CHECK-LABEL: func.func @pack_of_groups
// CHECK-NEXT: kiln.fusion ({{.*}} = %arg0)
// CHECK-NEXT:   %[[T:.*]] = kiln.transpose
// CHECK-NEXT:   kiln.pack convolution %[[T]] {groups = 2
func.func @pack_of_groups(%g: tensor<2x4x4x8xf32>) -> tensor<2x1x32x8xf32> {
  %0 = kiln.transpose %g [3, 0, 1, 2] : tensor<2x4x4x8xf32> -> tensor<8x2x4x4xf32>
  %1 = kiln.pack convolution %0 {groups = 2 : i64, panel = 8 : i64} : tensor<8x2x4x4xf32> -> tensor<2x1x32x8xf32>
  return %1 : tensor<2x1x32x8xf32>
}

// Packs of the same weights share a kernel: for the convolution, and turned for its gradient.
// CHECK-LABEL: func.func @packs
// CHECK-NEXT: %[[P:.*]]:2 = kiln.fusion (%[[W:.*]] = %arg0)
// CHECK-NEXT:   %[[A:.*]] = kiln.pack winograd %[[W]]
// CHECK-NEXT:   %[[T:.*]] = kiln.transpose %[[W]]
// CHECK-NEXT:   %[[R:.*]] = kiln.reverse %[[T]]
// CHECK-NEXT:   %[[B:.*]] = kiln.pack convolution %[[R]]
// CHECK-NEXT:   kiln.yield %[[A]], %[[B]]
// CHECK: return %[[P]]#0, %[[P]]#1
func.func @packs(%w: tensor<16x24x3x3xf32>) -> (tensor<1x16x24x16xf32>, tensor<1x1x144x24xf32>) {
  %0 = kiln.pack winograd %w {groups = 1 : i64, panel = 16 : i64} : tensor<16x24x3x3xf32> -> tensor<1x16x24x16xf32>
  %1 = kiln.transpose %w [1, 0, 2, 3] : tensor<16x24x3x3xf32> -> tensor<24x16x3x3xf32>
  %2 = kiln.reverse %1 [2, 3] : tensor<24x16x3x3xf32>
  %3 = kiln.pack convolution %2 {groups = 1 : i64, panel = 24 : i64} : tensor<24x16x3x3xf32> -> tensor<1x1x144x24xf32>
  return %0, %3 : tensor<1x16x24x16xf32>, tensor<1x1x144x24xf32>
}

// A pack of half of the channels does not take the tiles of the others.
// CHECK-LABEL: func.func @packs_of_parts
// CHECK-COUNT-2: kiln.fusion ({{.*}} = %arg0)
func.func @packs_of_parts(%w: tensor<8x8x1x1xf32>) -> (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) {
  %0 = kiln.slice %w [0, 0, 0, 0] to [8, 4, 1, 1] by [1, 1, 1, 1] : tensor<8x8x1x1xf32> -> tensor<8x4x1x1xf32>
  %1 = kiln.pack convolution %0 {groups = 1 : i64, panel = 8 : i64} : tensor<8x4x1x1xf32> -> tensor<1x1x4x8xf32>
  %2 = kiln.slice %w [0, 4, 0, 0] to [8, 8, 1, 1] by [1, 1, 1, 1] : tensor<8x8x1x1xf32> -> tensor<8x4x1x1xf32>
  %3 = kiln.pack convolution %2 {groups = 1 : i64, panel = 8 : i64} : tensor<8x4x1x1xf32> -> tensor<1x1x4x8xf32>
  return %1, %3 : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>
}

// CHECK-LABEL: func.func @pack_of_parameter
// CHECK-NEXT: %[[P:.*]] = kiln.pack matrix %arg1
// CHECK-NEXT: kiln.fusion ({{.*}} = %[[P]])
func.func @pack_of_parameter(%x: tensor<2x12xf32>, %y: tensor<12x16xf32> {kiln.parameter}) -> tensor<2x16xf32> {
  %0 = kiln.pack matrix %y {groups = 1, panel = 16} : tensor<12x16xf32> -> tensor<1x12x16xf32>
  %1 = kiln.packed_dot %x, %0 : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  return %1 : tensor<2x16xf32>
}

// CHECK-LABEL: func.func @pack_of_two_products
// CHECK-NEXT: %[[P:.*]] = kiln.pack matrix %arg1
// CHECK-NEXT: kiln.fusion ({{.*}} = %[[P]]) {{.*}}kiln.missed_fusion = ["pack: its value has other users"]
func.func @pack_of_two_products(%x: tensor<2x12xf32>, %y: tensor<12x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
  %0 = kiln.pack matrix %y {groups = 1, panel = 16} : tensor<12x16xf32> -> tensor<1x12x16xf32>
  %1 = kiln.packed_dot %x, %0 : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  %2 = kiln.unary tanh %x : tensor<2x12xf32>
  %3 = kiln.packed_dot %2, %0 : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  return %1, %3 : tensor<2x16xf32>, tensor<2x16xf32>
}

// The kernel takes each matrix as it lies: the pack is a mark in it, not a step.
// CHECK-LABEL: func.func @packs_of_a_batch
// CHECK-NEXT: kiln.fusion
// CHECK-NEXT:   kiln.pack
// CHECK-NEXT:   kiln.packed_dot
func.func @packs_of_a_batch(%x: tensor<3x40x12xf32>, %y: tensor<3x12x16xf32>) -> tensor<3x40x16xf32> {
  %0 = kiln.pack matrix %y {groups = 1, panel = 16} : tensor<3x12x16xf32> -> tensor<3x1x12x16xf32>
  %1 = kiln.packed_dot %x, %0 : tensor<3x40x12xf32>, tensor<3x1x12x16xf32> -> tensor<3x40x16xf32>
  return %1 : tensor<3x40x16xf32>
}

// Two values would leave: the product's own is written, and what is behind it reads it.
// CHECK-LABEL: func.func @no_epilogue
// CHECK-NEXT: kiln.fusion {{.*}}kiln.missed_fusion = ["unary tanh: the kernel would have more than one result"]
// CHECK-NEXT:   kiln.packed_dot
// CHECK-NEXT:   kiln.yield
// CHECK: kiln.fusion
// CHECK-NEXT:   kiln.unary tanh
func.func @no_epilogue(%x: tensor<2x12xf32>, %w: tensor<1x12x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
  %0 = kiln.packed_dot %x, %w : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  %1 = kiln.unary tanh %0 : tensor<2x16xf32>
  return %0, %1 : tensor<2x16xf32>, tensor<2x16xf32>
}

// Why a pooling and a reduction behind a product are kernels of their own; operators are named.
// CHECK-LABEL: func.func @behind
// CHECK-NEXT: kiln.fusion {{.*}}kiln.missed_fusion = ["binary max of pool: it does not read the result element by element", "reduce: a reduction cannot follow another root in one kernel"]
// CHECK-NEXT:   kiln.packed_dot
// ALONE-LABEL: func.func @behind
// ALONE-NOT: kiln.missed_fusion
// ALONE: return
func.func @behind(%x: tensor<2x12xf32>, %w: tensor<1x12x16xf32>) -> (tensor<2x8xf32>, tensor<2xf32>) {
  %0 = kiln.packed_dot %x, %w : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  %1 = kiln.slice %0 [0, 0] to [2, 15] by [1, 2] : tensor<2x16xf32> -> tensor<2x8xf32>
  %2 = kiln.slice %0 [0, 1] to [2, 16] by [1, 2] : tensor<2x16xf32> -> tensor<2x8xf32>
  %3 = kiln.binary max %1, %2 : tensor<2x8xf32> loc("pool")
  %4 = kiln.reduce sum %0 [1] : tensor<2x16xf32> -> tensor<2xf32>
  return %3, %4 : tensor<2x8xf32>, tensor<2xf32>
}

// Where a sum of two products ends, the later product takes it.
// CHECK-LABEL: func.func @sum_of_products
// CHECK: %[[A:.*]] = kiln.fusion
// CHECK-NEXT:   kiln.packed_dot
// CHECK-NEXT:   kiln.yield
// CHECK: kiln.fusion ({{.*}} = %[[A]]{{.*}})
// CHECK-NEXT:   kiln.packed_dot
// CHECK-NEXT:   kiln.binary add
func.func @sum_of_products(%x: tensor<2x12xf32>, %w: tensor<1x12x16xf32>, %v: tensor<1x12x16xf32>) -> tensor<2x16xf32> {
  %0 = kiln.packed_dot %x, %w : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  %1 = kiln.packed_dot %x, %v : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  %2 = kiln.binary add %0, %1 : tensor<2x16xf32>
  return %2 : tensor<2x16xf32>
}

// CHECK-LABEL: func.func @root_mean_square
// CHECK-NEXT: kiln.fusion
// CHECK-NEXT:   kiln.binary mul
// CHECK-NEXT:   kiln.reduce sum
// CHECK-NEXT:   kiln.constant
// CHECK-NEXT:   kiln.binary div
// CHECK-NEXT:   kiln.unary sqrt
// CHECK-NEXT:   kiln.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @root_mean_square(%x: tensor<8x100xf32>) -> tensor<8xf32> {
  %n = kiln.constant dense<100.0> : tensor<8xf32>
  %0 = kiln.binary mul %x, %x : tensor<8x100xf32>
  %1 = kiln.reduce sum %0 [1] : tensor<8x100xf32> -> tensor<8xf32>
  %2 = kiln.binary div %1, %n : tensor<8xf32>
  %3 = kiln.unary sqrt %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// exp is used twice and stays in memory between the kernels: no cycle.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[MAX:.*]] = kiln.fusion (%{{.*}} = %arg0)
// CHECK-NEXT:   kiln.reduce max
// CHECK: %[[EXP:.*]] = kiln.fusion (%{{.*}} = %arg0, %{{.*}} = %[[MAX]])
// CHECK-NEXT:   kiln.broadcast
// CHECK-NEXT:   kiln.binary sub
// CHECK-NEXT:   kiln.unary exp
// CHECK: %[[SUM:.*]] = kiln.fusion (%{{.*}} = %[[EXP]])
// CHECK-NEXT:   kiln.reduce sum
// CHECK: kiln.fusion (%{{.*}} = %[[EXP]], %{{.*}} = %[[SUM]])
// CHECK-NEXT:   kiln.broadcast
// CHECK-NEXT:   kiln.binary div
func.func @softmax(%x: tensor<8x100xf32>) -> tensor<8x100xf32> {
  %0 = kiln.reduce max %x [1] : tensor<8x100xf32> -> tensor<8xf32>
  %1 = kiln.broadcast %0 [0] : tensor<8xf32> -> tensor<8x100xf32>
  %2 = kiln.binary sub %x, %1 : tensor<8x100xf32>
  %3 = kiln.unary exp %2 : tensor<8x100xf32>
  %4 = kiln.reduce sum %3 [1] : tensor<8x100xf32> -> tensor<8xf32>
  %5 = kiln.broadcast %4 [0] : tensor<8xf32> -> tensor<8x100xf32>
  %6 = kiln.binary div %3, %5 : tensor<8x100xf32>
  return %6 : tensor<8x100xf32>
}

// Over a transposed operand two reduced axes do not walk as one: the product is made first.
// CHECK-LABEL: func.func @two_strides
// CHECK: kiln.fusion
// CHECK:   kiln.binary mul
// CHECK-NEXT:   kiln.yield
// CHECK: kiln.fusion {{.*}}kiln.missed_fusion = ["binary mul: the reduced axes are not one axis of all its operands"]
// CHECK-NEXT:   kiln.reduce
func.func @two_strides(%x: tensor<8x4x5xf32>, %y: tensor<8x5x4xf32>) -> tensor<8xf32> {
  %0 = kiln.transpose %y [0, 2, 1] : tensor<8x5x4xf32> -> tensor<8x4x5xf32>
  %1 = kiln.binary mul %x, %0 : tensor<8x4x5xf32>
  %2 = kiln.reduce sum %1 [1, 2] : tensor<8x4x5xf32> -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// Splats and iota are made in every pointwise kernel; a reduction of an iota reads memory, and so does a view.
// CHECK-LABEL: func.func @from_nothing
// CHECK: %[[I:.*]] = kiln.fusion () : () -> tensor<4xf32> {
// CHECK-NEXT:   kiln.iota
// CHECK-NEXT:   kiln.yield
// CHECK: kiln.fusion (%[[A:.*]] = %[[I]])
// CHECK-NEXT:   kiln.reverse %[[A]] [0]
// CHECK-NEXT:   kiln.iota
// CHECK-NEXT:   kiln.binary add
// CHECK: kiln.fusion (%[[A:.*]] = %[[I]])
// CHECK-NEXT:   kiln.reduce sum %[[A]]
func.func @from_nothing() -> (tensor<4xf32>, tensor<f32>) {
  %0 = kiln.iota 0 : tensor<4xf32>
  %1 = kiln.reverse %0 [0] : tensor<4xf32>
  %2 = kiln.binary add %0, %1 : tensor<4xf32>
  %3 = kiln.reduce sum %0 [0] : tensor<4xf32> -> tensor<f32>
  return %2, %3 : tensor<4xf32>, tensor<f32>
}

// Iota is made among the elements of a reduction, too, where the reduced axes are one axis of it.
// CHECK-LABEL: func.func @among_elements
// CHECK: kiln.fusion (%{{.*}} = %arg0)
// CHECK-NEXT:   kiln.iota 1
// CHECK-NEXT:   kiln.binary mul
// CHECK-NEXT:   kiln.reduce sum %{{.*}} [1]
// CHECK: kiln.fusion (%{{.*}} = %arg0)
// CHECK-NEXT:   kiln.iota 1
// CHECK-NEXT:   kiln.binary mul
// CHECK-NEXT:   kiln.yield
// CHECK: kiln.fusion {{.*}}kiln.missed_fusion = ["binary mul: the reduced axes are not one axis of all its operands"]
// CHECK-NEXT:   kiln.reduce sum %{{.*}} [0, 1]
func.func @among_elements(%x: tensor<4x5xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = kiln.iota 1 : tensor<4x5xf32>
  %1 = kiln.binary mul %x, %0 : tensor<4x5xf32>
  %2 = kiln.reduce sum %1 [1] : tensor<4x5xf32> -> tensor<4xf32>
  %3 = kiln.binary mul %0, %x : tensor<4x5xf32>
  %4 = kiln.reduce sum %3 [0, 1] : tensor<4x5xf32> -> tensor<f32>
  return %2, %4 : tensor<4xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @dropout
// CHECK-NEXT: kiln.fusion (%{{.*}} = %arg0)
// CHECK-NEXT:   kiln.random_uniform 3
// CHECK: kiln.compare
// CHECK: kiln.select
// CHECK: }
// CHECK-NEXT: return
func.func @dropout(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %u = kiln.random_uniform 3 : tensor<8x8xf32>
  %p = kiln.constant dense<0.5> : tensor<8x8xf32>
  %c = kiln.compare lt %u, %p : tensor<8x8xf32> -> tensor<8x8xi1>
  %z = kiln.constant dense<0.0> : tensor<8x8xf32>
  %0 = kiln.select %c, %x, %z : tensor<8x8xi1>, tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Strided copies are no kernels; what they copy lies in memory.
// CHECK-LABEL: func.func @copies
// CHECK: %[[A:.*]] = kiln.fusion
// CHECK: %[[ONES:.*]] = kiln.fusion ()
// CHECK: %[[C:.*]] = kiln.concatenate %[[A]], %[[ONES]], %arg0 axis 0
// CHECK: %[[P:.*]] = kiln.pad %[[C]]
// CHECK: kiln.insert %[[A]] into %[[P]]
func.func @copies(%x: tensor<4xf32>) -> tensor<14xf32> {
  %0 = kiln.unary exp %x : tensor<4xf32>
  %1 = kiln.constant dense<1.0> : tensor<4xf32>
  %2 = kiln.concatenate %0, %1, %x axis 0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  %3 = kiln.pad %2 0.0 : f32 [1] [1] : tensor<12xf32> -> tensor<14xf32>
  %4 = kiln.insert %0 into %3 [0] by [2] : tensor<4xf32> into tensor<14xf32>
  return %4 : tensor<14xf32>
}

// CHECK-LABEL: func.func @gather
// CHECK-NEXT: %[[I:.*]] = kiln.reshape %arg1
// CHECK-NEXT: kiln.fusion (%[[X:.*]] = %arg0, %[[J:.*]] = %[[I]])
// CHECK-NEXT:   kiln.gather %[[X]] %[[J]] axis 0
// CHECK-NEXT:   kiln.yield
func.func @gather(%x: tensor<8x8xf32>, %i: tensor<2x3xi32>) -> tensor<6x8xf32> {
  %r = kiln.reshape %i : tensor<2x3xi32> -> tensor<6xi32>
  %0 = kiln.gather %x %r axis 0 : tensor<8x8xf32>, tensor<6xi32> -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// What a convolution's end reads may be a window: it is walked row by row.
// CHECK-LABEL: func.func @cropped_residual
// CHECK-NEXT: kiln.fusion (%{{.*}} = %arg0, %{{.*}} = %arg1)
// CHECK-NEXT:   kiln.packed_convolution
// CHECK-NEXT:   kiln.slice
// CHECK-NEXT:   kiln.binary add
// CHECK-NEXT:   kiln.yield
func.func @cropped_residual(%x: tensor<1x6x6x4xf32>, %w: tensor<1x1x36x16xf32>) -> tensor<1x4x4x4xf32> {
  %0 = kiln.packed_convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 1>} : tensor<1x6x6x4xf32>, tensor<1x1x36x16xf32> -> tensor<1x4x4x4xf32>
  %1 = kiln.slice %x [0, 1, 1, 0] to [1, 5, 5, 4] by [1, 1, 1, 1] : tensor<1x6x6x4xf32> -> tensor<1x4x4x4xf32>
  %2 = kiln.binary add %0, %1 : tensor<1x4x4x4xf32>
  return %2 : tensor<1x4x4x4xf32>
}

// A product looks at its left operand through strides; depthwise kernels need neighbouring channels side by side.
// CHECK-LABEL: func.func @strided_operands
// CHECK-NEXT: kiln.fusion
// CHECK-NEXT:   kiln.transpose
// CHECK-NEXT:   kiln.packed_convolution
// CHECK: kiln.fusion
// CHECK-NEXT:   kiln.transpose
// CHECK-NEXT:   kiln.yield
// CHECK: kiln.fusion
// CHECK-NEXT:   kiln.packed_convolution
func.func @strided_operands(%x: tensor<1x4x6x6xf32>, %w: tensor<1x1x36x16xf32>, %d: tensor<1x1x9x16xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) {
  %t = kiln.transpose %x [0, 2, 3, 1] : tensor<1x4x6x6xf32> -> tensor<1x6x6x4xf32>
  %0 = kiln.packed_convolution %t, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 1>} : tensor<1x6x6x4xf32>, tensor<1x1x36x16xf32> -> tensor<1x4x4x4xf32>
  %u = kiln.transpose %x [0, 3, 2, 1] : tensor<1x4x6x6xf32> -> tensor<1x6x6x4xf32>
  %1 = kiln.packed_convolution %u, %d {dilate = array<i64: 1, 1>, groups = 4 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 1>} : tensor<1x6x6x4xf32>, tensor<1x1x9x16xf32> -> tensor<1x4x4x4xf32>
  return %0, %1 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
}

// Behind a gather pointwise operations join; the indices that it reads are in memory.
// CHECK-LABEL: func.func @gather_scaled
// CHECK: %[[I:.*]] = kiln.fusion (%{{.*}} = %arg1)
// CHECK-NEXT:   kiln.binary add
// CHECK: kiln.fusion (%[[X:.*]] = %arg0, %[[J:.*]] = %[[I]])
// CHECK-NEXT:   kiln.gather %[[X]] %[[J]] axis 0
// CHECK-NEXT:   kiln.unary exp
// CHECK-NEXT:   kiln.yield
func.func @gather_scaled(%x: tensor<8xf32>, %i: tensor<6xi32>) -> tensor<6xf32> {
  %0 = kiln.binary add %i, %i : tensor<6xi32>
  %1 = kiln.gather %x %0 axis 0 : tensor<8xf32>, tensor<6xi32> -> tensor<6xf32>
  %2 = kiln.unary exp %1 : tensor<6xf32>
  return %2 : tensor<6xf32>
}

// CHECK-LABEL: func.func @indices_used_twice
// CHECK: kiln.fusion
// CHECK-NEXT:   kiln.binary add
// CHECK-NEXT:   kiln.yield
// CHECK: kiln.fusion {{.*}}kiln.missed_fusion = ["binary add: it needs a view of a value computed in this kernel"]
// CHECK-NEXT:   kiln.gather
// CHECK-NEXT:   kiln.binary mul
func.func @indices_used_twice(%x: tensor<8xi32>, %i: tensor<6xi32>) -> tensor<6xi32> {
  %0 = kiln.binary add %i, %i : tensor<6xi32>
  %1 = kiln.gather %x %0 axis 0 : tensor<8xi32>, tensor<6xi32> -> tensor<6xi32>
  %2 = kiln.binary mul %1, %0 : tensor<6xi32>
  return %2 : tensor<6xi32>
}

// Each of two results is an array of its own, and the second reads the first: repeating and reshaping it are not strides
// together, though on the argument, whose one element both repeat, they are.
// CHECK-LABEL: func.func @repeated_twice
// CHECK: %[[A:.*]] = kiln.fusion (%{{.*}} = %arg0)
// CHECK: tensor<5xf32>
// CHECK: %[[B:.*]] = kiln.fusion (%{{.*}} = %[[A]])
// CHECK-NEXT: kiln.broadcast {{.*}} -> tensor<2x5xf32>
// CHECK-NEXT: kiln.yield
func.func @repeated_twice(%x: tensor<1xf32>) -> (tensor<10xf32>, tensor<5xf32>) {
  %0 = kiln.broadcast %x [1] : tensor<1xf32> -> tensor<5x1xf32>
  %1 = kiln.reshape %0 : tensor<5x1xf32> -> tensor<5xf32>
  %2 = kiln.broadcast %1 [1] : tensor<5xf32> -> tensor<2x5xf32>
  %3 = kiln.reshape %2 : tensor<2x5xf32> -> tensor<10xf32>
  return %3, %1 : tensor<10xf32>, tensor<5xf32>
}

// An epilogue takes the operations that only it reads: a step of gradient descent with weight decay is one kernel. What
// others read too stays in memory, as the second weight.
// CHECK-LABEL: func.func @side_operands
// CHECK-NEXT: %[[D:.*]] = kiln.fusion
// CHECK-NEXT:   kiln.binary mul
// CHECK-NEXT:   kiln.yield
// CHECK-NEXT: }
// CHECK-NEXT: kiln.fusion {{.*}}%[[D]]{{.*}}kiln.missed_fusion = ["binary mul: its value has other users"]
// CHECK-NEXT:   kiln.binary mul
// CHECK-NEXT:   kiln.packed_dot
// CHECK-NEXT:   kiln.binary add
// CHECK-NEXT:   kiln.binary sub
// CHECK-NEXT:   kiln.binary add
// CHECK-NEXT:   kiln.yield
func.func @side_operands(%x: tensor<2x12xf32>, %b: tensor<1x12x16xf32>, %w: tensor<2x16xf32>, %rate: tensor<2x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
  %decayed = kiln.binary mul %w, %rate : tensor<2x16xf32>
  %shared = kiln.binary mul %w, %w : tensor<2x16xf32>
  %0 = kiln.packed_dot %x, %b : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
  %1 = kiln.binary add %0, %decayed : tensor<2x16xf32>
  %2 = kiln.binary sub %w, %1 : tensor<2x16xf32>
  %3 = kiln.binary add %2, %shared : tensor<2x16xf32>
  return %3, %shared : tensor<2x16xf32>, tensor<2x16xf32>
}

// A product on tensor cores reads views of both operands, and takes an epilogue.
// CHECK-LABEL: func.func @tensor_cores
// CHECK: kiln.fusion
// CHECK-NEXT: kiln.transpose
// CHECK-NEXT: kiln.dot {{.*}} by tensor_cores
// CHECK-NEXT: kiln.cast
// CHECK-NEXT: kiln.yield
// ALONE-LABEL: func.func @tensor_cores
func.func @tensor_cores(%x: tensor<16x20xf16>, %v: tensor<30x20xf16>) -> tensor<16x30xf16> {
  %0 = kiln.transpose %v [1, 0] : tensor<30x20xf16> -> tensor<20x30xf16>
  %1 = kiln.dot %x, %0 by tensor_cores : tensor<16x20xf16>, tensor<20x30xf16> -> tensor<16x30xf32>
  %2 = kiln.cast %1 : tensor<16x30xf32> -> tensor<16x30xf16>
  return %2 : tensor<16x30xf16>
}

// Sums over the same axes that read one array share a kernel, as in the gradient of a normalisation: with what computes
// their elements, and with an epilogue that reads both.
// CHECK-LABEL: func.func @siblings
// CHECK-NEXT: %[[F:.*]]:2 = kiln.fusion (%{{.*}} = %arg0, %{{.*}} = %arg1)
// CHECK-NEXT:   kiln.reduce sum
// CHECK-NEXT:   kiln.binary mul
// CHECK-NEXT:   kiln.reduce sum
// CHECK-NEXT:   kiln.binary div
// CHECK-NEXT:   kiln.yield
// CHECK-NEXT: }
// CHECK-NEXT: return %[[F]]#0, %[[F]]#1
// ALONE-LABEL: func.func @siblings
// ALONE-COUNT-4: kiln.fusion
func.func @siblings(%dy: tensor<8x100xf32>, %x: tensor<8x100xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = kiln.reduce sum %dy [1] : tensor<8x100xf32> -> tensor<8xf32>
  %1 = kiln.binary mul %dy, %x : tensor<8x100xf32>
  %2 = kiln.reduce sum %1 [1] : tensor<8x100xf32> -> tensor<8xf32>
  %3 = kiln.binary div %2, %0 : tensor<8xf32>
  return %0, %3 : tensor<8xf32>, tensor<8xf32>
}

// What two reductions alone read is computed in their kernel, once.
// CHECK-LABEL: func.func @siblings_of_one_value
// CHECK-NEXT: kiln.fusion
// CHECK-NEXT:   kiln.unary exp
// CHECK-NEXT:   kiln.reduce sum
// CHECK-NEXT:   kiln.reduce max
// CHECK-NEXT:   kiln.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @siblings_of_one_value(%x: tensor<8x100xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = kiln.unary exp %x : tensor<8x100xf32>
  %1 = kiln.reduce sum %0 [1] : tensor<8x100xf32> -> tensor<8xf32>
  %2 = kiln.reduce max %0 [1] : tensor<8x100xf32> -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// Not over different axes, nor if one needs the result of the other.
// CHECK-LABEL: func.func @no_siblings
// CHECK-COUNT-3: kiln.fusion
// CHECK: return
func.func @no_siblings(%x: tensor<100x100xf32>) -> (tensor<100xf32>, tensor<100xf32>, tensor<100xf32>) {
  %0 = kiln.reduce sum %x [1] : tensor<100x100xf32> -> tensor<100xf32>
  %1 = kiln.reduce sum %x [0] : tensor<100x100xf32> -> tensor<100xf32>
  %2 = kiln.broadcast %0 [0] : tensor<100xf32> -> tensor<100x100xf32>
  %3 = kiln.binary sub %x, %2 : tensor<100x100xf32>
  %4 = kiln.reduce sum %3 [1] : tensor<100x100xf32> -> tensor<100xf32>
  return %0, %1, %4 : tensor<100xf32>, tensor<100xf32>, tensor<100xf32>
}
