// A hybridized call: look-up, arguments, run and results. A hit stays in this file, to be inlined.
#include "frontend/gluon/hybridize/cached_call.h"

#include "frontend/call/call_site.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/call/random_state.h"
#include "frontend/call/readable.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/recording_history.h"
#include "frontend/gluon/hybridize/recording_table.h"
#include "frontend/tensor/elements.h"
#include "frontend/tensor/view_scope.h"
#include "frontend/view/view.h"
#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/once.h"
#include "runtime/precision_on.h"
#include "runtime/small_array.h"

#include <algorithm>
#include <utility>

namespace kiln {

using detail::Array;
using detail::RecordingTable;
using detail::TapeLink;
using detail::TensorAccess;
using detail::TracedCall;

namespace {

struct ArrayPlace {
  std::uint32_t array;
  std::int64_t distance;
  std::uint32_t value;
  bool operator==(const ArrayPlace&) const = default;
};

ArrayPlace place_of(const CallSignature::Input& in) { return {in.array, in.distance, in.value}; }

/// Position of input i among the arrays of the call.
ArrayPlace place_of(std::span<const Tensor> inputs, std::size_t i) {
  const auto own = static_cast<std::uint32_t>(i);
  ArrayPlace place{own, 0, own};
  for (std::size_t j = i; j-- > 0;) {
    if (TensorAccess::array(inputs[j]) != TensorAccess::array(inputs[i])) continue;
    place.array = static_cast<std::uint32_t>(j);
    place.distance = TensorAccess::offset(inputs[i]) - TensorAccess::offset(inputs[j]);
    if (are_one_value(inputs[i], inputs[j])) place.value = place.array;
  }
  return place;
}

void refuse_traced(const HybridBlock& block, std::span<const Tensor> inputs) {
  for (const Tensor& t : inputs)
    if (TensorAccess::array(t)->traced())
      check_readable(t, fmt::format("the block {}", block.name()).c_str(), CallSite::caller());
}

std::size_t max_recordings(const HybridizeOptions& options) {
  const std::size_t of_process = once<[] { return count_from_env("KILN_RECORDINGS_MAX_COUNT", 256); }>();
  return options.max_recordings > 0 ? static_cast<std::size_t>(options.max_recordings) : of_process;
}

Device device_of_inputs(std::span<const Tensor> inputs) {
  SmallArray<const Tensor*, 8> pointers(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) pointers[i] = &inputs[i];
  return common_device({pointers.data(), inputs.size()}, "a call of a block",
                       [](std::size_t i) { return fmt::format("input {}", i); }, {});
}

}  // namespace

CallSignature::CallSignature(std::span<const Tensor> tensors, bool is_train)
    : device(device_of_inputs(tensors)),
      train(is_train),
      numpy(NumpyScope::program()),
      precision(precision_on(device)) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto [array, distance, value] = place_of(tensors, i);
    inputs.push_back(
        {TensorAccess::dtype(tensors[i]), TensorAccess::shape(tensors[i]), array, distance, value});
  }
}

bool CallSignature::matches(std::span<const Tensor> tensors, bool is_train) const {
  if (tensors.size() != inputs.size() || train != is_train || numpy != NumpyScope::program() ||
      precision != precision_on(device))
    return false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (TensorAccess::dtype(t) != inputs[i].dtype || !(TensorAccess::shape(t) == inputs[i].shape) ||
        !(TensorAccess::device(t) == device))
      return false;
  }
  if (tensors.empty()) return device == DeviceScope::current();
  if (tensors.size() == 1) return true;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::size_t first = 0;  // the first input with the same array, in most calls this one
    while (TensorAccess::array(tensors[first]) != TensorAccess::array(tensors[i])) ++first;
    if (first != inputs[i].array) return false;
    if (first != i && place_of(tensors, i) != place_of(inputs[i])) return false;
  }
  return true;
}

std::string CallSignature::inputs_str() const {
  std::string out;
  for (const Input& in : inputs) out += (out.empty() ? "" : ", ") + TensorType{in.dtype, in.shape}.str();
  if (numpy) out += out.empty() ? "no inputs, numpy mode" : ", numpy mode";
  if (out.empty()) out = "no inputs";
  return device.is_cpu() ? out : out + " on " + device.str();
}

