// HybridBlock: hybridize(), calls, export and inference of shapes.
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/symbol/symbol_tensor.h"
#include "frontend/tensor/text.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/naming.h"
#include "runtime/dynamic_type.h"
#include "runtime/messages.h"

#include <algorithm>
#include <optional>

namespace kiln {

using detail::BlockAccess;
using detail::BlockState;
using detail::ParameterAccess;
using detail::TensorAccess;

HybridBlock::HybridBlock(const BlockOptions& options) : Block(options) { state_->hybrid = true; }
HybridBlock::HybridBlock(const BlockOptions& options, std::string_view kind) : Block(options, kind) {
  state_->hybrid = true;
}

void HybridBlock::set_active(const HybridizeOptions& options) const {
  BlockState& s = state();
  s.active = options.active;
  s.options = options;
  s.options.check = options.check | check_from_environment();
  s.hybridized->changed("was hybridized");
  s.latest = nullptr;
  for (const Parameter& p : s.params)
    ParameterAccess::set_weights(p, options.active ? options.weights : Weights::keep);
}

Tensor HybridBlock::forward(const Tensor& x) { return forward(Tensors{x}).at(0); }
Tensor HybridBlock::forward(const Tensor& x, const Tensor& y) { return forward(Tensors{x, y}).at(0); }
Tensor HybridBlock::forward(const Tensor& x, const Tensor& y, const Tensor& z) {
  return forward(Tensors{x, y, z}).at(0);
}
Tensors HybridBlock::forward(const Tensors& inputs) {
  BlockState& s = state();
  if (!s.active || Trace::current() || CheckScope::active()) return BlockAccess::run(*this, inputs);
  Tensors out;
  if (const CachedCall* calls = calls_.find(); calls && calls->hit(inputs, CallContext::current(), out))
    return out;
  return records_alone() ? calls_.get(s)->call(*this, inputs) : BlockAccess::run(*this, inputs);
}

namespace {

bool waits_for_shape(const ParameterDict& params) {
  return std::any_of(params.begin(), params.end(), [](const Parameter& p) { return p.is_deferred(); });
}

/// A call with a number of tensors for which the block has no hybrid_forward: no shape would help.
class NoForm final : public Error {
 public:
  using Error::Error;
};

using Recordings = std::vector<std::shared_ptr<const detail::TracedCall>>;

/// The valid recordings of the block, oldest first. Of several with the same code, one that is in `own`, else
/// the oldest.
Recordings listed_recordings(BlockState& s, const Recordings& own) {
  const auto is_own = [&](const auto& call) { return std::find(own.begin(), own.end(), call) != own.end(); };
  Recordings listed;
  const std::lock_guard lock(s.recordings_mutex);
  for (const auto& weak : s.recordings) {
    const std::shared_ptr<const detail::TracedCall> call = weak.lock();
    if (!s.active || !call || !call->current()) continue;
    const auto same = std::find_if(listed.begin(), listed.end(), [&](const auto& other) {
      return call->executable && other->executable == call->executable;
    });
    if (same != listed.end()) {
      if (is_own(*same) || !is_own(call)) continue;
      listed.erase(same);
    }
    listed.push_back(call);
  }
  return listed;
}

}  // namespace

Tensors BlockAccess::run(HybridBlock& b, const Tensors& inputs) {
  const BlockState& s = b.state();
  const Trace* trace = Trace::current();
  const bool shapes_known = !trace || trace->shapes_known();
  if (shapes_known && waits_for_shape(s.params)) {
    try {
      b.infer_shape(inputs);
      TracePause pause;
      for (const Parameter& p : s.params) ParameterAccess::finish_deferred(p);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::user || known_cast<const NoForm>(&e)) throw;
      const std::string_view why = e.what(), place = place_of(why);
      throw DeferredInitializationError(
          fmt::format("{}Deferred initialization of {} failed for inputs of shape {}: {}",
                      place.empty() ? line_prefix(CallSite::caller()) : place, b.name(),
                      detail::shapes_of(inputs), why.substr(place.size())));
    }
  }
  std::optional<NameScope> names;
  if (trace && !s.scopeless) names.emplace(s.prefix);
  // A container counts as its children.
  std::optional<CallTrace::ChildScope> child;
  if (CallTrace* const call = Trace::current() ? Trace::current()->call() : nullptr)
    if (call->enter_block() && !s.container) child.emplace(*call);
  F f;
  return b.hybrid_forward(f, inputs);
}

