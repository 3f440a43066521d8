#pragma once
#include "ir/op_def.h"

#include <span>

/// The operators, a list per family. A row is facts and one function; nothing registers itself.
namespace kiln::ops {

std::span<const ir::OpDef> elementwise_ops();  ///< functions of one, two or more arrays, element by element
std::span<const ir::OpDef> scalar_ops();       ///< an array with a number
std::span<const ir::OpDef> create_ops();       ///< arrays from nothing
std::span<const ir::OpDef> shape_ops();        ///< the same elements under another shape, or copied together
std::span<const ir::OpDef> slice_ops();        ///< parts of arrays
std::span<const ir::OpDef> reduce_ops();       ///< sums over axes
std::span<const ir::OpDef> product_ops();      ///< matrix products
std::span<const ir::OpDef> nn_ops();           ///< dense layers, embedding, dropout, output layers
std::span<const ir::OpDef> conv_ops();         ///< convolution and its transpose
std::span<const ir::OpDef> pooling_ops();      ///< windows reduced to a number
std::span<const ir::OpDef> resample_ops();     ///< images in another size
std::span<const ir::OpDef> norm_ops();         ///< normalisation
std::span<const ir::OpDef> activation_ops();   ///< activations and softmax
std::span<const ir::OpDef> random_ops();       ///< random numbers
std::span<const ir::OpDef> index_ops();        ///< elements chosen by indices
std::span<const ir::OpDef> order_ops();        ///< sorted order, running sums
std::span<const ir::OpDef> sequence_ops();     ///< steps of sequences of different lengths
std::span<const ir::OpDef> control_ops();      ///< loops and branches over subgraphs
std::span<const ir::OpDef> rnn_ops();          ///< the fused recurrent layers
std::span<const ir::OpDef> ctc_ops();          ///< connectionist temporal classification
std::span<const ir::OpDef> special_ops();      ///< erfinv, gamma and gammaln
std::span<const ir::OpDef> view_ops();         ///< writes through views, made by Tensor

// MXNet's numpy mode: operators with names of their own there, and numpy's rules for shapes and dtypes.
std::span<const ir::OpDef> numpy_elementwise_ops();  ///< functions of one, two or three arrays, or a number
std::span<const ir::OpDef> numpy_reduce_ops();       ///< sums over axes; everything reduced gives rank 0
std::span<const ir::OpDef> numpy_shape_ops();        ///< the same elements under another shape, or joined
std::span<const ir::OpDef> numpy_create_ops();       ///< arrays from nothing
std::span<const ir::OpDef> numpy_product_ops();      ///< dot, matmul, tensordot
std::span<const ir::OpDef> numpy_einsum_ops();       ///< Einstein's sum convention

}  // namespace kiln::ops
