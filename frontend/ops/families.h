// The lists of operators, one per family.
#pragma once
#include "ir/op_def.h"

#include <span>

/// The operators, one list per family. A definition has facts and one function; there is no static
/// registration.
namespace kiln::ops {

std::span<const ir::OpDef> elementwise_ops();  ///< pointwise functions of one or more arrays
std::span<const ir::OpDef> scalar_ops();       ///< an array with a number
std::span<const ir::OpDef> create_ops();       ///< creation
std::span<const ir::OpDef> shape_ops();        ///< shapes and orders of elements
std::span<const ir::OpDef> broadcast_ops();    ///< broadcasting and tiling
std::span<const ir::OpDef> join_ops();         ///< concatenation and stacking
std::span<const ir::OpDef> slice_ops();        ///< slices
std::span<const ir::OpDef> reduce_ops();       ///< reductions
std::span<const ir::OpDef> product_ops();      ///< contractions
std::span<const ir::OpDef> nn_ops();           ///< dense layers, embedding, dropout
std::span<const ir::OpDef> output_ops();       ///< output layers and the cross entropy
std::span<const ir::OpDef> conv_ops();         ///< convolution and its transpose
std::span<const ir::OpDef> int8_ops();         ///< layers with int8 weights
std::span<const ir::OpDef> pooling_ops();      ///< pooling
std::span<const ir::OpDef> resample_ops();     ///< resizing of images
std::span<const ir::OpDef> batch_norm_ops();   ///< batch normalisation
std::span<const ir::OpDef> norm_ops();         ///< normalisation of each sample
std::span<const ir::OpDef> activation_ops();   ///< activations
std::span<const ir::OpDef> softmax_ops();      ///< softmax and its relatives
std::span<const ir::OpDef> random_ops();       ///< random numbers
std::span<const ir::OpDef> index_ops();        ///< reads at indices along an axis
std::span<const ir::OpDef> nd_index_ops();     ///< reads and writes at index vectors
std::span<const ir::OpDef> order_ops();        ///< sorting, cumulative sums
std::span<const ir::OpDef> sequence_ops();     ///< sequences with lengths
std::span<const ir::OpDef> control_ops();      ///< loops and branches over subgraphs
std::span<const ir::OpDef> fused_ops();        ///< subgraphs that MXNet fused
std::span<const ir::OpDef> rnn_ops();          ///< fused recurrent layers
std::span<const ir::OpDef> ctc_ops();          ///< connectionist temporal classification
std::span<const ir::OpDef> special_ops();      ///< erfinv, gamma and gammaln
std::span<const ir::OpDef> view_ops();         ///< writes through views, made by Tensor
std::span<const ir::OpDef> gradient_ops();     ///< the backward pass of a recorded call
std::span<const ir::OpDef> function_ops();     ///< subgraphs with a gradient of the program

// Operators of 8-bit integers that stand for numbers.
std::span<const ir::OpDef> quantize_ops();               ///< numbers as integers, and back
std::span<const ir::OpDef> quantized_layer_ops();        ///< layers
std::span<const ir::OpDef> quantized_elementwise_ops();  ///< relu, layouts and pairs

// MXNet's numpy mode: operators with numpy's rules for shapes and dtypes.
std::span<const ir::OpDef> numpy_elementwise_ops();  ///< pointwise functions
std::span<const ir::OpDef> numpy_reduce_ops();       ///< reductions; a full one gives rank 0
std::span<const ir::OpDef> numpy_shape_ops();        ///< shapes, layouts and concatenation
std::span<const ir::OpDef> numpy_create_ops();       ///< creation
std::span<const ir::OpDef> numpy_product_ops();      ///< dot, matmul, tensordot
std::span<const ir::OpDef> numpy_einsum_ops();       ///< Einstein's sum convention

}  // namespace kiln::ops
