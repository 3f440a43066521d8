// Right operands of products in panels.
// RUN: kiln opt %s --kiln-layout | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: kiln opt %s --target-lanes=8 --kiln-layout | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: kiln opt %s --target-lanes=1 --kiln-layout | FileCheck %s --check-prefixes=CHECK,SCALAR

// CHECK-LABEL: func.func @dense
// WIDE-NEXT: %[[P:.*]] = kiln.pack transposed %arg1 {groups = 1 : i64, panel = 32 : i64} : tensor<84x120xf32> -> tensor<3x120x32xf32>
// AVX2-NEXT: %[[P:.*]] = kiln.pack transposed %arg1 {groups = 1 : i64, panel = 24 : i64} : tensor<84x120xf32> -> tensor<4x120x24xf32>
// SCALAR-NEXT: %[[P:.*]] = kiln.pack transposed %arg1 {groups = 1 : i64, panel = 4 : i64} : tensor<84x120xf32> -> tensor<21x120x4xf32>
// CHECK-NEXT: kiln.packed_dot %arg0, %[[P]]
func.func @dense(%x: tensor<16x120xf32>, %w: tensor<84x120xf32>) -> tensor<16x84xf32> {
  %0 = kiln.dot %x, %w {transpose_rhs} : tensor<16x120xf32>, tensor<84x120xf32> -> tensor<16x84xf32>
  return %0 : tensor<16x84xf32>
}

// A register of f64 has half the lanes.
// CHECK-LABEL: func.func @batch_f64
// WIDE: kiln.pack matrix %arg1 {groups = 1 : i64, panel = 24 : i64} : tensor<3x5x20xf64> -> tensor<3x1x5x24xf64>
// CHECK: kiln.packed_dot %arg0, %{{.*}} {transpose_lhs} : tensor<3x5x4xf64>
func.func @batch_f64(%x: tensor<3x5x4xf64>, %w: tensor<3x5x20xf64>) -> tensor<3x4x20xf64> {
  %0 = kiln.dot %x, %w {transpose_lhs} : tensor<3x5x4xf64>, tensor<3x5x20xf64> -> tensor<3x4x20xf64>
  return %0 : tensor<3x4x20xf64>
}

// CHECK-LABEL: func.func @transposes
// CHECK-NEXT: kiln.pack transposed %arg1
// CHECK-NEXT: kiln.packed_dot %arg0, %{{.*}} {transpose_lhs}
func.func @transposes(%x: tensor<120x16xf32>, %w: tensor<84x120xf32>) -> tensor<16x84xf32> {
  %xt = kiln.transpose %x [1, 0] : tensor<120x16xf32> -> tensor<16x120xf32>
  %wt = kiln.transpose %w [1, 0] : tensor<84x120xf32> -> tensor<120x84xf32>
  %0 = kiln.dot %xt, %wt : tensor<16x120xf32>, tensor<120x84xf32> -> tensor<16x84xf32>
  return %0 : tensor<16x84xf32>
}

// A parameter in half precision stays so in panels, which the product widens; scalar code packs it in f32.
// Other values are widened first.
// CHECK-LABEL: func.func @half_precision
// WIDE: %[[P:.*]] = kiln.pack transposed %arg1 {{.*}} -> tensor<3x120x32xbf16>
// WIDE-NEXT: kiln.packed_dot %{{.*}}, %[[P]] : tensor<16x120xf32>, tensor<3x120x32xbf16> -> tensor<16x84xf32>
// SCALAR: %[[W:.*]] = kiln.cast %arg1 : tensor<84x120xbf16> -> tensor<84x120xf32>
// SCALAR: kiln.pack transposed %[[W]]
// CHECK: %[[V:.*]] = kiln.cast %arg2 : tensor<84x120xbf16> -> tensor<84x120xf32>
// CHECK: kiln.pack transposed %[[V]]
func.func @half_precision(%x: tensor<16x120xbf16>, %w: tensor<84x120xbf16> {kiln.parameter}, %v: tensor<84x120xbf16>) -> (tensor<16x84xf32>, tensor<16x84xf32>) {
  %0 = kiln.cast %x : tensor<16x120xbf16> -> tensor<16x120xf32>
  %1 = kiln.cast %w : tensor<84x120xbf16> -> tensor<84x120xf32>
  %2 = kiln.dot %0, %1 {transpose_rhs} : tensor<16x120xf32>, tensor<84x120xf32> -> tensor<16x84xf32>
  %3 = kiln.cast %v : tensor<84x120xbf16> -> tensor<84x120xf32>
  %4 = kiln.dot %0, %3 {transpose_rhs} : tensor<16x120xf32>, tensor<84x120xf32> -> tensor<16x84xf32>
  return %2, %4 : tensor<16x84xf32>, tensor<16x84xf32>
}

