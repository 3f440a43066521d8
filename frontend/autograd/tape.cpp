// Recording of calls, writes and views on the tape.
#include "frontend/autograd/tape.h"

#include "frontend/autograd/function_call.h"
#include "frontend/call/line.h"
#include "frontend/tensor/elements.h"
#include "frontend/view/view.h"
#include "runtime/messages.h"

#include <algorithm>
#include <utility>

namespace kiln::detail {
namespace {

thread_local std::uint64_t* numbers_of_expansion = nullptr;

const TapeLink* link_in(const Array& array) {
  const ArrayTape* const tape = known_tape(array);
  return tape && tape->link ? &tape->link : nullptr;
}

void add_view(Array& array, ArrayTape::View view) {
  ArrayTape& tape = tape_of(array);
  const std::lock_guard lock(history_mutex(array));
  std::erase_if(tape.views, [](const ArrayTape::View& v) {
    return ViewScope::has_ended(v.key.scope) || is_consumed(v.link);
  });
  tape.views.push_back(std::move(view));
}

TapeEntry::Saved saved(const Tensor& t) { return {save(TensorAccess::array(t)), TensorAccess::offset(t)}; }

}  // namespace

std::uint64_t take_numbers(std::uint64_t count) {
  static std::atomic<std::uint64_t> next{1};
  if (numbers_of_expansion) return (*numbers_of_expansion += count) - 1;
  return next.fetch_add(count, std::memory_order_relaxed) + count - 1;
}

std::size_t number_sums(std::span<const TapeLink> links, std::span<std::int64_t> numbers) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    numbers[i] = ir::GradientRequest::none;
    if (!links[i]) continue;
    const std::size_t same =
        static_cast<std::size_t>(std::find(links.begin(), links.end(), links[i]) - links.begin());
    numbers[i] = same < i ? numbers[same] : count++;
  }
  return static_cast<std::size_t>(count);
}

SharedSums::SharedSums(std::span<const TapeLink> by_input) : numbers(by_input.size()) {
  links.resize(number_sums(by_input, numbers));
  for (std::size_t i = 0; i < by_input.size(); ++i)
    if (numbers[i] != ir::GradientRequest::none) links[static_cast<std::size_t>(numbers[i])] = by_input[i];
}

TapeEntry::TapeEntry(std::shared_ptr<const GradientCode> c, const ir::GradientUses& u,
                     std::unique_ptr<JointCall> j)
    : code(std::move(c)),
      inputs(code->body()->inputs.size()),
      outputs(code->body()->outputs.size()),
      uses(&u),
      saved(u.inputs.size() + u.outputs.size()),
      joint(std::move(j)) {}

TapeEntry::TapeEntry(std::shared_ptr<FunctionCall> f, std::size_t input_count, std::size_t output_count)
    : function(std::move(f)), inputs(input_count), outputs(output_count), saved(0) {}

TapeEntry::~TapeEntry() {
  // Entries that only this one leads to end here, not within each other's destructors. One that several links
  // lead to ends with the last of them. A chain of entries needs no list.
  std::shared_ptr<TapeEntry> next;
  std::vector<std::shared_ptr<TapeEntry>> ending;
  const auto take = [&](std::span<TapeLink> links) {
    for (TapeLink& link : links) {
      std::shared_ptr<TapeEntry> entry = std::move(link.entry);
      if (entry.use_count() != 1) continue;
      if (next)
        ending.push_back(std::move(entry));
      else
        next = std::move(entry);
    }
  };
  take(inputs);
  take(expanded);
  while (next) {
    const std::shared_ptr<TapeEntry> last = std::move(next);
    next = nullptr;
    if (!ending.empty()) {
      next = std::move(ending.back());
      ending.pop_back();
    }
    take(last->inputs);
    take(last->expanded);
  }
}

void TapeEntry::consume() {
  consumed = true;
  expanded.clear();
  for (Saved& s : saved) s.value.reset();
  joint.reset();
  function.reset();
}

