// Kernels that write into the middle of padded arrays.
// RUN: kiln opt %s --kiln-fuse --kiln-absorb-copies | FileCheck %s
// RUN: kiln opt %s --kiln-fuse --kiln-absorb-copies --kiln-fuse-rows --kiln-plan-buffers | FileCheck %s --check-prefix=PLAN

// The padded array is the kernel's result; the operand it cannot overwrite.
// CHECK-LABEL: func.func @pointwise
// CHECK-NEXT: %[[R:.*]] = kiln.fusion (%{{.*}} = %arg0) : (tensor<4x6xf32>) -> tensor<7x6xf32>
// CHECK-NEXT: %[[E:.*]] = kiln.unary exp
// CHECK-NEXT: %[[P:.*]] = kiln.pad %[[E]] 0.000000e+00 : f32 [1, 0] [2, 0]
// CHECK-NEXT: kiln.yield %[[P]] : tensor<7x6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return %[[R]]
// PLAN-LABEL: func.func @pointwise
// PLAN: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @pointwise(%x: tensor<4x6xf32>) -> tensor<7x6xf32> {
  %0 = kiln.unary exp %x : tensor<4x6xf32>
  %1 = kiln.pad %0 0.0 : f32 [1, 0] [2, 0] : tensor<4x6xf32> -> tensor<7x6xf32>
  return %1 : tensor<7x6xf32>
}

// Somebody else reads it as it is; and what no kernel makes is copied.
// CHECK-LABEL: func.func @kept
// CHECK: kiln.fusion {{.*}} -> tensor<4x6xf32>
// CHECK: kiln.pad %{{.*}} : tensor<4x6xf32> -> tensor<5x6xf32>
// CHECK: kiln.pad %arg0
func.func @kept(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<5x6xf32>, tensor<4x7xf32>) {
  %0 = kiln.unary exp %x : tensor<4x6xf32>
  %1 = kiln.pad %0 0.0 : f32 [1, 0] [0, 0] : tensor<4x6xf32> -> tensor<5x6xf32>
  %2 = kiln.pad %x 0.0 : f32 [0, 1] [0, 0] : tensor<4x6xf32> -> tensor<4x7xf32>
  return %0, %1, %2 : tensor<4x6xf32>, tensor<5x6xf32>, tensor<4x7xf32>
}

