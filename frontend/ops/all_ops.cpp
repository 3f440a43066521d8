// The list of all operators, and look-up by name.
#include "frontend/ops/families.h"
#include "ir/nearest_name.h"
#include "runtime/once.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::ir {
namespace {

std::vector<const OpDef*> collect() {
  std::vector<const OpDef*> all;
  // clang-format off
  for (auto family : {ops::elementwise_ops,
                      ops::scalar_ops,
                      ops::create_ops,
                      ops::shape_ops,
                      ops::broadcast_ops,
                      ops::join_ops,
                      ops::slice_ops,
                      ops::reduce_ops,
                      ops::product_ops,
                      ops::nn_ops,
                      ops::conv_ops,
                      ops::pooling_ops,
                      ops::resample_ops,
                      ops::norm_ops,
                      ops::activation_ops,
                      ops::random_ops,
                      ops::index_ops,
                      ops::nd_index_ops,
                      ops::order_ops,
                      ops::sequence_ops,
                      ops::control_ops,
                      ops::rnn_ops,
                      ops::ctc_ops,
                      ops::special_ops,
                      ops::view_ops,
                      ops::gradient_ops,
                      ops::function_ops,
                      ops::numpy_elementwise_ops,
                      ops::numpy_reduce_ops,
                      ops::numpy_shape_ops,
                      ops::numpy_create_ops,
                      ops::numpy_product_ops,
                      ops::numpy_einsum_ops})
    // clang-format on
    for (const OpDef& op : family()) all.push_back(&op);
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
