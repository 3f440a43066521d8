// Which operation may not stand in a graph that is lowered for the target.
// RUN: kiln opt %s -split-input-file -verify-diagnostics --kiln-verify-lowered

func.func @branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{may not stand in a graph lowered for the target}}
  %0 = kiln.if %c : tensor<i1> -> tensor<4xf32> {
    kiln.yield %x : tensor<4xf32>
  } else {
    kiln.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
