#include "frontend/autograd/gradient_code.h"

#include "frontend/autograd/control_steps.h"

#include <algorithm>

namespace kiln::detail {
namespace {

bool has_function(const ir::Subgraph& body) {
  return std::any_of(body.nodes.begin(), body.nodes.end(),
                     [](const auto& n) { return n->op_name == "_function"; });
}

}  // namespace

GradientCode::GradientCode(ir::SubgraphPtr body, bool train, Precision precision)
    : body_(std::move(body)), train_(train), precision_(precision) {
  std::size_t nodes = 0;
  for (const ir::NodePtr& n : body_->nodes) {
    if (n->is_variable()) continue;
    ++nodes;
    entries_ += most_entries(*n);
    expands_ = expands_ || is_control_flow(*n);
  }
  expands_ = expands_ || nodes > 1 || has_function(*body_);
}

const GradientCode::Known& GradientCode::known(const ir::GradientRequest& request) const {
  return known_.find_or_make([&](const Known& k) { return k.request == request; },
                             [&] {
                               return Known{request, ir::gradient_uses(*body_, request, train_)};
                             });
}

const GradientCode::Known& GradientCode::recorded(std::span<const std::int64_t> sums) const {
  return recorded_.find_or_make(
      [&](const Known& k) { return std::equal(sums.begin(), sums.end(), k.request.sums.begin()); },
      [&] {
        ir::GradientRequest request;
        request.sums.assign(sums.begin(), sums.end());
        request.heads.assign(body_->outputs.size(), true);
        request.running.resize(static_cast<std::size_t>(*std::max_element(sums.begin(), sums.end()) + 1));
        ir::GradientUses uses = ir::gradient_uses(*body_, request, train_);
        return Known{std::move(request), std::move(uses)};
      });
}

}  // namespace kiln::detail