const TapeLink& resolved(const TapeLink& link) {
  const TapeLink* at = &link;
  while (at->entry && !at->entry->expanded.empty()) at = &at->entry->expanded[at->output];
  return *at;
}

bool is_consumed(const TapeLink& link) {
  const TapeLink& node = resolved(link);
  return node.entry && node.entry->consumed;
}

NumberScope::NumberScope(std::uint64_t first)
    : next_(first), outer_(std::exchange(numbers_of_expansion, &next_)) {}
NumberScope::~NumberScope() { numbers_of_expansion = outer_; }

TapeLink link_of(const Tensor& t, std::source_location where) {
  Array& array = *TensorAccess::array(t);
  const TapeLink* const whole = link_in(array);
  if (!whole) return {};
  if (TensorAccess::is_array(t)) return *whole;
  {
    const std::lock_guard lock(history_mutex(array));
    for (const ArrayTape::View& view : tape_of(array).views)
      if (view.key.is_read_by(t) && view.of == *whole && !is_consumed(view.link)) return view.link;
  }
  if (TensorAccess::is_whole(t) && !is_derived(t)) return *whole;
  const TapeLink of = *whole;
  const Tensor cut = cut_out(t, where);
  // A view that is a separate value without a history is a constant.
  const TapeLink* const of_cut = link_in(*TensorAccess::array(cut));
  const TapeLink link = of_cut ? *of_cut : TapeLink();
  add_view(array, {ViewKey(t), of, link});
  return link;
}

bool has_own_value(const Tensor& t) {
  Array& array = *TensorAccess::array(t);
  const TapeLink* const whole = link_in(array);
  if (!whole) return false;
  const std::lock_guard lock(history_mutex(array));
  const std::vector<ArrayTape::View>& views = tape_of(array).views;
  return std::any_of(views.begin(), views.end(), [&](const ArrayTape::View& v) {
    return v.key.is_own() && v.key.is_read_by(t) && v.of == *whole;
  });
}

bool has_history(const Tensor& t) {
  const TapeLink* const whole = link_in(*TensorAccess::array(t));
  if (!whole) return false;
  const Tensor own = own_behind(t);
  return !own.defined() || link_of(own, {});
}

Tensor own_value(const Tensor& t, const TapeLink& link, std::uint64_t call) {
  Array& array = *TensorAccess::array(t);
  Tensor own = with_alias(t);
  if (const TapeLink* const whole = link_in(array)) add_view(array, {ViewKey(own, call), *whole, link});
  return own;
}

CallRecording::CallRecording(const std::shared_ptr<const GradientCode>& code,
                             std::span<const Tensor* const> inputs, std::span<TapeLink> links,
                             std::source_location where, const std::shared_ptr<JointCodes>& joint) {
  SmallArray<std::int64_t, 16> sums(links.size());
  if (number_sums(links, sums) == 0) return;
  const GradientCode::Known& recorded = code->recorded(sums);
  if (joint) {
    const JointCodes::Pair& pair = joint->expected(recorded, where);
    entry_ = std::make_shared<TapeEntry>(code, pair.uses, std::make_unique<JointCall>(joint, pair));
  } else {
    entry_ = std::make_shared<TapeEntry>(code, recorded.uses, nullptr);
  }
  entry_->train = CallContext::current().training;
  entry_->device = TensorAccess::device(*inputs[0]);
  entry_->where = where;
  std::move(links.begin(), links.end(), entry_->inputs.begin());
  std::size_t next = 0;
  for (const std::int64_t i : entry_->uses->inputs)
    entry_->saved[next++] = saved(*inputs[static_cast<std::size_t>(i)]);
}

