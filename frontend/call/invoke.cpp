// The choice of a call's mode.

#include "frontend/call/invoke.h"

#include "frontend/call/amp_rules.h"
#include "frontend/call/call_context.h"
#include "frontend/call/ended_value.h"
#include "frontend/call/trace.h"
#include "runtime/messages.h"

#include <algorithm>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;

/// Throws for an input that is undefined, or not known here.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_input(const OpCall& call, std::size_t i) {
  const Array* array = TensorAccess::array(*call.inputs[i]).get();
  if (!array)
    fail(Mistake::undefined_tensor,
         "{}{}: the input {} is an undefined Tensor (made by Tensor() and never assigned)",
         line_prefix(call.where), call.op.name, input_name(call, i));
  fail_unknown(*array, fmt::format("{}: the input {} is", call.op.name, input_name(call, i)), call.where);
}

/// Whether the call must be recorded in `trace`, the thread's, or as a symbol. Throws for undefined tensors
/// and for values of a finished trace.
bool must_record(const OpCall& call, Trace* trace) {
  bool record = trace != nullptr;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Array* array = TensorAccess::array(*call.inputs[i]).get();
    if (!array) [[unlikely]]
      refuse_input(call, i);
    if (!array->traced()) continue;
    record = true;
    if (!is_known_here(*array, trace)) refuse_input(call, i);
  }
  return record;
}

/// Whether a gradient may pass from an input.
bool has_history(const OpCall& call) {
  return std::any_of(call.inputs.begin(), call.inputs.end(),
                     [](const Tensor* t) { return detail::has_link(*t); });
}

/// The mode of a call on arrays. An array that an operator updates loses its history also where calls are not
/// recorded.
const RunningMode& running_mode(const OpCall& call, bool recording) {
  if ((recording || !call.op.aux.empty()) && has_history(call)) [[unlikely]]
    return tape_mode(recording);
  return eager_mode();
}

const Mode& mode_of(const OpCall& call) {
  // The thread's state is read once: each access costs a call.
  const CallContext& context = CallContext::current();
  if (must_record(call, context.trace)) return trace_mode();
  return running_mode(call, context.recording);
}

}  // namespace

void run_on_arrays(const OpCall& call, std::span<Tensor> outputs, const RandomState* random) {
  running_mode(call, CallContext::current().recording).run(call, outputs, random);
}

namespace {

Tensor first_of(const OpCall& call) {
  return at_line(call.where, [&] { return mode_of(call).first(call); });
}
std::vector<Tensor> all_of(const OpCall& call) {
  return at_line(call.where, [&] { return mode_of(call).all(call); });
}

/// A call of the program after amp::init().
template <class Run>
[[gnu::cold, gnu::noinline]] auto run_mixed(const AmpRules& rules, const OpCall& call, const Run& run) {
  const MixedCall mixed(rules, call);
  return run(mixed.call());
}

}  // namespace

Tensor invoke_one(const OpCall& call) {
  if (const AmpRules* rules = detail::amp_rules.load(std::memory_order_relaxed)) [[unlikely]]
    return run_mixed(*rules, call, first_of);
  return first_of(call);
}

std::vector<Tensor> invoke_all(const OpCall& call) {
  if (const AmpRules* rules = detail::amp_rules.load(std::memory_order_relaxed)) [[unlikely]]
    return run_mixed(*rules, call, all_of);
  return all_of(call);
}

std::vector<Tensor> invoke(const ir::OpDef& op, std::span<const Tensor> inputs, const ir::Attrs& given,
                           std::source_location where, std::string name,
                           std::span<const ir::SubgraphPtr> bodies, bool np_shape) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return all_of({.op = op,
                 .inputs = pointers,
                 .given = given.items(),
                 .where = where,
                 .bodies = bodies,
                 .name = name,
                 .np_shape = np_shape});
}

Tensor invoke(std::string_view op_name, std::initializer_list<Tensor> inputs, const ir::Attrs& given,
              std::source_location where, std::string name) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return invoke_one({.op = find_op_or_throw(op_name),
                     .inputs = pointers,
                     .given = given.items(),
                     .where = where,
                     .name = name,
                     .hint = op_name});
}

}  // namespace kiln
