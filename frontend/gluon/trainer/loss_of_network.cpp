// Calls of a network and its loss, and the checks that apply to them in a training step.
#include "frontend/gluon/trainer/loss_of_network.h"

#include "frontend/call/trace.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "runtime/fail.h"

#include <memory>

namespace kiln {

using detail::BlockAccess;
using detail::BlockState;

namespace {

constexpr Check compared = Check::recording | Check::bits;

bool has(Check checks, Check sought) { return (checks & sought) != Check::none; }

/// Calls `use` with a block and, if it is not hybridized, with its descendants down to hybridized ones: the
/// blocks whose hybridize() governs a call outside of a trace.
template <class Use>
void for_each_governing(const Block& block, const Use& use) {
  const BlockState& state = BlockAccess::state(block);
  use(state);
  if (state.active) return;
  for (const auto& [key, child] : state.children) for_each_governing(*child, use);
}

/// Calls a block. In a trace, as LossOfNetwork::loss().
template <class Call>
auto call_governed(const HybridBlock& block, const Call& call) {
  Trace* const trace = Trace::current();
  if (!trace) return call();
  for_each_governing(block, [](const BlockState& state) { detail::depend_on(state.hybridized); });
  const std::size_t before = trace->recorded().size();
  auto results = call();
  const BlockState& state = BlockAccess::state(block);
  if (state.active && has(state.options.check, Check::indices))
    detail::check_indices(trace->recorded().subspan(before));
  return results;
}

}  // namespace

LossOfNetwork::LossOfNetwork(HybridBlock& net, loss::Loss& loss)
    : HybridBlock({.prefix = ""}), net_(net), loss_(loss) {
  const auto no_owner = [](Block*) {};
  register_child(std::shared_ptr<Block>(&net, no_owner), "net");
  register_child(std::shared_ptr<Block>(&loss, no_owner), "loss");
  if (const Check checks = check_from_environment(); has(checks, compared)) {
    BlockState& state = BlockAccess::unnamed_state(*this);
    state.active = true;
    state.options.check = checks;
  }
}

Tensor LossOfNetwork::loss(const Tensors& inputs) {
  const Tensors out =
      call_governed(net_, [&] { return net_(Tensors(inputs.begin(), inputs.end() - 1), where); });
  if (out.size() != 1)
    fail("train_step() takes a network with one output, which the loss compares with the label; {} has {}",
         net_.name(), out.size());
  return call_governed(loss_, [&] { return loss_(out[0], inputs.back(), where); });
}

Tensor LossOfNetwork::checked_loss(const Tensors& inputs) {
  const bool both_hybridized = BlockAccess::state(net_).active && BlockAccess::state(loss_).active;
  if (both_hybridized || !BlockAccess::state(*this).active) return loss(inputs);
  std::optional<PrecisionScope> scope;
  if (const auto chosen = precision()) scope.emplace(*chosen);
  return (*this)(inputs, where).at(0);
}

bool LossOfNetwork::needs_separate_calls() {
  if (hybridized_ && !hybridized_->unchanged())
    BlockAccess::state(*this).hybridized->changed("was hybridized");
  hybridized_.emplace();
  Check checks = check_from_environment();
  bool inside = false;
  for (const HybridBlock* const block : {&net_, static_cast<HybridBlock*>(&loss_)})
    for_each_governing(*block, [&](const BlockState& state) {
      hybridized_->add(state.hybridized);
      if (!state.active) return;
      checks = checks | state.options.check;
      inside = inside || (&state != &BlockAccess::state(*block) && has(state.options.check, Check::indices));
    });
  return inside || has(checks, compared);
}

std::optional<Precision> LossOfNetwork::precision() const {
  const BlockState& state = BlockAccess::state(net_);
  return state.active ? state.options.precision : std::nullopt;
}

}  // namespace kiln
