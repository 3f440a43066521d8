// The facts about compiled code that gradients need.

#include "frontend/call/gradient_code.h"

#include <algorithm>

namespace kiln::detail {

bool is_control_flow(const ir::Node& node) { return node.op->reached_outputs != nullptr; }

std::uint64_t max_entries(const ir::Node& node) {
  // Entries of 2^28 steps do not fit in memory.
  constexpr std::uint64_t all_steps = std::uint64_t{1} << 28;
  return is_control_flow(node) ? all_steps : 1;
}
namespace {

bool has_function(const ir::Subgraph& body) {
  return std::any_of(body.nodes.begin(), body.nodes.end(),
                     [](const auto& n) { return n->op_name == "_function"; });
}

/// Whether the gradient of one input has two terms, which calls step by step add up one by one.
bool reads_twice(const ir::Node& node) {
  for (auto e = node.inputs.begin(); e != node.inputs.end(); ++e)
    if (std::find(node.inputs.begin(), e, *e) != e) return true;
  return false;
}

GradientCode::Output output_of(const ir::Subgraph& body, std::size_t number) {
  const ir::Entry& value = body.outputs[number];
  GradientCode::Output out{number, {}};
  const auto first = std::find(body.outputs.begin(), body.outputs.end(), value);
  out.first = static_cast<std::size_t>(first - body.outputs.begin());
  // A value of a higher version is the update by an operator.
  if (value.node->is_variable() && value.version == 0) {
    const auto input = std::find(body.inputs.begin(), body.inputs.end(), value.node);
    if (input != body.inputs.end()) out.input = static_cast<std::size_t>(input - body.inputs.begin());
  }
  return out;
}

}  // namespace

GradientCode::GradientCode(ir::SubgraphPtr body, bool train, Precision precision)
    : body_(std::move(body)), train_(train), precision_(precision) {
  for (std::size_t i = 0; i < body_->outputs.size(); ++i) outputs_.push_back(output_of(*body_, i));
  std::size_t nodes = 0;
  for (const ir::NodePtr& n : body_->nodes) {
    if (n->is_variable()) continue;
    ++nodes;
    entries_ += max_entries(*n);
    expands_ = expands_ || is_control_flow(*n) || reads_twice(*n);
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
        for (std::size_t i = 0; i < outputs_.size(); ++i) request.heads.push_back(outputs_[i].is_own(i));
        request.running.resize(static_cast<std::size_t>(*std::max_element(sums.begin(), sums.end()) + 1));
        ir::GradientUses uses = ir::gradient_uses(*body_, request, train_);
        return Known{std::move(request), std::move(uses)};
      });
}

}  // namespace kiln::detail