// One pad to a kernel's result; the second is a copy.
// CHECK-LABEL: func.func @twice
// CHECK: kiln.fusion {{.*}} -> tensor<6xf32>
// CHECK: kiln.pad %{{.*}} 1.000000e+00 : f32 [1] [1] : tensor<6xf32> -> tensor<8xf32>
func.func @twice(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = kiln.unary neg %x : tensor<4xf32>
  %1 = kiln.pad %0 0.0 : f32 [1] [1] : tensor<4xf32> -> tensor<6xf32>
  %2 = kiln.pad %1 1.0 : f32 [1] [1] : tensor<6xf32> -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// A row of a row fusion would not be a row of the padded array.
// PLAN-LABEL: func.func @row_fusion
// PLAN-NOT: kiln.row_fusion
// PLAN: return
func.func @row_fusion(%x: tensor<1024x256xf32>) -> tensor<1025x256xf32> {
  %0 = kiln.reduce max %x [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %1 = kiln.broadcast %0 [0] : tensor<1024xf32> -> tensor<1024x256xf32>
  %2 = kiln.binary sub %x, %1 : tensor<1024x256xf32>
  %3 = kiln.pad %2 0.0 : f32 [1, 0] [0, 0] : tensor<1024x256xf32> -> tensor<1025x256xf32>
  return %3 : tensor<1025x256xf32>
}

// Each kernel writes its part; the array passes from one to the next.
// CHECK-LABEL: func.func @concatenate
// CHECK-NEXT: %[[E:.*]] = kiln.empty : tensor<4x9xf32>
// CHECK-NEXT: %[[A:.*]] = kiln.fusion (%{{.*}} = %arg0, %[[W:.*]] = %[[E]]) : (tensor<4x6xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
// CHECK-NEXT: kiln.unary exp
// CHECK-NEXT: kiln.insert %{{.*}} into %[[W]] [0, 3] by [1, 1]
// CHECK: %[[B:.*]] = kiln.fusion (%{{.*}} = %arg1, %[[V:.*]] = %[[A]])
// CHECK: kiln.insert %{{.*}} into %[[V]] [0, 0] by [1, 1]
// CHECK: return %[[B]]
// PLAN-LABEL: func.func @concatenate
// PLAN: kiln.empty {kiln.buffers = [#kiln.place<output 0>]}
// PLAN: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<alias 1>]
// PLAN: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<alias 1>]
func.func @concatenate(%x: tensor<4x6xf32>, %y: tensor<4x3xf32>) -> tensor<4x9xf32> {
  %0 = kiln.unary exp %x : tensor<4x6xf32>
  %1 = kiln.unary neg %y : tensor<4x3xf32>
  %2 = kiln.concatenate %1, %0 axis 1 : (tensor<4x3xf32>, tensor<4x6xf32>) -> tensor<4x9xf32>
  return %2 : tensor<4x9xf32>
}

// Parts that others read, that are arguments, that come twice, or from a kernel that has one already are copied.
// CHECK-LABEL: func.func @copied_parts
// CHECK: kiln.empty : tensor<28xf32>
// CHECK-NEXT: kiln.fusion {{.*}} -> (tensor<28xf32>, tensor<4xf32>)
// CHECK-COUNT-5: kiln.insert %{{.*}} into
// CHECK-NOT: kiln.concatenate
// CHECK: return
func.func @copied_parts(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<28xf32>, tensor<4xf32>) {
  %0 = kiln.unary exp %x : tensor<4xf32>
  %1 = kiln.binary add %0, %y : tensor<4xf32>
  %2 = kiln.unary tanh %y : tensor<4xf32>
  %3 = kiln.concatenate %0, %1, %1, %x, %2, %2, %y axis 0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<28xf32>
  return %3, %2 : tensor<28xf32>, tensor<4xf32>
}

// Parts that alternate and leave nothing of the array: nobody fills it.
// CHECK-LABEL: func.func @phases
// CHECK-NEXT: %[[E:.*]] = kiln.empty : tensor<8xf32>
// CHECK-NEXT: %[[A:.*]] = kiln.fusion (%{{.*}} = %arg0, %[[W:.*]] = %[[E]])
// CHECK-NEXT: kiln.unary exp
// CHECK-NEXT: kiln.insert %{{.*}} into %[[W]] [1] by [2]
// CHECK: %[[B:.*]] = kiln.fusion (%{{.*}} = %arg1, %[[V:.*]] = %[[A]])
// CHECK: kiln.insert %{{.*}} into %[[V]] [0] by [2]
// CHECK: return %[[B]]
func.func @phases(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %z = kiln.constant dense<0.0> : tensor<8xf32>
  %0 = kiln.unary exp %x : tensor<4xf32>
  %1 = kiln.insert %0 into %z [1] by [2] : tensor<4xf32> into tensor<8xf32>
  %2 = kiln.unary tanh %y : tensor<4xf32>
  %3 = kiln.insert %2 into %1 [0] by [2] : tensor<4xf32> into tensor<8xf32>
  return %3 : tensor<8xf32>
}

// One that leaves some: the array is filled before. Its other phase is no kernel's, and copied.
// CHECK-LABEL: func.func @filled
// CHECK-NEXT: %[[F:.*]] = kiln.fusion () : () -> tensor<12xf32>
// CHECK: %[[A:.*]] = kiln.fusion (%{{.*}} = %arg0, %{{.*}} = %[[F]])
// CHECK: kiln.insert %{{.*}} into %{{.*}} [1] by [3]
// CHECK: %[[B:.*]] = kiln.fusion (%{{.*}} = %arg1, %{{.*}} = %[[A]])
// CHECK-NEXT: kiln.insert %{{.*}} into %{{.*}} [0] by [3]
// CHECK: return %[[B]]
func.func @filled(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<12xf32> {
  %z = kiln.constant dense<1.0> : tensor<12xf32>
  %0 = kiln.insert %y into %z [0] by [3] : tensor<4xf32> into tensor<12xf32>
  %1 = kiln.unary exp %x : tensor<4xf32>
  %2 = kiln.insert %1 into %0 [1] by [3] : tensor<4xf32> into tensor<12xf32>
  return %2 : tensor<12xf32>
}

// The order of insertions that overlap counts, and an argument's contents stay in the array.
// CHECK-LABEL: func.func @overlapping
// CHECK-COUNT-2: {{^}}  %{{.*}} = kiln.insert
func.func @overlapping(%x: tensor<4xf32>) -> tensor<8xf32> {
  %z = kiln.constant dense<0.0> : tensor<8xf32>
  %0 = kiln.unary exp %x : tensor<4xf32>
  %1 = kiln.insert %0 into %z [1] by [2] : tensor<4xf32> into tensor<8xf32>
  %2 = kiln.unary tanh %x : tensor<4xf32>
  %3 = kiln.insert %2 into %1 [2] by [1] : tensor<4xf32> into tensor<8xf32>
  return %3 : tensor<8xf32>
}
// CHECK-LABEL: func.func @into_argument
// CHECK: {{^}}  %{{.*}} = kiln.insert
func.func @into_argument(%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = kiln.unary exp %x : tensor<4xf32>
  %1 = kiln.insert %0 into %y [1] by [2] : tensor<4xf32> into tensor<8xf32>
  return %1 : tensor<8xf32>
}