std::vector<CompiledCall> HybridBlock::compiled_calls() const {
  BlockState& s = state();
  std::vector<CompiledCall> out;
  const CachedCall* const calls = calls_.find();
  for (const auto& call : listed_recordings(s, calls ? calls->recordings() : Recordings())) {
    const Executable* const code = call->executable.get();
    CompiledCall& c = out.emplace_back();
    c.inputs = call->signature.inputs_str();
    c.train = call->signature.train;
    c.compiled = code != nullptr;
    c.eager_because = call->eager_because;
    c.reason = call->reason;
    if (!code) continue;
    const ExecutablePlan& plan = code->plan();
    c.kernels = kernel_count(plan);
    c.arena_bytes = static_cast<std::size_t>(plan.arena_bytes);
    if (const auto joint = call->joint ? call->joint->latest() : nullptr) {
      c.saved_bytes = joint->saved_bytes;
      c.recomputed_bytes = joint->recomputed_bytes;
    }
    c.compile_ms = plan.compile_ms;
  }
  return out;
}

std::shared_ptr<const detail::TracedCall> BlockAccess::latest(const HybridBlock& b) {
  BlockState& s = b.state();
  const std::lock_guard lock(s.recordings_mutex);
  if (!s.active || !s.latest) return nullptr;
  if (!s.latest->current())
    fail("{} has changed since its latest call: call it once more before export_model()", b.name());
  return s.latest;
}

void HybridBlock::infer_shape(const Tensors& inputs) {
  detail::VariableScope variables;
  CallTrace trace;
  Tensors traced;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    traced.push_back(trace.input("data" + std::to_string(i),
                                 {TensorAccess::dtype(inputs[i]), TensorAccess::shape(inputs[i])}));
  {
    const NameScope names(prefix());
    F f;
    try {
      hybrid_forward(f, traced);
    } catch (const TraceAbandoned&) {
      // The recording may tell the shapes.
    }
  }
  // Recording infers most shapes node by node; the others follow from inference on the whole graph.
  const auto open = [&](const Parameter& p) {
    const ir::NodePtr node = variables.find(p);
    return node && node->types.empty();
  };
  const ParameterDict own = params();
  if (std::any_of(own.begin(), own.end(), open)) {
    std::vector<ir::Entry> recorded;
    for (const ir::NodePtr& node : trace.recorded()) recorded.push_back({node});
    ir::infer_types(ir::topological_order(recorded), is_training());
  }
  for (Parameter p : own)
    if (const ir::NodePtr node = variables.find(p); node && !node->types.empty())
      p.set_shape(node->types[0].shape);
}

namespace {

[[noreturn]] void no_form(const HybridBlock& block, std::string_view tensors) {
  throw NoForm(numbered(
      fmt::format(
          "{}{} defines no hybrid_forward() of {}: call it with as many as it takes, or override that form",
          line_prefix(CallSite::caller()), block.class_name(), tensors),
      Mistake::wrong_arity));
}

}  // namespace

Tensor HybridBlock::hybrid_forward(F&) { no_form(*this, "no tensor"); }
Tensor HybridBlock::hybrid_forward(F&, const Tensor&) { no_form(*this, "one tensor"); }
Tensor HybridBlock::hybrid_forward(F&, const Tensor&, const Tensor&) { no_form(*this, "two tensors"); }
Tensor HybridBlock::hybrid_forward(F&, const Tensor&, const Tensor&, const Tensor&) {
  no_form(*this, "three tensors");
}
Tensors HybridBlock::hybrid_forward(F& F, const Tensors& in) {
  switch (in.size()) {
    case 0:
      return {hybrid_forward(F)};
    case 1:
      return {hybrid_forward(F, in[0])};
    case 2:
      return {hybrid_forward(F, in[0], in[1])};
    case 3:
      return {hybrid_forward(F, in[0], in[1], in[2])};
    default:
      fail(Mistake::wrong_arity,
           "{}{} defines no hybrid_forward() of {} tensors; override hybrid_forward(F&, const Tensors&)",
           line_prefix(CallSite::caller()), class_name(), in.size());
  }
}

}  // namespace kiln
