// Kernels that work row by row on each other's results.
// RUN: kiln opt %s --kiln-fuse --kiln-fuse-rows | FileCheck %s
// RUN: kiln opt %s --kiln-fuse --kiln-fuse-rows --kiln-plan-buffers | FileCheck %s --check-prefix=PLAN

// Four kernels, 1024 rows. A row is 2056 bytes: exp is computed in the memory of the result, which overwrites it. The
// second kernel prefetches the next rows of %x for the first, which adds 1024 bytes.
// CHECK-LABEL: func.func @softmax
// CHECK: kiln.fusion
// CHECK-NOT: next_rows
// CHECK-SAME: kiln.row_fusion = array<i64: 0, 1024, 3080>
// CHECK: kiln.fusion
// CHECK-SAME: kiln.next_rows = array<i64: 0, 1024>
// CHECK-SAME: kiln.row_fusion = array<i64: 0, 1024, 3080>
// CHECK-NOT: next_rows
// CHECK-COUNT-2: kiln.row_fusion = array<i64: 0, 1024, 3080>
// PLAN-LABEL: func.func @softmax
// PLAN: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena
// PLAN: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
// PLAN: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena
// PLAN: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<output 0>]
func.func @softmax(%x: tensor<1024x256xf32>) -> tensor<1024x256xf32> {
  %0 = kiln.reduce max %x [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %1 = kiln.broadcast %0 [0] : tensor<1024xf32> -> tensor<1024x256xf32>
  %2 = kiln.binary sub %x, %1 : tensor<1024x256xf32>
  %3 = kiln.unary exp %2 : tensor<1024x256xf32>
  %4 = kiln.reduce sum %3 [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %5 = kiln.broadcast %4 [0] : tensor<1024xf32> -> tensor<1024x256xf32>
  %6 = kiln.binary div %3, %5 : tensor<1024x256xf32>
  return %6 : tensor<1024x256xf32>
}

// Small: in the cache anyway.
// CHECK-LABEL: func.func @small
// CHECK-NOT: kiln.row_fusion
// CHECK: return
func.func @small(%x: tensor<16x256xf32>) -> tensor<16x256xf32> {
  %0 = kiln.reduce max %x [1] : tensor<16x256xf32> -> tensor<16xf32>
  %1 = kiln.broadcast %0 [0] : tensor<16xf32> -> tensor<16x256xf32>
  %2 = kiln.binary sub %x, %1 : tensor<16x256xf32>
  return %2 : tensor<16x256xf32>
}

// A row of the result reads other rows of the maxima.
// CHECK-LABEL: func.func @turned
// CHECK-NOT: kiln.row_fusion
// CHECK: return
func.func @turned(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = kiln.reduce max %x [1] : tensor<512x512xf32> -> tensor<512xf32>
  %1 = kiln.broadcast %0 [1] : tensor<512xf32> -> tensor<512x512xf32>
  %2 = kiln.binary sub %x, %1 : tensor<512x512xf32>
  return %2 : tensor<512x512xf32>
}

// Rows are what all results have in common: here batch and head.
// CHECK-LABEL: func.func @attention
// CHECK-COUNT-2: kiln.row_fusion = array<i64: 0, 24,
func.func @attention(%x: tensor<2x12x64x64xf32>) -> tensor<2x12x64x64xf32> {
  %0 = kiln.reduce max %x [2, 3] : tensor<2x12x64x64xf32> -> tensor<2x12xf32>
  %1 = kiln.broadcast %0 [0, 1] : tensor<2x12xf32> -> tensor<2x12x64x64xf32>
  %2 = kiln.binary sub %x, %1 : tensor<2x12x64x64xf32>
  return %2 : tensor<2x12x64x64xf32>
}

// The transpose reads all rows of %0, which the last kernel would overwrite: it does not.
// PLAN-LABEL: func.func @overwritten
// PLAN: kiln.fusion {{.*}}kiln.buffers = [#kiln.place<arena [[E:[0-9]+]]>]
// PLAN-NOT: kiln.buffers = [#kiln.place<arena [[E]]>]
// PLAN: return
func.func @overwritten(%x: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512x512xf32>) {
  %0 = kiln.unary exp %x : tensor<512x512xf32>
  %t = kiln.transpose %0 [1, 0] : tensor<512x512xf32> -> tensor<512x512xf32>
  %1 = kiln.binary sub %t, %x : tensor<512x512xf32>
  %2 = kiln.reduce max %1 [1] : tensor<512x512xf32> -> tensor<512xf32>
  %3 = kiln.broadcast %2 [0] : tensor<512xf32> -> tensor<512x512xf32>
  %4 = kiln.binary sub %0, %3 : tensor<512x512xf32>
  %5 = kiln.unary neg %4 : tensor<512x512xf32>
  return %2, %5 : tensor<512xf32>, tensor<512x512xf32>
}

// The rows of a sum over images are its channels. With the channels last they are columns of memory, which one kernel adds
// up for all channels at once.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: kiln.row_fusion
// CHECK: return
func.func @columns(%x: tensor<4x32x32x64xf32>, %s: tensor<64xf32>) -> tensor<64xf32> {
  %0 = kiln.transpose %x [3, 0, 1, 2] : tensor<4x32x32x64xf32> -> tensor<64x4x32x32xf32>
  %1 = kiln.reduce sum %0 [1, 2, 3] : tensor<64x4x32x32xf32> -> tensor<64xf32>
  %2 = kiln.reshape %1 : tensor<64xf32> -> tensor<64x1xf32>
  %3 = kiln.reduce sum %2 [1] : tensor<64x1xf32> -> tensor<64xf32>
  %4 = kiln.binary mul %3, %s : tensor<64xf32>
  return %4 : tensor<64xf32>
}

// The second kernel also reads one element of each row of the first that does not begin the row.
// CHECK-LABEL: func.func @element_of_row
// CHECK-COUNT-2: kiln.row_fusion = array<i64: 0, 1024,
func.func @element_of_row(%x: tensor<1024x256xf32>) -> (tensor<1024x256xf32>, tensor<1024xf32>) {
  %0 = kiln.unary exp %x : tensor<1024x256xf32>
  %1 = kiln.slice %0 [0, 100] to [1024, 101] by [1, 1] : tensor<1024x256xf32> -> tensor<1024x1xf32>
  %2 = kiln.broadcast %1 [0, 1] : tensor<1024x1xf32> -> tensor<1024x256xf32>
  %3 = kiln.binary sub %0, %2 : tensor<1024x256xf32>
  %4 = kiln.reduce sum %3 [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  return %0, %4 : tensor<1024x256xf32>, tensor<1024xf32>
}