// A parameter that Precision::bf16 rounds is packed in bfloat16, too.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[R:.*]] = kiln.cast %arg1 : tensor<84x120xf32> -> tensor<84x120xbf16>
// WIDE: %[[P:.*]] = kiln.pack transposed %[[R]] {{.*}} -> tensor<3x120x32xbf16>
// WIDE: kiln.packed_dot %{{.*}}, %[[P]] : tensor<16x120xf32>, tensor<3x120x32xbf16> -> tensor<16x84xf32>
// SCALAR: %[[W:.*]] = kiln.cast %[[R]] : tensor<84x120xbf16> -> tensor<84x120xf32>
// SCALAR: kiln.pack transposed %[[W]]
// CHECK: kiln.cast %arg2 : tensor<84x120xf32> -> tensor<84x120xbf16>
// CHECK: %[[V:.*]] = kiln.cast %{{.*}} : tensor<84x120xbf16> -> tensor<84x120xf32>
// CHECK: kiln.pack transposed %[[V]]
func.func @rounded(%x: tensor<16x120xf32>, %w: tensor<84x120xf32> {kiln.parameter}, %v: tensor<84x120xf32>) -> (tensor<16x84xf32>, tensor<16x84xf32>) {
  %0 = kiln.cast %w : tensor<84x120xf32> -> tensor<84x120xbf16>
  %1 = kiln.cast %0 : tensor<84x120xbf16> -> tensor<84x120xf32>
  %2 = kiln.dot %x, %1 {transpose_rhs} : tensor<16x120xf32>, tensor<84x120xf32> -> tensor<16x84xf32>
  %3 = kiln.cast %v : tensor<84x120xf32> -> tensor<84x120xbf16>
  %4 = kiln.cast %3 : tensor<84x120xbf16> -> tensor<84x120xf32>
  %5 = kiln.dot %x, %4 {transpose_rhs} : tensor<16x120xf32>, tensor<84x120xf32> -> tensor<16x84xf32>
  return %2, %5 : tensor<16x84xf32>, tensor<16x84xf32>
}

// Few columns: a half, and a quarter of a register.
// CHECK-LABEL: func.func @few_columns
// WIDE-NEXT: kiln.pack transposed %arg1 {{.*}} -> tensor<1x120x16xf32>
// WIDE: kiln.pack transposed %arg2 {{.*}} -> tensor<1x120x8xf32>
// WIDE: kiln.pack transposed %arg3 {{.*}} -> tensor<1x120x4xf32>
// AVX2-NEXT: kiln.pack transposed %arg1 {{.*}} -> tensor<1x120x16xf32>
// AVX2: kiln.pack transposed %arg2 {{.*}} -> tensor<1x120x8xf32>
// AVX2: kiln.pack transposed %arg3 {{.*}} -> tensor<1x120x4xf32>
// SCALAR: kiln.pack transposed %arg3 {{.*}} -> tensor<1x120x2xf32>
func.func @few_columns(%x: tensor<16x120xf32>, %u: tensor<9x120xf32>, %v: tensor<8x120xf32>, %w: tensor<2x120xf32>) -> (tensor<16x9xf32>, tensor<16x8xf32>, tensor<16x2xf32>) {
  %0 = kiln.dot %x, %u {transpose_rhs} : tensor<16x120xf32>, tensor<9x120xf32> -> tensor<16x9xf32>
  %1 = kiln.dot %x, %v {transpose_rhs} : tensor<16x120xf32>, tensor<8x120xf32> -> tensor<16x8xf32>
  %2 = kiln.dot %x, %w {transpose_rhs} : tensor<16x120xf32>, tensor<2x120xf32> -> tensor<16x2xf32>
  return %0, %1, %2 : tensor<16x9xf32>, tensor<16x8xf32>, tensor<16x2xf32>
}

// Gradients of weights: channels last in both operands, and in the result the output channels last, the input
// channels outermost if they are many.
// CHECK-LABEL: func.func @weights
// CHECK-NEXT: %[[X:.*]] = kiln.transpose %arg0 [0, 2, 3, 1]
// CHECK-NEXT: %[[G:.*]] = kiln.transpose %arg1 [0, 2, 3, 1]
// WIDE-NEXT: %[[W:.*]] = kiln.weights_product %[[X]], %[[G]] {dilate = array<i64: 1, 1>, panel = 32 : i64, stride = array<i64: 2, 1>} : tensor<1x9x9x32xf32>, tensor<1x3x5x20xf32> -> tensor<32x5x5x20xf32>
// SCALAR-NEXT: %[[W:.*]] = kiln.weights_product {{.*}}panel = 4 : i64
// CHECK: kiln.transpose %{{.*}} [3, 0, 1, 2] : tensor<32x5x5x20xf32> -> tensor<20x32x5x5xf32>
// CHECK: kiln.weights_product {{.*}}taps_first} : tensor<1x9x9x4xf32>, tensor<1x3x5x20xf32> -> tensor<5x5x4x20xf32>
// CHECK: kiln.transpose %{{.*}} [3, 2, 0, 1] : tensor<5x5x4x20xf32> -> tensor<20x4x5x5xf32>
func.func @weights(%x: tensor<1x32x9x9xf32>, %g: tensor<1x20x3x5xf32>, %few: tensor<1x4x9x9xf32>) -> (tensor<20x32x5x5xf32>, tensor<20x4x5x5xf32>) {
  %0 = kiln.convolution_weights %x, %g {dilate = array<i64: 1, 1>, kernel = array<i64: 5, 5>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 2, 1>} : tensor<1x32x9x9xf32>, tensor<1x20x3x5xf32> -> tensor<20x32x5x5xf32>
  %1 = kiln.convolution_weights %few, %g {dilate = array<i64: 1, 1>, kernel = array<i64: 5, 5>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 2, 1>} : tensor<1x4x9x9xf32>, tensor<1x20x3x5xf32> -> tensor<20x4x5x5xf32>
  return %0, %1 : tensor<20x32x5x5xf32>, tensor<20x4x5x5xf32>
}

