// Kernels that write into the middle of padded arrays.
// RUN: kiln opt %s --kiln-fuse --kiln-absorb-pads | FileCheck %s
// RUN: kiln opt %s --kiln-fuse --kiln-absorb-pads --kiln-strip-mine --kiln-plan-buffers | FileCheck %s --check-prefix=PLAN

// The padded array is the kernel's result; the operand it cannot overwrite.
// CHECK-LABEL: func.func @pointwise
// CHECK-NEXT: %[[R:.*]] = kiln.fusion (%{{.*}} = %arg0) : (tensor<4x6xf32>) -> tensor<7x6xf32>
// CHECK-NEXT: %[[E:.*]] = kiln.unary exp
// CHECK-NEXT: %[[P:.*]] = kiln.pad %[[E]] 0.000000e+00 : f32 [1, 0] [2, 0]
// CHECK-NEXT: kiln.yield %[[P]] : tensor<7x6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return %[[R]]
// PLAN-LABEL: func.func @pointwise
// PLAN: kiln.fusion {{.*}}kiln.buffers = ["output:0"]
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

// A row of a strip would not be a row of the padded array.
// PLAN-LABEL: func.func @strip
// PLAN-NOT: kiln.strip
// PLAN: return
func.func @strip(%x: tensor<1024x256xf32>) -> tensor<1025x256xf32> {
  %0 = kiln.reduce max %x [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %1 = kiln.broadcast %0 [0] : tensor<1024xf32> -> tensor<1024x256xf32>
  %2 = kiln.binary sub %x, %1 : tensor<1024x256xf32>
  %3 = kiln.pad %2 0.0 : f32 [1, 0] [0, 0] : tensor<1024x256xf32> -> tensor<1025x256xf32>
  return %3 : tensor<1025x256xf32>
}