std::string CallSignature::str() const { return inputs_str() + (train ? ", training" : ""); }

bool CallSignature::shares_arrays() const {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].array != i) return true;
  return false;
}

bool TracedCall::confirm() const {
  const std::uint64_t epoch = detail::structure_epoch.load(std::memory_order_relaxed);
  if (!dependencies.unchanged() || !dependencies.alive() || !hybridized.unchanged()) return false;
  confirmed.store(epoch, std::memory_order_relaxed);
  return true;
}

bool TracedCall::written_overlap(std::span<const Tensor> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Array& in = *TensorAccess::array(inputs[i]);
    for (const std::uint32_t w : written_captures)
      if (in.overlaps(*captures[w].array.get())) return true;
    if (!writes_inputs) continue;
    if (detail::shares_memory(in, inputs.first(i))) return true;
    for (const Capture& c : captures)
      if (in.overlaps(*c.array.get())) return true;
  }
  return false;
}

TracedCall::History TracedCall::history_of(const Tensor& argument) {
  if (!detail::has_link(argument)) return History::none;
  return detail::variable_of(argument) ? History::variable : History::call;
}

bool TracedCall::has_histories(std::span<const Tensor> inputs) const {
  for (std::size_t i = 0; i < histories.size(); ++i)
    if (history_of(argument(inputs, i)) != histories[i]) return false;
  return true;
}

void TracedCall::run(std::span<const Tensor> inputs, std::span<Tensor> outputs, bool records) const {
  if (records || has_record) [[unlikely]]
    return run_recorded(inputs, outputs, {});
  run_alone(inputs, outputs);
  if (has_own_values) own_results({}, outputs);
}

void TracedCall::run_alone(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  detail::ArrayCall code(*executable);
  detail::ArgumentList arguments(code);
  fill_arguments(inputs, arguments);
  SmallArray<std::shared_ptr<Array>, 8> arrays(fresh.size());
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    arrays[i] = std::make_shared<Array>(Buffer(fresh_bytes[i], executable->device()), fresh[i].shape);
    code.set_result(i, *arrays[i]);
  }
  const auto begin = [&] {
    if (code.writes_arguments()) end_history(inputs);
  };
  code.run(detail::TapeSteps{begin, [](const RandomState&) {}}, reserve_random);
  fill_results(inputs, {arrays.data(), fresh.size()}, Made::taken, outputs);
}

void TracedCall::own_results(std::span<const Tensor> made, std::span<Tensor> outputs) const {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].own_value) continue;
    const auto same = std::find_if(results.begin(), results.end(),
                                   [&](const Result& r) { return r.own_value == results[i].own_value; });
    if (const auto first = static_cast<std::size_t>(same - results.begin()); first < i) {
      outputs[i] = outputs[first];
      continue;
    }
    const TapeLink link =
        made.empty() ? TapeLink() : link_of(made[*results[i].own_value], CallSite::caller());
    if (link || detail::has_link(outputs[i]))
      outputs[i] = detail::own_value(outputs[i], link, detail::ViewScope::call());
  }
}

Tensor TracedCall::argument(std::span<const Tensor> inputs, std::size_t i) const {
  return i < inputs.size() ? inputs[i] : captures[i - inputs.size()].whole();
}

void TracedCall::end_history(std::span<const Tensor> inputs) const {
  for (const InPlace& w : in_place) {
    const Tensor written = argument(inputs, w.argument);
    if (!detail::has_link(written)) continue;
    for (const ArrayPart& part : w.parts) {
      // The part as the program derived it, in a separate call.
      const ViewScope scope(ViewScope::next_call());
      const auto view = [&](std::int64_t offset, const Shape& shape) {
        return view_of(written, TensorAccess::offset(written) + offset, shape);
      };
      for (auto step = part.steps.rbegin(); step != part.steps.rend(); ++step)
        view_of(view(step->base_offset, step->base_shape), TensorAccess::offset(written) + step->offset,
                step->shape, step->step);
      record_write(view(part.offset, part.shape), {}, /*has_rest=*/false, CallSite::caller());
    }
  }
  end_history_of_states(inputs);
}

