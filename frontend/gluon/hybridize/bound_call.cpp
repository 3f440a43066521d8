// Bound calls: their arrays, their validity and their runs.
#include "frontend/autograd/tape.h"
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/call/random_state.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "runtime/fail.h"
#include "runtime/fixed_text.h"
#include "runtime/messages.h"

#include <kiln/bound_call.h>

#include <algorithm>
#include <new>
#include <optional>

namespace kiln {

using detail::Array;
using detail::TensorAccess;
using detail::TracedCall;

struct BoundCall::State {
  explicit State(std::shared_ptr<const TracedCall> c)
      : call(std::move(c)), code(call->executable->refined()), repeated(call->executable->refined()) {}

  std::string block;
  std::shared_ptr<const TracedCall> call;
  std::shared_ptr<const detail::Revision> origin;  // of the block
  std::uint64_t confirmed = 0;                     // the epoch in which the call was last found valid
  Tensors inputs;
  Tensors results;
  std::vector<std::shared_ptr<Array>> arrays;  // written by each run
  detail::ArrayCall code;
  RepeatedCall repeated;
  FixedText message;  // of the latest try_run() that failed

  bool owns(const Tensor& t) const {
    return std::find(arrays.begin(), arrays.end(), TensorAccess::array(t)) != arrays.end();
  }
  /// Whether the block still computes the same as at the time of bind(). A destroyed block no longer changes.
  bool current() {
    const std::uint64_t epoch = detail::structure_epoch.load(std::memory_order_relaxed);
    if (confirmed != epoch && !call->dependencies.unchanged()) return false;
    confirmed = epoch;
    return !origin->alive() || (call->captures_in_use() && call->reads_unchanged());
  }
  /// The program may have written a recorded value into a result.
  void end_histories_of_results() const {
    for (const std::shared_ptr<Array>& array : arrays)
      if (array->history.load(std::memory_order_acquire)) [[unlikely]]
        end_history(array);
  }
  [[gnu::noinline]] void end_history(const std::shared_ptr<Array>& array) const {
    const TensorType& type = call->fresh[static_cast<std::size_t>(&array - arrays.data())];
    detail::record_write(TensorAccess::make(array, 0, type.shape, type.dtype), {}, /*has_rest=*/false,
                         CallSite::caller());
  }
  void bind(const Tensors& to) {
    inputs = to;
    detail::ArgumentList arguments(code);
    call->fill_arguments(inputs, arguments);
    call->fill_results(inputs, arrays, TracedCall::Made::kept, results);
  }

