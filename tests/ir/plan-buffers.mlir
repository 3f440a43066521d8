// Where values live.
// RUN: kiln opt %s --kiln-plan-buffers | FileCheck %s

// One buffer for all: each kernel writes over what it reads, from the beginning in the caller's array.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: kiln.arena_bytes = 0 : i64, kiln.arena_lower_bound = 0 : i64
// CHECK-COUNT-3: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @in_place(%x: tensor<10xf32>) -> tensor<10xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  %1 = kiln.fusion (%a = %0) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  %2 = kiln.fusion (%a = %1) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  return %2 : tensor<10xf32>
}

// The same in the arena, where the end is no result.
// CHECK-LABEL: func.func @in_arena
// CHECK-SAME: kiln.arena_bytes = 64 : i64, kiln.arena_lower_bound = 64 : i64
// CHECK-COUNT-2: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @in_arena(%x: tensor<10xf32>) -> tensor<f32> {
  %0 = kiln.fusion (%a = %x) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  %1 = kiln.fusion (%a = %0) : (tensor<10xf32>) -> tensor<10xf32> {
    %3 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %3 : tensor<10xf32>
  }
  %2 = kiln.fusion (%a = %1) : (tensor<10xf32>) -> tensor<f32> {
    %3 = kiln.reduce sum %a [0] : tensor<10xf32> -> tensor<f32>
    kiln.yield %3 : tensor<f32>
  }
  return %2 : tensor<f32>
}

// Not where elements are read at other places than they are written.
// CHECK-LABEL: func.func @moved
// CHECK-SAME: kiln.arena_bytes = 64 : i64
// CHECK: kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.buffers = [#kiln.place<output 0>]
func.func @moved(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %3 = kiln.unary exp %a : tensor<4x4xf32>
    kiln.yield %3 : tensor<4x4xf32>
  }
  %1 = kiln.fusion (%a = %0) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %3 = kiln.transpose %a [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    %4 = kiln.binary add %3, %a : tensor<4x4xf32>
    kiln.yield %4 : tensor<4x4xf32>
  }
  %2 = kiln.fusion (%a = %1) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %3 = kiln.unary exp %a : tensor<4x4xf32>
    kiln.yield %3 : tensor<4x4xf32>
  }
  return %2 : tensor<4x4xf32>
}

// Behind a product too, but not what it multiplies.
// CHECK-LABEL: func.func @behind_product
// CHECK-SAME: kiln.arena_bytes = 1024 : i64
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena {{.*}}>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @behind_product(%x: tensor<16x16xf32>, %w: tensor<1x16x16xf32>) -> tensor<16x16xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    %3 = kiln.unary exp %a : tensor<16x16xf32>
    kiln.yield %3 : tensor<16x16xf32>
  }
  %1 = kiln.fusion (%a = %x) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    %3 = kiln.unary log %a : tensor<16x16xf32>
    kiln.yield %3 : tensor<16x16xf32>
  }
  %2 = kiln.fusion (%a = %0, %b = %1, %c = %w) : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32> {
    %3 = kiln.packed_dot %b, %c : tensor<16x16xf32>, tensor<1x16x16xf32> -> tensor<16x16xf32>
    %4 = kiln.binary add %3, %a : tensor<16x16xf32>
    kiln.yield %4 : tensor<16x16xf32>
  }
  return %2 : tensor<16x16xf32>
}

// Nor where the value is needed later, or the kernel reduces. The last reader takes the first's memory.
// CHECK-LABEL: func.func @needed
// CHECK-SAME: kiln.arena_bytes = 128 : i64, kiln.arena_lower_bound = 128 : i64
// CHECK: kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.buffers = [#kiln.place<arena 64>]
// CHECK: kiln.buffers = [#kiln.place<output 0>]
func.func @needed(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.unary exp %a : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  %1 = kiln.fusion (%a = %0) : (tensor<16xf32>) -> tensor<16xf32> {
    %3 = kiln.unary exp %a : tensor<16xf32>
    kiln.yield %3 : tensor<16xf32>
  }
  %2 = kiln.fusion (%a = %1) : (tensor<16xf32>) -> tensor<f32> {
    %3 = kiln.reduce sum %a [0] : tensor<16xf32> -> tensor<f32>
    kiln.yield %3 : tensor<f32>
  }
  %4 = kiln.fusion (%a = %0, %b = %1, %c = %2) : (tensor<16xf32>, tensor<16xf32>, tensor<f32>) -> tensor<16xf32> {
    %5 = kiln.binary add %a, %b : tensor<16xf32>
    %6 = kiln.broadcast %c [] : tensor<f32> -> tensor<16xf32>
    %7 = kiln.binary add %5, %6 : tensor<16xf32>
    kiln.yield %7 : tensor<16xf32>
  }
  return %4 : tensor<16xf32>
}

