#include "frontend/ops/families.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace kiln::ir {
namespace {

std::vector<const OpDef*> collect() {
  std::vector<const OpDef*> all;
  for (auto family : {ops::elementwise_ops,
                      ops::scalar_ops,
                      ops::create_ops,
                      ops::shape_ops,
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
                      ops::order_ops,
                      ops::sequence_ops,
                      ops::control_ops,
                      ops::rnn_ops,
                      ops::ctc_ops,
                      ops::special_ops,
                      ops::view_ops,
                      ops::gradient_ops, ops::function_ops,
                      ops::numpy_elementwise_ops,
                      ops::numpy_reduce_ops,
                      ops::numpy_shape_ops,
                      ops::numpy_create_ops,
                      ops::numpy_product_ops,
                      ops::numpy_einsum_ops})
    for (const OpDef& op : family()) all.push_back(&op);
  return all;
}

/// The Levenshtein distance of two names.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

const std::unordered_map<std::string_view, const OpDef*>& by_name() {
  static const auto names = [] {
    std::unordered_map<std::string_view, const OpDef*> map;
    for (const OpDef* op : all_ops()) {
      map.emplace(op->name, op);
      for (std::string_view alias : op->aliases) map.emplace(alias, op);
    }
    return map;
  }();
  return names;
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> all = collect();
  return all;
}

const OpDef* find_op(std::string_view name) {
  auto found = by_name().find(name);
  return found == by_name().end() ? nullptr : found->second;
}

std::string_view nearest_op(std::string_view name) {
  // A name from a file may have any length; none that long is close to an operator's.
  if (name.size() > 64) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& [known, op] : by_name()) {
    std::size_t d = distance(name, known);
    if (d < least || (d == least && !best.empty() && known < best)) {
      least = d;
      best = known;
    }
  }
  return best;
}

}  // namespace kiln::ir