// Where both operands have the same places, the one with more channels gives the rows.
// CHECK-LABEL: func.func @weights_of_one_tap
// CHECK-DAG: %[[X:.*]] = kiln.transpose %arg0 [0, 2, 3, 1]
// CHECK-DAG: %[[G:.*]] = kiln.transpose %arg1 [0, 2, 3, 1]
// CHECK: kiln.weights_product %[[G]], %[[X]] {{.*}} : tensor<1x3x5x20xf32>, tensor<1x3x5x12xf32> -> tensor<20x1x1x12xf32>
// CHECK-NEXT: kiln.transpose %{{.*}} [0, 3, 1, 2] : tensor<20x1x1x12xf32> -> tensor<20x12x1x1xf32>
func.func @weights_of_one_tap(%x: tensor<1x12x3x5xf32>, %g: tensor<1x20x3x5xf32>) -> tensor<20x12x1x1xf32> {
  %0 = kiln.convolution_weights %x, %g {dilate = array<i64: 1, 1>, kernel = array<i64: 1, 1>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x12x3x5xf32>, tensor<1x20x3x5xf32> -> tensor<20x12x1x1xf32>
  return %0 : tensor<20x12x1x1xf32>
}

// Channels last, between two transposes.
// CHECK-LABEL: func.func @convolution
// CHECK-NEXT: %[[X:.*]] = kiln.transpose %arg0 [0, 2, 3, 1]
// WIDE-NEXT: %[[W:.*]] = kiln.pack convolution %arg1 {groups = 2 : i64, panel = 16 : i64} : tensor<20x2x5x5xf32> -> tensor<2x1x50x16xf32>
// CHECK: %[[Y:.*]] = kiln.packed_convolution %[[X]], %{{.*}} {dilate = array<i64: 1, 1>, groups = 2 : i64, kernel = array<i64: 5, 5>, stride = array<i64: 1, 2>} : tensor<1x9x9x4xf32>, {{.*}} -> tensor<1x5x3x20xf32>
// CHECK-NEXT: kiln.transpose %[[Y]] [0, 3, 1, 2]
func.func @convolution(%x: tensor<1x4x9x9xf32>, %w: tensor<20x2x5x5xf32>) -> tensor<1x20x5x3xf32> {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 2>} : tensor<1x4x9x9xf32>, tensor<20x2x5x5xf32> -> tensor<1x20x5x3xf32>
  return %0 : tensor<1x20x5x3xf32>
}

// Groups of few channels along the lines: a panel for each.
// CHECK-LABEL: func.func @groups
// WIDE-NEXT: %[[W:.*]] = kiln.pack convolution %arg1 {groups = 2 : i64, panel = 4 : i64} : tensor<6x3x3x3xf32> -> tensor<2x1x27x4xf32>
// AVX2-NEXT: %[[W:.*]] = kiln.pack convolution %arg1 {groups = 2 : i64, panel = 4 : i64}
// WIDE-NEXT: kiln.packed_convolution %arg0, %[[W]] {channels_first, {{.*}}groups = 2
// AVX2-NEXT: kiln.packed_convolution %arg0, %[[W]] {channels_first, {{.*}}groups = 2
// SCALAR-NEXT: kiln.transpose %arg0
func.func @groups(%x: tensor<1x6x9x20xf32>, %w: tensor<6x3x3x3xf32>) -> tensor<1x6x7x18xf32> {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x6x9x20xf32>, tensor<6x3x3x3xf32> -> tensor<1x6x7x18xf32>
  return %0 : tensor<1x6x7x18xf32>
}

// At stride 2 each line is taken apart, after its padding made it even: results of a line then read neighbours.
// CHECK-LABEL: func.func @phases
// WIDE: %[[X:.*]] = kiln.pad %arg0 {{.*}} [0, 0, 0, 1] [0, 0, 0, 2] {{.*}} -> tensor<2x3x9x68xf32>
// WIDE-NEXT: %[[PAIRS:.*]] = kiln.reshape %[[X]] {{.*}} -> tensor<2x3x9x34x2xf32>
// WIDE-NEXT: %[[PHASES:.*]] = kiln.transpose %[[PAIRS]] [0, 1, 2, 4, 3]
// WIDE-NEXT: kiln.packed_convolution %[[PHASES]], %{{.*}} {channels_first, {{.*}} : tensor<2x3x9x2x34xf32>, tensor<1x1x45x8xf32> -> tensor<2x7x7x32xf32>
// SCALAR-NOT: channels_first
func.func @phases(%x: tensor<2x3x9x65xf32>, %w: tensor<7x3x3x5xf32>) -> tensor<2x7x7x32xf32> {
  %0 = kiln.pad %x 0.000000e+00 : f32 [0, 0, 0, 1] [0, 0, 0, 1] : tensor<2x3x9x65xf32> -> tensor<2x3x9x67xf32>
  %1 = kiln.convolution %0, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 2>} : tensor<2x3x9x67xf32>, tensor<7x3x3x5xf32> -> tensor<2x7x7x32xf32>
  return %1 : tensor<2x7x7x32xf32>
}

