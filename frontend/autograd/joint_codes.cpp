#include "frontend/autograd/joint_codes.h"

#include "runtime/fork_gate.h"

namespace kiln::detail {

JointCodes::Known& JointCodes::known(const ir::GradientRequest& request) {
  for (Known& k : known_)
    if (k.sums == request.sums) return k;
  known_.push_back({request.sums, request.heads, {}});
  return known_.back();
}

JointCodes::Pair JointCodes::expected(const ir::GradientRequest& all_heads) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  Known& k = known(all_heads);
  for (const Pair& pair : k.pairs)
    if (pair.request.heads == k.heads) return pair;
  ir::GradientRequest request{k.heads, all_heads.sums, all_heads.running};
  auto code = compile_joint(graph_, request, policy_, options_);
  saved_bytes_ = code->saved_bytes;
  k.pairs.push_back({std::move(request), std::move(code)});
  return k.pairs.back();
}

void JointCodes::found(const ir::GradientRequest& request) {
  const std::lock_guard lock(mutex_);
  known(request).heads = request.heads;
}

std::size_t JointCodes::saved_bytes() const {
  const std::lock_guard lock(mutex_);
  return saved_bytes_;
}

}  // namespace kiln::detail