void CallRecording::finish(std::span<const Tensor> outputs, const RandomState& random) {
  if (!entry_) return;
  entry_->number = take_numbers(entry_->code->entries());
  entry_->random = random;
  std::size_t next = entry_->uses->inputs.size();
  for (const std::int64_t i : entry_->uses->outputs)
    entry_->saved[next++] = saved(outputs[static_cast<std::size_t>(i)]);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Array& array = *TensorAccess::array(outputs[i]);
    TapeLink link = link_of_output(i);
    if (!link && !known_tape(array)) continue;
    if (variable_of(outputs[i])) {  // written inside Pause, it stays the variable
      tape_of(array).views.clear();
      continue;
    }
    if (!TensorAccess::is_whole(outputs[i])) fail_internal("a recorded call wrote into a part of an array");
    ArrayTape& tape = tape_of(array);
    tape.link = std::move(link);
    tape.views.clear();
  }
}

TapeLink CallRecording::link_of_output(std::size_t i) const {
  const GradientCode::Output& value = entry_->code->output(i);
  if (value.input) return entry_->inputs[*value.input];
  if (!entry_->uses->active[i]) return {};
  return {entry_, static_cast<std::uint32_t>(value.first), nullptr};
}

History history_of(Array& array) {
  ArrayTape* const tape = known_tape(array);
  if (!tape) return {};
  const std::lock_guard lock(history_mutex(array));
  return {tape->link, tape->views};
}

void restore_history(Array& array, const History& history) {
  ArrayTape* const tape = known_tape(array);
  if (!tape) return;
  const std::lock_guard lock(history_mutex(array));
  tape->link = history.link;
  tape->views = history.views;
}

void check_may_write(const Tensor& t, std::source_location where, bool recorded) {
  if (recorded && variable_of(t))
    fail(Mistake::write_while_recording,
         "{}an array with a gradient attached is written while calls are recorded: write it outside of "
         "autograd::Record, or inside autograd::Pause",
         line_prefix(where));
}

void record_write(const Tensor& view, const Tensor& value, bool has_rest, std::source_location where) {
  Array& array = *TensorAccess::array(view);
  const TapeLink* const old = link_in(array);
  check_may_write(view, where);
  if (old && old->variable) {
    tape_of(array).views.clear();
    return;
  }
  const bool linked = (is_recording() || has_rest) && value.defined() && has_link(value);
  if (!old && !linked) return;
  const bool all = TensorAccess::shape(view).elements() == array.shape.elements();
  ArrayTape& tape = tape_of(array);
  if (all && !linked) {
    tape.link = {};
    tape.views.clear();
    return;
  }
  // A value without history takes part by its type alone.
  const Tensor part = linked ? value
                             : TensorAccess::make(std::make_shared<Array>(Buffer::none(array.device()),
                                                                          TensorAccess::shape(view)),
                                                  0, TensorAccess::shape(view), TensorAccess::dtype(view));
  const TapeLink written = linked ? link_of(value, where) : TapeLink();
  const Tensor next = replaced(view, part, is_recording(), where);
  tape.link = link_of(next, where);
  tape.views.clear();
  // The view now reads the written value. After a write outside of Record it is cut out of the array, as
  // other views are, so that a compiled call need not know how its writes were cut.
  if (is_recording() && !all && value.defined() && TensorAccess::shape(value) == TensorAccess::shape(view))
    tape.views.push_back({written_key(view), tape.link, written});
}

void attach_gradient(const Tensor& t, GradReq req) {
  Array& array = *TensorAccess::array(t);
  ArrayTape& tape = tape_of(array);
  tape.views.clear();
  if (req == GradReq::null) {
    tape.link = {};
    return;
  }
  auto variable = std::make_shared<GradVariable>();
  variable->req = req;
  variable->type = {TensorAccess::dtype(t), TensorAccess::shape(t)};
  variable->device = TensorAccess::device(t);
  tape.link = {nullptr, 0, std::move(variable)};
}

GradVariable* variable_of(const Tensor& t) {
  const TapeLink* const link = t.defined() ? link_in(*TensorAccess::array(t)) : nullptr;
  return link ? link->variable.get() : nullptr;
}

const Tensor& gradient_of(GradVariable& variable) {
  if (!variable.grad.defined()) variable.grad = filled(variable.type, 0, variable.device);
  return variable.grad;
}

}  // namespace kiln::detail