// A window narrower than the stride would read a part of the points.
// CHECK-LABEL: func.func @narrower_than_stride
// CHECK-NOT: channels_first
func.func @narrower_than_stride(%x: tensor<2x3x9x64xf32>, %w: tensor<7x3x1x1xf32>) -> tensor<2x7x9x32xf32> {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 2>} : tensor<2x3x9x64xf32>, tensor<7x3x1x1xf32> -> tensor<2x7x9x32xf32>
  return %0 : tensor<2x7x9x32xf32>
}

// Few channels of what comes as it is: along the lines, if those fill registers better.
// CHECK-LABEL: func.func @along_lines
// WIDE: kiln.packed_convolution %arg0, %{{.*}} {channels_first, {{.*}} : tensor<2x4x9x36xf32>, tensor<1x1x36x8xf32> -> tensor<2x7x7x34xf32>
// AVX2: kiln.packed_convolution %{{.*}} : tensor<2x9x36x4xf32>, tensor<1x1x36x8xf32> -> tensor<2x7x34x7xf32>
// SCALAR: kiln.packed_convolution %{{.*}} -> tensor<2x7x34x7xf32>
// WIDE: kiln.packed_convolution %{{.*}} : tensor<2x7x34x7xf32>
// AVX2: kiln.packed_convolution %{{.*}} : tensor<2x7x34x7xf32>
func.func @along_lines(%x: tensor<2x4x9x36xf32>, %w: tensor<7x4x3x3xf32>, %v: tensor<3x7x1x1xf32>) -> tensor<2x3x7x34xf32> {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x4x9x36xf32>, tensor<7x4x3x3xf32> -> tensor<2x7x7x34xf32>
  %1 = kiln.unary exp %0 : tensor<2x7x7x34xf32>
  %2 = kiln.convolution %1, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x7x7x34xf32>, tensor<3x7x1x1xf32> -> tensor<2x3x7x34xf32>
  return %2 : tensor<2x3x7x34xf32>
}