void TracedCall::end_history_of_states(std::span<const Tensor> inputs) const {
  for (const ExecutablePlan::WriteBack& w : executable->plan().write_backs) {
    if (std::any_of(in_place.begin(), in_place.end(),
                    [&](const InPlace& p) { return p.argument == w.input; }))
      continue;
    if (const Tensor state = argument(inputs, w.input);
        detail::has_link(state) && !detail::variable_of(state))
      record_write(state, Tensor(), /*has_rest=*/false, CallSite::caller());
  }
}

void TracedCall::fill_arguments(std::span<const Tensor> inputs, ArgumentList& arguments) const {
  for (const Tensor& t : inputs) arguments.add(t);
  for (const Capture& c : captures) arguments.add(*c.array.get());
}

void TracedCall::fill_results(std::span<const Tensor> inputs, std::span<std::shared_ptr<Array>> fresh_arrays,
                              Made made, std::span<Tensor> outputs) const {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& r = results[i];
    switch (r.of) {
      case Result::Of::fresh:
        if (std::shared_ptr<Array>& array = fresh_arrays[r.index]; r.last && made == Made::taken)
          TensorAccess::assign(outputs[i], std::move(array), r.offset, r.shape, r.dtype);
        else
          TensorAccess::assign(outputs[i], array, r.offset, r.shape, r.dtype);
        break;
      case Result::Of::input:
        TensorAccess::assign(outputs[i], TensorAccess::array(inputs[r.index]),
                             TensorAccess::offset(inputs[r.index]) + r.offset, r.shape, r.dtype);
        if (r.offset == 0 && r.shape == TensorAccess::shape(inputs[r.index]))
          TensorAccess::set_alias(outputs[i], TensorAccess::alias(inputs[r.index]));
        break;
      case Result::Of::capture:
        if (captures[r.index].is_made()) {
          const auto same = [&](const Result& o) { return o.of == r.of && o.index == r.index; };
          const auto first = std::find_if(results.begin(), results.end(), same) - results.begin();
          const auto at = static_cast<std::size_t>(first);
          const std::shared_ptr<Array> copy = at < i ? TensorAccess::array(outputs[at])
                                                     : TensorAccess::array(captures[r.index].whole().copy());
          TensorAccess::assign(outputs[i], copy, r.offset, r.shape, r.dtype);
        } else {
          TensorAccess::assign(outputs[i], captures[r.index].array.get(), r.offset, r.shape, r.dtype);
        }
        break;
    }
  }
}

CachedCall::CachedCall() : history_(std::make_unique<detail::RecordingHistory>()) {}
CachedCall::~CachedCall() { delete published_.load(std::memory_order_acquire); }

inline const TracedCall* CachedCall::find(std::span<const Tensor> inputs, CallMode mode) const {
  const RecordingTable* const table = published_.load(std::memory_order_acquire);
  const TracedCall* const c = table ? table->find(inputs, mode) : nullptr;
  return c && c->current() ? c : nullptr;
}

std::shared_ptr<const TracedCall> CachedCall::hold(std::span<const Tensor> inputs, CallMode mode) const {
  const ReadSection<Domain::recordings> section;
  const TracedCall* const c = find(inputs, mode);
  return c ? c->shared_from_this() : nullptr;
}

inline const TracedCall* CachedCall::ready(std::span<const Tensor> inputs, CallMode mode) const {
  for (const Tensor& t : inputs)
    if (!t.defined() || TensorAccess::array(t)->traced()) return nullptr;
  const TracedCall* c = find(inputs, mode);
  return c && !c->checked && !c->runs_eagerly(inputs, mode.recording) ? c : nullptr;
}

bool CachedCall::hit(std::span<const Tensor> inputs, const CallContext& now, Tensor& out,
                     std::source_location where) const {
  const ReadSection<Domain::recordings> section;
  const TracedCall* c = ready(inputs, CallMode::of(now));
  if (!c || c->results.size() != 1) return false;
  if (now.recording) [[unlikely]]
    c->run_recorded(inputs, {&out, 1}, where);
  else
    c->run(inputs, {&out, 1}, false);
  return true;
}

