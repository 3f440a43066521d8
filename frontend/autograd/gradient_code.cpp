#include "frontend/autograd/gradient_code.h"

#include <algorithm>

namespace kiln::detail {
namespace {

bool has_function(const ir::Subgraph& body) {
  return std::any_of(body.nodes.begin(), body.nodes.end(),
                     [](const auto& n) { return n->op_name == "_function"; });
}

}  // namespace

GradientCode::GradientCode(ir::SubgraphPtr body, bool train)
    : body_(std::move(body)),
      node_count_(static_cast<std::size_t>(std::count_if(body_->nodes.begin(), body_->nodes.end(),
                                                         [](const auto& n) { return !n->is_variable(); }))),
      train_(train),
      expands_(node_count_ > 1 || has_function(*body_)) {}

ir::GradientUses GradientCode::uses(const ir::GradientRequest& request) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, uses] : known_)
    if (known == request) return uses;
  known_.emplace_back(request, ir::gradient_uses(*body_, request, train_));
  return known_.back().second;
}

ir::GradientRequest GradientCode::all_heads(std::vector<std::int64_t> sums, std::size_t sum_count) const {
  ir::GradientRequest request{{}, std::move(sums), std::vector<bool>(sum_count)};
  for (const ir::Entry& e : body_->outputs)
    request.heads.push_back(is_floating(e.node->types.at(e.output).dtype));
  return request;
}

}  // namespace kiln::detail