// The same after elementwise operations, and between convolutions, where several taps use what is transposed.
// CHECK-LABEL: func.func @few_channels_along_lines
// WIDE: kiln.packed_convolution %{{.*}} {channels_first, {{.*}} : tensor<2x4x9x36xf32>, tensor<1x1x36x8xf32> -> tensor<2x7x7x34xf32>
// WIDE: kiln.packed_convolution %{{.*}} {channels_first, {{.*}} -> tensor<2x3x5x32xf32>
// WIDE: kiln.packed_convolution %{{.*}} -> tensor<2x5x32x3xf32>
// SCALAR-NOT: channels_first
func.func @few_channels_along_lines(%x: tensor<2x4x9x36xf32>, %w: tensor<7x4x3x3xf32>, %v: tensor<3x7x3x3xf32>, %u: tensor<3x3x1x1xf32>) -> tensor<2x3x5x32xf32> {
  %0 = kiln.unary exp %x : tensor<2x4x9x36xf32>
  %1 = kiln.convolution %0, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x4x9x36xf32>, tensor<7x4x3x3xf32> -> tensor<2x7x7x34xf32>
  %2 = kiln.convolution %1, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x7x7x34xf32>, tensor<3x7x3x3xf32> -> tensor<2x3x5x32xf32>
  %3 = kiln.convolution %2, %u {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x3x5x32xf32>, tensor<3x3x1x1xf32> -> tensor<2x3x5x32xf32>
  return %3 : tensor<2x3x5x32xf32>
}

// One kernel for each channel: they are packed side by side.
// CHECK-LABEL: func.func @depthwise
// CHECK: %[[X:.*]] = kiln.transpose %{{.*}} [0, 2, 1]
// WIDE-NEXT: kiln.pack convolution %arg1 {groups = 1 : i64, panel = 32 : i64} : tensor<24x1x3xf32> -> tensor<1x1x3x32xf32>
// CHECK: kiln.packed_convolution %[[X]]{{.*}}groups = 24
// CHECK-NEXT: kiln.transpose %{{.*}} [0, 2, 1]
func.func @depthwise(%x: tensor<1x24x9xf32>, %w: tensor<24x1x3xf32>) -> tensor<1x24x7xf32> {
  %0 = kiln.reverse %x [2] : tensor<1x24x9xf32>
  %1 = kiln.convolution %0, %w {dilate = array<i64: 1>, groups = 24 : i64, pad_high = array<i64: 0>, pad_low = array<i64: 0>, stride = array<i64: 1>} : tensor<1x24x9xf32>, tensor<24x1x3xf32> -> tensor<1x24x7xf32>
  return %1 : tensor<1x24x7xf32>
}

// From an argument to results they stay channels first, with elementwise operations on both sides, and the
// kernel pads.
// CHECK-LABEL: func.func @depthwise_alone
// CHECK-NEXT: %[[X:.*]] = kiln.binary mul
// WIDE-NEXT: %[[Y:.*]] = kiln.depthwise %[[X]], %arg1 {dilate = array<i64: 1, 2>, pad_low = array<i64: 1, 0>, stride = array<i64: 2, 1>} : tensor<2x24x9x9xf32>, tensor<24x1x3x3xf32> -> tensor<2x24x5x8xf32>
// AVX2-NEXT: %[[Y:.*]] = kiln.depthwise %[[X]], %arg1
// SCALAR: kiln.packed_convolution
// SCALAR: %[[Y:.*]] = kiln.transpose
// CHECK-NEXT: kiln.unary tanh %[[Y]]
func.func @depthwise_alone(%x: tensor<2x24x9x9xf32>, %w: tensor<24x1x3x3xf32>) -> tensor<2x24x5x8xf32> {
  %s = kiln.binary mul %x, %x : tensor<2x24x9x9xf32>
  %0 = kiln.pad %s 0.0 : f32 [0, 0, 1, 0] [0, 0, 1, 3] : tensor<2x24x9x9xf32> -> tensor<2x24x11x12xf32>
  %1 = kiln.convolution %0, %w {dilate = array<i64: 1, 2>, groups = 24 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 2, 1>} : tensor<2x24x11x12xf32>, tensor<24x1x3x3xf32> -> tensor<2x24x5x8xf32>
  %2 = kiln.unary tanh %1 : tensor<2x24x5x8xf32>
  return %2 : tensor<2x24x5x8xf32>
}

// But not before another convolution, with a padding by other numbers, a step of many columns, or many taps.
// CHECK-LABEL: func.func @depthwise_turns
// CHECK-NOT: kiln.depthwise
// CHECK: return
func.func @depthwise_turns(%x: tensor<2x24x9x9xf32>, %w: tensor<24x1x3x3xf32>, %v: tensor<20x24x1x1xf32>, %long: tensor<24x1x1x65xf32>, %line: tensor<2x24x1x90xf32>) -> (tensor<2x20x7x7xf32>, tensor<2x24x7x8xf32>, tensor<2x24x7x2xf32>, tensor<2x24x1x26xf32>) {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 24 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x24x9x9xf32>, tensor<24x1x3x3xf32> -> tensor<2x24x7x7xf32>
  %1 = kiln.convolution %0, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x24x7x7xf32>, tensor<20x24x1x1xf32> -> tensor<2x20x7x7xf32>
  %2 = kiln.pad %x 1.0 : f32 [0, 0, 0, 0] [0, 0, 0, 1] : tensor<2x24x9x9xf32> -> tensor<2x24x9x10xf32>
  %3 = kiln.convolution %2, %w {dilate = array<i64: 1, 1>, groups = 24 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x24x9x10xf32>, tensor<24x1x3x3xf32> -> tensor<2x24x7x8xf32>
  %4 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 24 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 5>} : tensor<2x24x9x9xf32>, tensor<24x1x3x3xf32> -> tensor<2x24x7x2xf32>
  %5 = kiln.convolution %line, %long {dilate = array<i64: 1, 1>, groups = 24 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x24x1x90xf32>, tensor<24x1x1x65xf32> -> tensor<2x24x1x26xf32>
  return %1, %3, %4, %5 : tensor<2x20x7x7xf32>, tensor<2x24x7x8xf32>, tensor<2x24x7x2xf32>, tensor<2x24x1x26xf32>
}

// Kernels of 3x3 at stride 1 are transformed; the padding stays with the operation.
// CHECK-LABEL: func.func @winograd
// CHECK-NEXT: %[[X:.*]] = kiln.transpose %arg0 [0, 2, 3, 1]
// WIDE-NEXT: %[[W:.*]] = kiln.pack winograd %arg1 {groups = 1 : i64, panel = 32 : i64} : tensor<24x16x3x3xf32> -> tensor<1x16x16x32xf32>
// WIDE-NEXT: %[[Y:.*]] = kiln.winograd %[[X]], %[[W]] {pad_low = array<i64: 1, 0>} : tensor<1x9x9x16xf32>, tensor<1x16x16x32xf32> -> tensor<1x9x8x24xf32>
// WIDE-NEXT: kiln.transpose %[[Y]] [0, 3, 1, 2]
func.func @winograd(%x: tensor<1x16x9x9xf32>, %w: tensor<24x16x3x3xf32>) -> tensor<1x24x9x8xf32> {
  %0 = kiln.convolution %x, %w by winograd {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, stride = array<i64: 1, 1>} : tensor<1x16x9x9xf32>, tensor<24x16x3x3xf32> -> tensor<1x24x9x8xf32>
  return %0 : tensor<1x24x9x8xf32>
}

// Too few channels for the transforms to pay, another type, a step of two, another kernel.
// CHECK-LABEL: func.func @direct
// CHECK-COUNT-4: kiln.packed_convolution
func.func @direct(%x: tensor<1x15x10x10xf32>, %w: tensor<24x15x3x3xf32>, %h: tensor<1x16x10x10xf16>, %v: tensor<24x16x3x3xf16>, %y: tensor<1x16x17x17xf32>, %u: tensor<16x16x3x3xf32>, %t: tensor<16x16x3x2xf32>) -> (tensor<1x24x8x8xf32>, tensor<1x24x8x8xf16>, tensor<1x16x8x8xf32>, tensor<1x16x15x16xf32>) {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x15x10x10xf32>, tensor<24x15x3x3xf32> -> tensor<1x24x8x8xf32>
  %1 = kiln.convolution %h, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x16x10x10xf16>, tensor<24x16x3x3xf16> -> tensor<1x24x8x8xf16>
  %2 = kiln.convolution %y, %u {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 2, 2>} : tensor<1x16x17x17xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x8x8xf32>
  %3 = kiln.convolution %y, %t {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x16x17x17xf32>, tensor<16x16x3x2xf32> -> tensor<1x16x15x16xf32>
  return %0, %1, %2, %3 : tensor<1x24x8x8xf32>, tensor<1x24x8x8xf16>, tensor<1x16x8x8xf32>, tensor<1x16x15x16xf32>
}

// The copy that pads an argument has the channels last, if they fill a vector and taps share points.
// CHECK-LABEL: func.func @padded
// WIDE-NEXT: %[[FIRST:.*]] = kiln.pad %arg0
// WIDE-NEXT: %[[X:.*]] = kiln.transpose %arg0 [0, 2, 3, 1]
// WIDE-NEXT: %[[P:.*]] = kiln.pad %[[X]] {{.*}} [0, 1, 0, 0] [0, 1, 1, 0] : tensor<1x9x9x16xf32> -> tensor<1x11x10x16xf32>
// WIDE-NEXT: %[[S:.*]] = kiln.slice %[[P]] [0, 1, 0, 0] to [1, 11, 10, 16] by [1, 1, 1, 1]
// WIDE-NEXT: kiln.pack
// WIDE-NEXT: kiln.packed_convolution %[[S]]
// WIDE: %[[STRIDED:.*]] = kiln.transpose %[[FIRST]] [0, 2, 3, 1]
// WIDE: kiln.packed_convolution %[[STRIDED]]
// WIDE: %[[FEW:.*]] = kiln.pad %arg1
// WIDE-NEXT: kiln.transpose %[[FEW]] [0, 2, 3, 1]
// SCALAR-NOT: kiln.transpose %arg0
func.func @padded(%x: tensor<1x16x9x9xf32>, %y: tensor<1x5x9x9xf32>, %w: tensor<24x16x3x2xf32>, %v: tensor<24x5x3x2xf32>) -> (tensor<1x24x8x9xf32>, tensor<1x24x5x9xf32>, tensor<1x24x9x9xf32>) {
  %p = kiln.pad %x 0.000000e+00 : f32 [0, 0, 1, 0] [0, 0, 1, 1] : tensor<1x16x9x9xf32> -> tensor<1x16x11x10xf32>
  %s = kiln.slice %p [0, 0, 1, 0] to [1, 16, 11, 10] by [1, 1, 1, 1] : tensor<1x16x11x10xf32> -> tensor<1x16x10x10xf32>
  %0 = kiln.convolution %s, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x16x10x10xf32>, tensor<24x16x3x2xf32> -> tensor<1x24x8x9xf32>
  %1 = kiln.convolution %p, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 2, 1>} : tensor<1x16x11x10xf32>, tensor<24x16x3x2xf32> -> tensor<1x24x5x9xf32>
  %q = kiln.pad %y 0.000000e+00 : f32 [0, 0, 1, 0] [0, 0, 1, 1] : tensor<1x5x9x9xf32> -> tensor<1x5x11x10xf32>
  %2 = kiln.convolution %q, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x5x11x10xf32>, tensor<24x5x3x2xf32> -> tensor<1x24x9x9xf32>
  return %0, %1, %2 : tensor<1x24x8x9xf32>, tensor<1x24x5x9xf32>, tensor<1x24x9x9xf32>
}

// Up to 64 filters of what comes as it is, and what they give is returned: along the lines, on registers of any length.
// CHECK-LABEL: func.func @many_filters
// WIDE: kiln.packed_convolution %arg0, %{{.*}} {channels_first
// AVX2: kiln.packed_convolution %arg0, %{{.*}} {channels_first
// SCALAR-NOT: channels_first
func.func @many_filters(%x: tensor<1x3x68x68xf32>, %w: tensor<51x3x3x3xf32>) -> tensor<1x51x64x64xf32> {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 2, 2>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x3x68x68xf32>, tensor<51x3x3x3xf32> -> tensor<1x51x64x64xf32>
  return %0 : tensor<1x51x64x64xf32>
}

// Tensor cores read B as it lies.
// CHECK-LABEL: func.func @tensor_cores
// CHECK-NEXT: kiln.dot %arg0, %arg1 by tensor_cores {transpose_rhs}
func.func @tensor_cores(%x: tensor<16x120xf16>, %w: tensor<84x120xf16>) -> tensor<16x84xf32> {
  %0 = kiln.dot %x, %w by tensor_cores {transpose_rhs} : tensor<16x120xf16>, tensor<84x120xf16> -> tensor<16x84xf32>
  return %0 : tensor<16x84xf32>
}

// A single column is computed as a row, with the matrix as B.
// CHECK-LABEL: func.func @matrix_times_vector
// CHECK: %[[A:.*]] = kiln.pack transposed %arg0
// CHECK-NEXT: %[[Y:.*]] = kiln.packed_dot %arg1, %[[A]] {transpose_lhs} : {{.*}} -> tensor<1x200xf32>
// CHECK-NEXT: kiln.reshape %[[Y]] : tensor<1x200xf32> -> tensor<200x1xf32>
// CHECK: %[[B:.*]] = kiln.pack matrix %arg2
// CHECK-NEXT: kiln.packed_dot %arg1, %[[B]] {transpose_lhs} : {{.*}} -> tensor<1x900000xf32>
func.func @matrix_times_vector(%a: tensor<200x30xf32>, %x: tensor<30x1xf32>, %b: tensor<30x900000xf32>) -> (tensor<200x1xf32>, tensor<900000x1xf32>) {
  %0 = kiln.dot %a, %x : tensor<200x30xf32>, tensor<30x1xf32> -> tensor<200x1xf32>
  %1 = kiln.dot %b, %x {transpose_lhs} : tensor<30x900000xf32>, tensor<30x1xf32> -> tensor<900000x1xf32>
  return %0, %1 : tensor<200x1xf32>, tensor<900000x1xf32>
}

// But for a large batch of matrices that would be transposed.
// CHECK-LABEL: func.func @large_matrices_times_vectors
// CHECK: kiln.packed_dot %arg0, %{{.*}} -> tensor<2x20000x1xf32>
func.func @large_matrices_times_vectors(%a: tensor<2x20000x30xf32>, %x: tensor<2x30x1xf32>) -> tensor<2x20000x1xf32> {
  %0 = kiln.dot %a, %x : tensor<2x20000x30xf32>, tensor<2x30x1xf32> -> tensor<2x20000x1xf32>
  return %0 : tensor<2x20000x1xf32>
}

// A convolution of 1x1 from an argument to results is a product of the weights and each image.
// CHECK-LABEL: func.func @images_stay
// WIDE: %[[W:.*]] = kiln.reshape %arg1 : tensor<70x12x1x1xf32> -> tensor<70x12xf32>
// WIDE: %[[X:.*]] = kiln.reshape %arg0 : tensor<1x12x10x10xf32> -> tensor<12x100xf32>
// WIDE: %[[P:.*]] = kiln.pack matrix %[[X]]
// WIDE: %[[Y:.*]] = kiln.packed_dot %[[W]], %[[P]] {{.*}} -> tensor<70x100xf32>
// WIDE: kiln.reshape %[[Y]] : tensor<70x100xf32> -> tensor<1x70x10x10xf32>
// WIDE: kiln.broadcast %{{.*}} [1, 2] : tensor<70x12xf32> -> tensor<3x70x12xf32>
// SCALAR-NOT: kiln.packed_dot
// SCALAR: return
func.func @images_stay(%x: tensor<1x12x10x10xf32>, %w: tensor<70x12x1x1xf32>, %images: tensor<3x12x10x10xf32>) -> (tensor<1x70x10x10xf32>, tensor<3x70x10x10xf32>) {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x12x10x10xf32>, tensor<70x12x1x1xf32> -> tensor<1x70x10x10xf32>
  %1 = kiln.unary tanh %0 : tensor<1x70x10x10xf32>
  %2 = kiln.convolution %images, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<3x12x10x10xf32>, tensor<70x12x1x1xf32> -> tensor<3x70x10x10xf32>
  return %1, %2 : tensor<1x70x10x10xf32>, tensor<3x70x10x10xf32>
}

// But not before another convolution, which reads the channels last, where a panel would be half empty, or
// where the results are fewer than a small image.
// CHECK-LABEL: func.func @images_turn
// CHECK-NOT: kiln.packed_dot
// CHECK: return
func.func @images_turn(%x: tensor<1x12x10x10xf32>, %w: tensor<20x12x1x1xf32>, %v: tensor<20x20x1x1xf32>, %small: tensor<1x12x3x3xf32>, %many: tensor<70x12x1x1xf32>, %deep: tensor<1x96x10x10xf32>, %few: tensor<70x96x1x1xf32>) -> (tensor<1x20x10x10xf32>, tensor<1x70x3x3xf32>, tensor<1x70x10x10xf32>) {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x12x10x10xf32>, tensor<20x12x1x1xf32> -> tensor<1x20x10x10xf32>
  %1 = kiln.convolution %0, %v {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x20x10x10xf32>, tensor<20x20x1x1xf32> -> tensor<1x20x10x10xf32>
  %2 = kiln.convolution %small, %many {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x12x3x3xf32>, tensor<70x12x1x1xf32> -> tensor<1x70x3x3xf32>
  %3 = kiln.convolution %deep, %few {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x96x10x10xf32>, tensor<70x96x1x1xf32> -> tensor<1x70x10x10xf32>
  return %1, %2, %3 : tensor<1x20x10x10xf32>, tensor<1x70x3x3xf32>, tensor<1x70x10x10xf32>
}

// With few filters the image is one line.
// CHECK-LABEL: func.func @image_of_one_line
// WIDE: %[[P:.*]] = kiln.pack convolution %arg1 {groups = 1 : i64, panel = 64 : i64} : tensor<50x12x1x1xf32> -> tensor<1x1x12x64xf32>
// WIDE: %[[X:.*]] = kiln.reshape %arg0 : tensor<2x12x10x10xf32> -> tensor<2x12x100xf32>
// WIDE: %[[Y:.*]] = kiln.packed_convolution %[[X]], %[[P]] {channels_first, dilate = array<i64: 1>, groups = 1 : i64, kernel = array<i64: 1>, stride = array<i64: 1>}
// WIDE: kiln.reshape %[[Y]] : tensor<2x50x100xf32> -> tensor<2x50x10x10xf32>
// SCALAR: kiln.transpose
func.func @image_of_one_line(%x: tensor<2x12x10x10xf32>, %w: tensor<50x12x1x1xf32>) -> tensor<2x50x10x10xf32> {
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x12x10x10xf32>, tensor<50x12x1x1xf32> -> tensor<2x50x10x10xf32>
  return %0 : tensor<2x50x10x10xf32>
}

// Bytes that are widened to i32 are multiplied as words of four; signed ones of A become unsigned, and the sums are corrected.
// CHECK-LABEL: func.func @bytes
// SCALAR-NOT: pack words
// WIDE-DAG: %[[W:.*]] = kiln.pack words %arg1 {{.*}} : tensor<84x120xi8> -> tensor<{{.*}}x30x{{.*}}xi32>
// WIDE-DAG: kiln.packed_dot %arg0, %[[W]] : tensor<16x120xui8>, tensor<{{.*}}xi32> -> tensor<16x84xi32>
// WIDE-DAG: %[[X:.*]] = kiln.cast %arg2 : tensor<16x120xi8> -> tensor<16x120xui8>
// WIDE-DAG: %[[A:.*]] = kiln.binary add %[[X]]
// WIDE-DAG: %[[P:.*]] = kiln.packed_dot %[[A]], %{{.*}} : tensor<16x120xui8>
// WIDE-DAG: kiln.reduce sum %{{.*}} [1] : tensor<84x120xi32> -> tensor<84xi32>
// WIDE: kiln.binary add %[[P]], %{{.*}} : tensor<16x84xi32>
func.func @bytes(%x: tensor<16x120xui8>, %w: tensor<84x120xi8> {kiln.parameter}, %y: tensor<16x120xi8>) -> (tensor<16x84xi32>, tensor<16x84xi32>) {
  %0 = kiln.cast %x : tensor<16x120xui8> -> tensor<16x120xi32>
  %1 = kiln.cast %w : tensor<84x120xi8> -> tensor<84x120xi32>
  %2 = kiln.dot %0, %1 {transpose_rhs} : tensor<16x120xi32>, tensor<84x120xi32> -> tensor<16x84xi32>
  %3 = kiln.cast %y : tensor<16x120xi8> -> tensor<16x120xi32>
  %4 = kiln.dot %3, %1 {transpose_rhs} : tensor<16x120xi32>, tensor<84x120xi32> -> tensor<16x84xi32>
  return %2, %4 : tensor<16x84xi32>, tensor<16x84xi32>
}

// Channels are filled up to whole words, by the padding that the images have.
// CHECK-LABEL: func.func @bytes_of_images
// WIDE-DAG: kiln.pad %{{.*}} {{.*}}: tensor<2x3x9x9xui8> -> tensor<2x4x11x11xui8>
// WIDE-DAG: kiln.pack words %{{.*}} : tensor<1x16x36xi8> -> tensor<{{.*}}x9x{{.*}}xi32>
// WIDE: kiln.packed_convolution {{.*}} : tensor<2x11x11x4xui8>, {{.*}} -> tensor<2x9x9x16xi32>
func.func @bytes_of_images(%x: tensor<2x3x9x9xui8>, %w: tensor<16x3x3x3xi8> {kiln.parameter}) -> tensor<2x16x9x9xi32> {
  %0 = kiln.cast %x : tensor<2x3x9x9xui8> -> tensor<2x3x9x9xi32>
  %1 = kiln.cast %w : tensor<16x3x3x3xi8> -> tensor<16x3x3x3xi32>
  %2 = kiln.pad %0 0 : i32 [0, 0, 1, 1] [0, 0, 1, 1] : tensor<2x3x9x9xi32> -> tensor<2x3x11x11xi32>
  %3 = kiln.convolution %2, %1 {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<2x3x11x11xi32>, tensor<16x3x3x3xi32> -> tensor<2x16x9x9xi32>
  return %3 : tensor<2x16x9x9xi32>
}

// A parameter of bytes stays so in panels of a product of f32.
// CHECK-LABEL: func.func @widened_bytes
// WIDE: %[[P:.*]] = kiln.pack transposed %arg1 {{.*}} -> tensor<3x120x32xi8>
// WIDE-NEXT: kiln.packed_dot %arg0, %[[P]] : tensor<16x120xf32>, tensor<3x120x32xi8> -> tensor<16x84xf32>
func.func @widened_bytes(%x: tensor<16x120xf32>, %w: tensor<84x120xi8> {kiln.parameter}) -> tensor<16x84xf32> {
  %0 = kiln.cast %w : tensor<84x120xi8> -> tensor<84x120xf32>
  %1 = kiln.dot %x, %0 {transpose_rhs} : tensor<16x120xf32>, tensor<84x120xf32> -> tensor<16x84xf32>
  return %1 : tensor<16x84xf32>
}
