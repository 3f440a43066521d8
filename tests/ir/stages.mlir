// Which operation may not stand among kernels, or in a fusion there.
// RUN: kiln opt %s -split-input-file -verify-diagnostics --kiln-verify-kernels

func.func @convolution(%x: tensor<1x8x9x9xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x7x7xf32> {
  // expected-error @+1 {{may not stand in a list of kernels}}
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32> -> tensor<1x8x7x7xf32>
  return %0 : tensor<1x8x7x7xf32>
}

// -----

func.func @pointwise(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{may not stand in a list of kernels}}
  %0 = kiln.unary exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @alone(%x: tensor<4xf32>) -> tensor<6xf32> {
  %0 = kiln.fusion (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = kiln.unary exp %a : tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  }
  %2 = kiln.extend edge %0 [1] [1] : tensor<4xf32> -> tensor<6xf32>
  return %2 : tensor<6xf32>
}