// A reshape is a name; through it the buffer lives on.
// CHECK-LABEL: func.func @alias
// CHECK-SAME: kiln.arena_bytes = 128 : i64
// CHECK: kiln.fusion {{.*}}#kiln.place<arena [[A:.*]]>]
// CHECK: kiln.reshape {{.*}}kiln.buffers = [#kiln.place<alias 0>]
// CHECK: kiln.fusion {{.*}}#kiln.place<arena [[B:.*]]>]
// CHECK: kiln.concatenate {{.*}}#kiln.place<output 0>]
func.func @alias(%x: tensor<4x4xf32>) -> tensor<32xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %3 = kiln.unary exp %a : tensor<4x4xf32>
    kiln.yield %3 : tensor<4x4xf32>
  }
  %1 = kiln.reshape %0 : tensor<4x4xf32> -> tensor<16xf32>
  %2 = kiln.fusion (%a = %x) : (tensor<4x4xf32>) -> tensor<16xf32> {
    %3 = kiln.reshape %a : tensor<4x4xf32> -> tensor<16xf32>
    %4 = kiln.unary log %3 : tensor<16xf32>
    kiln.yield %4 : tensor<16xf32>
  }
  %5 = kiln.concatenate %1, %2 axis 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  return %5 : tensor<32xf32>
}

// Each result of the call is written by one operation: arguments, constants and repetitions are copied.
// CHECK-LABEL: func.func @returned
// CHECK: %[[C:.*]] = kiln.constant {{.*}}kiln.buffers = [#kiln.place<constant 0>]
// CHECK: %[[E:.*]] = kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 1>]
// CHECK: %[[R:.*]] = kiln.reshape %[[E]] {kiln.buffers = [#kiln.place<alias 0>]}
// CHECK: %[[X:.*]] = kiln.fusion (%{{.*}} = %arg0) attributes {kiln.buffers = [#kiln.place<output 0>]}
// CHECK-NEXT: kiln.yield
// CHECK: %[[R2:.*]] = kiln.fusion (%{{.*}} = %[[R]]) attributes {kiln.buffers = [#kiln.place<output 2>]}
// CHECK: %[[C2:.*]] = kiln.fusion (%{{.*}} = %[[C]]) attributes {kiln.buffers = [#kiln.place<output 3>]}
// CHECK: return %[[X]], %[[E]], %[[R2]], %[[C2]]
func.func @returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>) {
  %c = kiln.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = kiln.fusion (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %3 = kiln.unary exp %a : tensor<4xf32>
    kiln.yield %3 : tensor<4xf32>
  }
  %1 = kiln.reshape %0 : tensor<4xf32> -> tensor<2x2xf32>
  return %x, %0, %1, %c : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>
}