  RunStatus::Code obstacle();
  void explain(RunStatus::Code code);
  [[noreturn]] void fail_of(RunStatus::Code code, Where where);
  void require_no_obstacle(Where where);
  FailedCheck repeat();
};

BoundCall::BoundCall(std::shared_ptr<State> state) : state_(std::move(state)) {}

/// Why it cannot run now. The thread's state is read once: each access costs a call.
[[gnu::always_inline]] inline RunStatus::Code BoundCall::State::obstacle() {
  using enum RunStatus::Code;
  const CallContext& context = CallContext::current();
  if (context.trace) return traced;
  if (context.recording) return recording;
  if (call->signature.train != context.training || call->signature.numpy != NumpyScope::program())
    return other_mode;
  return current() ? ok : changed;
}

void BoundCall::State::explain(RunStatus::Code code) {
  using enum RunStatus::Code;
  constexpr std::size_t max_name_bytes = 128;  // so that the whole sentence has room
  const std::string_view name = whole_characters(std::string_view(block).substr(0, max_name_bytes));
  if (code == traced)
    message.add("A bound call of {} runs on arrays and cannot be traced; call the block instead", name);
  else if (code == recording)
    message.add("A bound call of {} is not recorded for gradients: call the block inside autograd::Record",
                name);
  else if (code == other_mode && call->signature.train != is_training())
    message.add("The call of {} was bound for {}: bind one for each mode", name,
                std::string_view(call->signature.train ? "training" : "prediction"));
  else if (code == other_mode)
    message.add("The call of {} was bound {} numpy mode: bind one for each mode", name,
                std::string_view(call->signature.numpy ? "in" : "outside of"));
  else
    add_number(message.add("The network {} has changed since its call was bound (a child, a hook, an Attr, a "
                           "dtype, an array that it holds): bind it again",
                           name),
               Mistake::changed_since_bind);
}

void BoundCall::State::fail_of(RunStatus::Code code, Where where) {
  message.clear();
  explain(code);
  fail("{}{}", line_prefix(where), message.view());
}

[[gnu::always_inline]] inline void BoundCall::State::require_no_obstacle(Where where) {
  const RunStatus::Code code = obstacle();
  if (code != RunStatus::Code::ok) [[unlikely]]
    fail_of(code, where);
}

[[gnu::always_inline]] inline FailedCheck BoundCall::State::repeat() {
  const auto begin = [&] {
    if (code.writes_arguments()) call->end_history(inputs);
    end_histories_of_results();
  };
  return code.repeat(repeated, detail::TapeSteps{begin, [](const RandomState&) {}}, reserve_random);
}

namespace {

constexpr const char* moved_from_text =
    "this handle of a bound call was moved to another one: use that one, or bind again";

template <class State>
State& state_of(const std::shared_ptr<State>& state, std::source_location where = {}) {
  if (!state) [[unlikely]]
    fail("{}{}", line_prefix(where), moved_from_text);
  return *state;
}

}  // namespace

const Tensors& BoundCall::run(Where where) {
  State& s = state_of(state_, where);
  s.require_no_obstacle(where);
  at_line(where, [&] {
    if (const FailedCheck failed = s.repeat()) failed.fail();
  });
  return s.results;
}

RunStatus BoundCall::try_run() noexcept {
  using enum RunStatus::Code;
  RunStatus status;
  if (!state_) [[unlikely]] {
    status.code_ = moved_from;
    status.message_ = moved_from_text;
    return status;
  }
  State& s = *state_;
  try {
    status.code_ = s.obstacle();
    if (status) {
      const FailedCheck failed = s.repeat();
      if (!failed) [[likely]]
        return status;
      status.code_ = invalid_value;
      s.message.clear();
      if (!failed.check->line().empty()) s.message.add("{}: ", failed.check->line());
      failed.check->explain(failed, s.message);
    } else {
      s.message.clear();
      s.explain(status.code_);
    }
  } catch (const Error& e) {
    status.code_ = e.kind() == Error::Kind::internal ? internal : out_of_memory;
    s.message.clear();
    s.message.add("{}", std::string_view(e.what()));
  } catch (const std::bad_alloc&) {
    status.code_ = out_of_memory;
    s.message.clear();
    s.message.add("out of memory in a bound call of {}", std::string_view(s.block));
  } catch (...) {
    status.code_ = internal;
    s.message.clear();
    s.message.add("a bound call of {} ended with an unknown exception", std::string_view(s.block));
  }
  status.message_ = s.message.c_str();
  return status;
}

void BoundCall::warm_up(Where where) {
  State& s = state_of(state_, where);
  s.require_no_obstacle(where);
  at_line(where, [&] { s.code.warm_up(s.repeated); });
}

const Tensor& BoundCall::operator()(Where where) {
  const State& s = state_of(state_, where);
  if (s.results.size() != 1)
    fail("{}The block {} gives {} tensors: run() returns all", line_prefix(where), s.block, s.results.size());
  return run(where)[0];
}

const Tensors& BoundCall::inputs() const { return state_of(state_).inputs; }
const Tensors& BoundCall::results() const { return state_of(state_).results; }

void BoundCall::set_inputs(const Tensors& inputs, Where where) {
  State& s = state_of(state_, where);
  for (const Tensor& t : inputs)
    if (!t.defined() || TensorAccess::array(t)->traced())
      fail("{}The call of {} is bound to arrays: an input without elements cannot replace them",
           line_prefix(where), s.block);
  const CallSignature& bound = s.call->signature;
  if (!bound.matches(inputs, bound.train)) {
    const std::string given = CallSignature(inputs, bound.train).str();
    fail("{}The call of {} is bound to {} and cannot take {}{}", line_prefix(where), s.block, bound.str(),
         given, given == bound.str() ? ", which alias each other differently" : "");
  }
  if (s.call->overlaps(inputs))
    fail("{}The block {} writes to an array that is also another argument", line_prefix(where), s.block);
  if (std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& t) { return s.owns(t); }))
    fail("{}A bound call of {} cannot read the array of its own result: copy() it", line_prefix(where),
         s.block);
  s.bind(inputs);
}

BoundCall HybridBlock::bind(const Tensors& inputs, Where where) const {
  detail::BlockState& s = state();
  const std::source_location line = CallSite::resolve(where);
  if (!s.active)
    fail(Mistake::not_hybridized, "{}bind() is for a compiled call: hybridize() the block {} first",
         line_prefix(line), name());
  if (!s.hooks.empty())
    fail("{}The block {} has hooks, which a bound call would not run: detach them, or call the block",
         line_prefix(line), name());
  if (!records_alone())
    fail("{}{} keeps tensors from step to step: a call of it by itself is not compiled and cannot be bound",
         line_prefix(line), name());
  if (Trace::current())
    fail("{}bind() cannot be traced: call the block {} instead", line_prefix(line), name());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      fail("{}Input {} of the block {} is an undefined Tensor", line_prefix(line), i, name());

  const CallSite site(s.library ? std::optional(line) : std::nullopt, line);
  const auto prepared =
      at_line(line, [&] { return calls_.get(s)->prepare(const_cast<HybridBlock&>(*this), inputs); });
  const TracedCall& call = *prepared;
  if (!call.executable || call.overlaps(inputs))
    fail("{}the call of {} runs eagerly and cannot be bound: {}", line_prefix(line), name(),
         call.executable ? "it writes to an array that is also another argument" : call.eager_because);
  auto bound = at_line(line, [&] { return std::make_shared<BoundCall::State>(prepared); });
  bound->block = detail::shown_name(*this);
  bound->origin = s.structure;
  for (const TensorType& type : call.fresh) {
    const Device device = call.executable->device();
    bound->arrays.push_back(
        at_line(line, [&] { return std::make_shared<Array>(Buffer(type, device), type.shape); }));
  }
  bound->code.set_results(bound->arrays);
  bound->results.resize(call.results.size());
  bound->bind(inputs);
  return BoundCall(std::move(bound));
}

}  // namespace kiln
