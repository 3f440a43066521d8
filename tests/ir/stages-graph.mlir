// Which operation may not stand in a graph.
// RUN: kiln opt %s -verify-diagnostics --kiln-verify-graph
// RUN: kiln opt %s -verify-diagnostics --kiln-pipeline

func.func @fusion(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{may not stand in a graph}}
  %0 = kiln.fusion (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = kiln.unary exp %a : tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