// What replaces an input lives in the arena until the call ends; swapped inputs are copied before they are overwritten.
// CHECK-LABEL: func.func @writes
// CHECK-SAME: kiln.arena_bytes = 192 : i64
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
// CHECK: %[[W0:.*]] = kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena {{.*}}>]
// CHECK: %[[W1:.*]] = kiln.fusion (%{{.*}} = %arg0) {{.*}}kiln.buffers = [#kiln.place<arena {{.*}}>]
// CHECK: %[[W2:.*]] = kiln.fusion (%{{.*}} = %arg1) {{.*}}kiln.buffers = [#kiln.place<arena {{.*}}>]
// CHECK: return %{{.*}}, %[[W0]], %[[W1]], %[[W2]]
func.func @writes(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {kiln.writes = array<i64: 0, 1, 2>} {
  %0 = kiln.fusion (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %3 = kiln.unary exp %a : tensor<4xf32>
    kiln.yield %3 : tensor<4xf32>
  }
  return %0, %0, %x, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Prepacked constants are numbered, and take no memory of the call.
// CHECK-LABEL: func.func @prepacked
// CHECK: kiln.pack matrix %arg0 {{.*}}kiln.buffers = [#kiln.place<arena 0>]
// CHECK: kiln.pack matrix %arg1 {{.*}}kiln.buffers = [#kiln.place<prepacked 0>]
// CHECK: kiln.pack {{.*}}kiln.buffers = [#kiln.place<prepacked 1>]
func.func @prepacked(%x: tensor<20x16xf32>, %w: tensor<20x16xf32> {kiln.parameter}, %v: tensor<320xf32> {kiln.parameter}) -> tensor<2x20x16xf32> {
  %0 = kiln.pack matrix %x {groups = 1 : i64, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %1 = kiln.pack matrix %w {groups = 1 : i64, kiln.prepacked, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %2 = kiln.reshape %v : tensor<320xf32> -> tensor<20x16xf32>
  %3 = kiln.pack matrix %2 {groups = 1 : i64, kiln.prepacked, panel = 16 : i64} : tensor<20x16xf32> -> tensor<1x20x16xf32>
  %4 = kiln.concatenate %0, %3 axis 0 : (tensor<1x20x16xf32>, tensor<1x20x16xf32>) -> tensor<2x20x16xf32>
  return %4 : tensor<2x20x16xf32>
}

// The results of one prepacked kernel follow each other.
// CHECK-LABEL: func.func @prepacked_results
// CHECK-SAME: kiln.arena_lower_bound = 0 : i64
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<prepacked 0>, #kiln.place<prepacked 0 + 64>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<prepacked 1>]
// CHECK: kiln.concatenate {{.*}}kiln.buffers = [#kiln.place<prepacked 2>]
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @prepacked_results(%x: tensor<20xf32>, %g: tensor<10xf32> {kiln.parameter}, %b: tensor<10xf32> {kiln.parameter}) -> tensor<20xf32> {
  %0:2 = kiln.fusion (%a = %g, %c = %b) attributes {kiln.prepacked} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
    %8 = kiln.binary mul %a, %c : tensor<10xf32>
    %9 = kiln.unary neg %8 : tensor<10xf32>
    kiln.yield %8, %9 : tensor<10xf32>, tensor<10xf32>
  }
  %1 = kiln.fusion (%a = %0#1) attributes {kiln.prepacked} : (tensor<10xf32>) -> tensor<10xf32> {
    %8 = kiln.unary exp %a : tensor<10xf32>
    kiln.yield %8 : tensor<10xf32>
  }
  %2 = kiln.concatenate %0#0, %1 axis 0 {kiln.prepacked} : (tensor<10xf32>, tensor<10xf32>) -> tensor<20xf32>
  %3 = kiln.fusion (%a = %x, %c = %2) : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32> {
    %8 = kiln.binary add %a, %c : tensor<20xf32>
    kiln.yield %8 : tensor<20xf32>
  }
  return %3 : tensor<20xf32>
}

// The kernels of a row fusion are one step. Both results of the third end in it, and one of them takes what it reads.
// CHECK-LABEL: func.func @two_results_in_a_row_fusion
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena [[#SLOT:]]>]
// CHECK: kiln.fusion
// CHECK: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena [[#SLOT]]>, #kiln.place<arena [[#SLOT + 262144]]>]
// CHECK: kiln.buffers = [#kiln.place<output 0>]
// CHECK: kiln.buffers = [#kiln.place<output 1>]
func.func @two_results_in_a_row_fusion(%x: tensor<4096x4x4xf32>) -> (tensor<4096x4x4xf32>, tensor<4096x4x4xf32>) {
  %0 = kiln.fusion (%a = %x) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>) -> tensor<4096x4x4xf32> {
    %5 = kiln.unary exp %a : tensor<4096x4x4xf32>
    kiln.yield %5 : tensor<4096x4x4xf32>
  }
  %1 = kiln.fusion (%a = %0) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>) -> tensor<4096xf32> {
    %5 = kiln.reduce sum %a [1, 2] : tensor<4096x4x4xf32> -> tensor<4096xf32>
    kiln.yield %5 : tensor<4096xf32>
  }
  %2:2 = kiln.fusion (%a = %0, %b = %1) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>, tensor<4096xf32>) -> (tensor<4096x4x4xf32>, tensor<4096x4x4xf32>) {
    %5 = kiln.broadcast %b [0] : tensor<4096xf32> -> tensor<4096x4x4xf32>
    %6 = kiln.binary mul %a, %5 : tensor<4096x4x4xf32>
    %7 = kiln.unary tanh %6 : tensor<4096x4x4xf32>
    kiln.yield %6, %7 : tensor<4096x4x4xf32>, tensor<4096x4x4xf32>
  }
  %3 = kiln.fusion (%a = %2#0) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>) -> tensor<4096x4x4xf32> {
    %5 = kiln.transpose %a [0, 2, 1] : tensor<4096x4x4xf32> -> tensor<4096x4x4xf32>
    kiln.yield %5 : tensor<4096x4x4xf32>
  }
  %4 = kiln.fusion (%a = %2#1) attributes {kiln.row_fusion = array<i64: 0, 4096, 260>} : (tensor<4096x4x4xf32>) -> tensor<4096x4x4xf32> {
    %5 = kiln.transpose %a [0, 2, 1] : tensor<4096x4x4xf32> -> tensor<4096x4x4xf32>
    kiln.yield %5 : tensor<4096x4x4xf32>
  }
  return %3, %4 : tensor<4096x4x4xf32>, tensor<4096x4x4xf32>
}
