// Finds or compiles the joint code of a recorded call.
#include "frontend/autograd/joint_codes.h"

#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "runtime/fork_gate.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>

namespace kiln::detail {
namespace {

/// Adds the numbers of `more` that `list` does not have.
void add_missing(std::vector<std::int64_t>& list, std::span<const std::int64_t> more) {
  for (const std::int64_t i : more)
    if (std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
}

/// The purposes of the parts of a recording's code, at the program's line that needs them.
PartPurpose purpose_of(const std::string& network, const std::string& inputs) {
  return [=](std::string_view part, std::string_view because) {
    const std::string line = program_line(CallSite::caller());
    return CompilePurpose{inputs, fmt::format("gradients {}", part),
                          fmt::format("{} was compiled with gradients for {}{}, {}, because {}", network,
                                      inputs, line.empty() ? "" : " at " + line, part, because)};
  };
}

/// The inputs whose gradient only one of both calls wants.
std::vector<std::size_t> wanted_by_one(const std::vector<std::int64_t>& a,
                                       const std::vector<std::int64_t>& b) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] == ir::GradientRequest::none) != (b[i] == ir::GradientRequest::none)) inputs.push_back(i);
  return inputs;
}

}  // namespace

JointCodes::JointCodes(ir::Graph graph, Recompute policy, const CompileOptions& options)
    : graph_(std::move(graph)),
      policy_(policy),
      options_(options),
      purpose_(purpose_of(graph_.name, options.purpose.inputs)) {}

std::string JointCodes::reason(const std::vector<std::int64_t>& sums) const {
  if (known_.empty()) return "this is the first call that wants gradients";
  std::vector<std::size_t> nearest = wanted_by_one(known_[0].sums, sums);
  for (const Known& k : known_)
    if (auto inputs = wanted_by_one(k.sums, sums); inputs.size() < nearest.size())
      nearest = std::move(inputs);
  if (nearest.empty()) return "its arrays share gradients in another way";
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, nearest.size()); ++i) {
    const bool now = sums[nearest[i]] != ir::GradientRequest::none;
    text += fmt::format("{}the gradient of '{}' {}", i == 0 ? "" : " and ", graph_.inputs[nearest[i]]->name,
                        now ? "is wanted and was not" : "is not wanted and was");
  }
  if (nearest.size() > most) text += fmt::format(" and {} more differences", nearest.size() - most);
  return text + "; remedy: attach gradients to the same arrays in each call";
}

JointCodes::Known* JointCodes::find(const std::vector<std::int64_t>& sums) {
  const auto found =
      std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.sums == sums; });
  return found == known_.end() ? nullptr : &*found;
}

const JointCodes::Pair& JointCodes::expected(const GradientCode::Known& recorded,
                                             std::source_location where) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  Known* k = find(recorded.request.sums);
  std::string because;
  if (!k) {
    because = reason(recorded.request.sums);
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
  if (because.empty()) because = "the last backward pass had gradients of other results";
  const CallSite site(std::nullopt, where);
  auto code = compile_joint(graph_, request, policy_, options_, because, purpose_);
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
