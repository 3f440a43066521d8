// Finds or compiles the joint code of a recorded call.
#include "frontend/autograd/joint_codes.h"

#include "runtime/fork_gate.h"

#include <algorithm>
#include <span>

namespace kiln::detail {
namespace {

/// Adds the numbers of `more` that `list` does not have.
void add_missing(std::vector<std::int64_t>& list, std::span<const std::int64_t> more) {
  for (const std::int64_t i : more)
    if (std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
}

}  // namespace

JointCodes::Known* JointCodes::find(const std::vector<std::int64_t>& sums) {
  const auto found =
      std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.sums == sums; });
  return found == known_.end() ? nullptr : &*found;
}

const JointCodes::Pair& JointCodes::expected(const GradientCode::Known& recorded) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  Known* k = find(recorded.request.sums);
  if (!k) {
    k = &known_.emplace_back(Known{recorded.request.sums, recorded.request.heads, {}});
    for (std::size_t i = 0; i < k->heads.size(); ++i) {
      const std::size_t results = graph_.outputs.size();  // then come the values that are written
      const ir::Entry& e = i < results ? graph_.outputs[i] : graph_.writes.at(i - results).value;
      // An integer is rarely a head.
      k->heads[i] = k->heads[i] && recorded.uses.active[i] && is_floating(e.node->types.at(e.output).dtype);
    }
  }
  for (const Pair& pair : k->pairs)
    if (pair.request.heads == k->heads) return pair;
  ir::GradientRequest request{k->heads, recorded.request.sums, recorded.request.running};
  auto code = compile_joint(graph_, request, policy_, options_);
  latest_ = code;
  ir::GradientUses uses = recorded.uses;
  add_missing(uses.inputs, code->inputs);
  add_missing(uses.outputs, code->outputs);
  return k->pairs.emplace_back(Pair{std::move(request), std::move(code), std::move(uses)});
}

void JointCodes::found(const ir::GradientRequest& request) {
  const std::lock_guard lock(mutex_);
  if (Known* const k = find(request.sums)) k->heads = request.heads;
}

std::shared_ptr<const JointCode> JointCodes::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

}  // namespace kiln::detail