bool CachedCall::hit(std::span<const Tensor> inputs, const CallContext& now, Tensors& out) const {
  const ReadSection<Domain::recordings> section;
  const TracedCall* c = ready(inputs, CallMode::of(now));
  if (!c) return false;
  out.resize(c->results.size());
  c->run(inputs, out, now.recording);
  return true;
}

Tensors CachedCall::call(HybridBlock& block, std::span<const Tensor> inputs) {
  refuse_traced(block, inputs);
  const CallMode mode = CallMode::current();
  auto held = hold(inputs, mode);
  const bool just_recorded = !held;
  if (just_recorded) held = find_or_trace(block, inputs, mode);
  const TracedCall& c = *held;
  // The recording assumes that each written array is visible through one argument only, and on the tape that
  // it is a whole array. Otherwise the call runs eagerly.
  if (c.runs_eagerly(inputs, mode.recording))
    return detail::BlockAccess::run(block, {inputs.begin(), inputs.end()});
  if (c.checked) return detail::run_checked(block, c, just_recorded, inputs);
  Tensors out(c.results.size());
  c.run(inputs, out, detail::is_recording());
  return out;
}

std::shared_ptr<const TracedCall> CachedCall::prepare(HybridBlock& block, std::span<const Tensor> inputs) {
  refuse_traced(block, inputs);
  const auto held = hold(inputs, CallMode::current());
  return held ? held : find_or_trace(block, inputs, CallMode::current());
}

std::shared_ptr<const TracedCall> CachedCall::find_or_trace(HybridBlock& block,
                                                            std::span<const Tensor> inputs, CallMode mode) {
  CallSignature signature(inputs, mode.train);
  std::unique_lock lock(mutex_);
  const auto busy = [&] {
    return std::any_of(in_progress_.begin(), in_progress_.end(),
                       [&](const CallSignature* s) { return *s == signature; });
  };
  for (;;) {
    if (const TracedCall* c = find(inputs, mode)) return c->shared_from_this();
    if (!busy()) break;
    done_.wait(lock);
  }
  const ForkGuard guard;  // a child of fork() would wait for the recordings in progress for ever
  RecordingTable::Calls calls = published_calls();
  const std::size_t stale = std::erase_if(calls, [](const auto& c) { return !c->current(); });
  std::unique_ptr<Retirable> replaced;
  detail::recording_counts.dropped += stale;
  if (stale > 0) replaced = replace(std::move(calls));
  in_progress_.push_back(&signature);
  lock.unlock();
  retire(Domain::recordings, std::move(replaced));
  std::shared_ptr<TracedCall> made;
  std::exception_ptr error;
  try {
    made = detail::trace_call(block, signature, inputs, mode.recording, *history_);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  std::erase(in_progress_, &signature);
  done_.notify_all();
  if (error) std::rethrow_exception(error);
  replaced = publish(made);
  lock.unlock();
  retire(Domain::recordings, std::move(replaced));
  return made;
}

std::vector<std::shared_ptr<const TracedCall>> CachedCall::published_calls() const {
  const RecordingTable* const table = published_.load(std::memory_order_relaxed);
  return table ? table->calls() : RecordingTable::Calls();
}

std::uint64_t CachedCall::next_number() const {
  const RecordingTable* const table = published_.load(std::memory_order_relaxed);
  return table ? table->number() + 1 : 1;
}

std::unique_ptr<RecordingTable> CachedCall::replace(RecordingTable::Calls calls) {
  auto table = std::make_unique<RecordingTable>(std::move(calls), next_number());
  return std::unique_ptr<RecordingTable>(published_.exchange(table.release(), std::memory_order_acq_rel));
}

std::unique_ptr<RecordingTable> CachedCall::publish(std::shared_ptr<const TracedCall> call) {
  call->used_in.store(next_number(), std::memory_order_relaxed);
  const std::size_t limit = max_recordings(call->options);
  RecordingTable::Calls calls = published_calls();
  calls.push_back(std::move(call));
  const std::size_t all = calls.size();
  calls = detail::recently_used(std::move(calls), limit);
  detail::recording_counts.made += 1;
  detail::recording_counts.dropped += all - calls.size();
  return replace(std::move(calls));
}

}  // namespace kiln
