// The list of all operators, and look-up by name.
#include "frontend/ops/families.h"
#include "ir/nearest_name.h"
#include "runtime/once.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::ir {
namespace {

std::vector<OpFamily> families() {
  return {
      {"pointwise functions of one or more arrays", ops::elementwise_ops()},
      {"an array with a number", ops::scalar_ops()},
      {"creation", ops::create_ops()},
      {"shapes and orders of elements", ops::shape_ops()},
      {"broadcasting and tiling", ops::broadcast_ops()},
      {"concatenation and stacking", ops::join_ops()},
      {"slices", ops::slice_ops()},
      {"reductions", ops::reduce_ops()},
      {"contractions", ops::product_ops()},
      {"dense layers, embedding, dropout", ops::nn_ops()},
      {"output layers and the cross entropy", ops::output_ops()},
      {"convolution and its transpose", ops::conv_ops()},
      {"layers with int8 weights", ops::int8_ops()},
      {"pooling over windows", ops::pooling_ops()},
      {"resizing of images", ops::resample_ops()},
      {"batch normalisation", ops::batch_norm_ops()},
      {"normalisation of each sample", ops::norm_ops()},
      {"activations", ops::activation_ops()},
      {"softmax and its relatives", ops::softmax_ops()},
      {"random numbers", ops::random_ops()},
      {"reads at indices along an axis", ops::index_ops()},
      {"reads and writes at index vectors", ops::nd_index_ops()},
      {"sorting, cumulative sums", ops::order_ops()},
      {"sequences with lengths", ops::sequence_ops()},
      {"loops and branches over subgraphs", ops::control_ops()},
      {"subgraphs that MXNet fused", ops::fused_ops()},
      {"fused recurrent layers", ops::rnn_ops()},
      {"connectionist temporal classification", ops::ctc_ops()},
      {"numbers as 8-bit integers, and back", ops::quantize_ops()},
      {"layers of 8-bit integers", ops::quantized_layer_ops()},
      {"relu, layouts and pairs of 8-bit integers", ops::quantized_elementwise_ops()},
      {"erfinv, gamma and gammaln", ops::special_ops()},
      {"writes through views, made by Tensor", ops::view_ops()},
      {"the backward pass of a recorded call", ops::gradient_ops()},
      {"subgraphs with a gradient of the program", ops::function_ops()},
      {"numpy: pointwise functions", ops::numpy_elementwise_ops()},
      {"numpy: reductions", ops::numpy_reduce_ops()},
      {"numpy: shapes, layouts and concatenation", ops::numpy_shape_ops()},
      {"numpy: creation", ops::numpy_create_ops()},
      {"numpy: dot, matmul, tensordot", ops::numpy_product_ops()},
      {"numpy: Einstein's sum convention", ops::numpy_einsum_ops()},
  };
}

std::vector<const OpDef*> collect() {
  std::vector<const OpDef*> all;
  for (const OpFamily& family : op_families())
    for (const OpDef& op : family.ops) all.push_back(&op);
  return all;
}

const std::unordered_map<std::string_view, const OpDef*>& by_name() {
  constexpr auto make = [] {
    std::unordered_map<std::string_view, const OpDef*> map;
    for (const OpDef* op : all_ops()) {
      map.emplace(op->name, op);
      for (std::string_view alias : op->aliases) map.emplace(alias, op);
    }
    return map;
  };
  return once<make>();
}

}  // namespace

std::span<const OpFamily> op_families() { return once<families>(); }
std::span<const OpDef* const> all_ops() { return once<collect>(); }

const OpDef* find_op(std::string_view name) {
  auto found = by_name().find(name);
  return found == by_name().end() ? nullptr : found->second;
}

std::string_view nearest_op(std::string_view name) {
  constexpr auto make = [] {
    std::vector<std::string_view> list;
    for (const auto& [known, op] : by_name()) list.push_back(known);
    return list;
  };
  return nearest_name(name, once<make>());
}

}  // namespace kiln::ir
