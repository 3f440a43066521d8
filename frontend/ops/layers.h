// The checks, shapes and layouts of layers that have a float operator and a quantised one.
#pragma once
#include "frontend/ops/shape_rules.h"
#include "frontend/ops/windows.h"

/// The checks, shapes and layouts of layers that have a float operator and a quantised one. Each function
/// reads the attributes of the float operator, and throws for shapes that do not fit them.
namespace kiln::ops {

/// A call of FullyConnected: the data as rows (R, K), and the shape of the result.
struct DenseCall {
  Value rows;
  Shape result;
};
DenseCall dense_call(Primitives& p, Value data, Value weight, const Attrs& a);
void fully_connected_shape(ShapeFacts& f, const Attrs& a);

/// The windows and groups of a call of Convolution.
ir::ConvSpec convolution_call(Primitives& p, Value data, Value weight, const Attrs& a);
void convolution_shape(ShapeFacts& f, const Attrs& a);

/// Pooling of x, whose dtype holds sums and quotients.
Value pooled(Primitives& p, Value x, const Attrs& a);
void pooling_shape(ShapeFacts& f, const Attrs& a);

/// Embedding: the rows of weight that the indices in data name.
Value embedded_rows(Primitives& p, Value data, Value weight, const Attrs& a);
void embedding_shape(ShapeFacts& f, const Attrs& a);

}  // namespace kiln::ops
