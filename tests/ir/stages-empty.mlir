// An array without values, which passes make, is no operation of a graph.
// RUN: kiln opt %s -verify-diagnostics --kiln-verify-graph

func.func @empty(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{may not stand in a graph}}
  %0 = kiln.empty : tensor<4xf32>
  %1 = kiln.insert %x into %0 [0] by [1] : tensor<4xf32> into tensor<4xf32>
  return %1 : tensor<4xf32>
}
