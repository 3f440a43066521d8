#include "frontend/autograd/tape.h"

#include "frontend/autograd/function_call.h"
#include "frontend/eager/call_context.h"
#include "frontend/eager/invoke.h"
#include "frontend/tensor/view.h"
#include "runtime/fail.h"

#include <algorithm>
#include <utility>

namespace kiln::detail {
namespace {

thread_local std::uint64_t* numbers_of_expansion = nullptr;

bool is_whole(const Tensor& t) {
  return TensorAccess::offset(t) == 0 && TensorAccess::shape(t) == TensorAccess::array(t)->shape;
}

const TapeLink* link_in(const Array& array) {
  const ArrayTape* const tape = array.tape.load(std::memory_order_acquire);
  return tape && tape->link ? &tape->link : nullptr;
}

TapeEntry::Saved saved(const Tensor& t) {
  return {save(TensorAccess::array(t)), TensorAccess::offset(t), TensorAccess::shape(t),
          TensorAccess::dtype(t)};
}

/// Adds the numbers of `more` that `list` does not have.
void add_missing(std::vector<std::int64_t>& list, std::span<const std::int64_t> more) {
  for (const std::int64_t i : more)
    if (std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
}

}  // namespace

std::uint64_t take_numbers(std::uint64_t count) {
  static std::atomic<std::uint64_t> next{1};
  if (numbers_of_expansion) return (*numbers_of_expansion += count) - 1;
  return next.fetch_add(count, std::memory_order_relaxed) + count - 1;
}

SharedSums::SharedSums(std::span<const TapeLink> by_input)
    : numbers(by_input.size(), ir::GradientRequest::none) {
  for (std::size_t i = 0; i < by_input.size(); ++i) {
    if (!by_input[i]) continue;
    const auto known = std::find(links.begin(), links.end(), by_input[i]);
    numbers[i] = known - links.begin();
    if (known == links.end()) links.push_back(by_input[i]);
  }
}

TapeEntry::~TapeEntry() {
  // Entries that only this one leads to end here, not within each other's destructors. One that several links
  // lead to ends with the last of them.
  std::vector<std::shared_ptr<TapeEntry>> ending;
  const auto take = [&](std::vector<TapeLink>& links) {
    for (TapeLink& link : links) {
      std::shared_ptr<TapeEntry> entry = std::move(link.entry);
      if (entry.use_count() == 1) ending.push_back(std::move(entry));
    }
  };
  take(inputs);
  take(expanded);
  while (!ending.empty()) {
    const std::shared_ptr<TapeEntry> last = std::move(ending.back());
    ending.pop_back();
    take(last->inputs);
    take(last->expanded);
  }
}

void TapeEntry::consume() {
  consumed = true;
  expanded.clear();
  saved_inputs.clear();
  saved_outputs.clear();
  joint.code.reset();
  joint_saved.reset();
  function.reset();
}

NumberScope::NumberScope(std::uint64_t first)
    : next_(first), outer_(std::exchange(numbers_of_expansion, &next_)) {}
NumberScope::~NumberScope() { numbers_of_expansion = outer_; }

bool has_link(const Tensor& t) { return link_in(*TensorAccess::array(t)) != nullptr; }

TapeLink link_of(const Tensor& t, std::source_location where) {
  Array& array = *TensorAccess::array(t);
  const TapeLink* const whole = link_in(array);
  if (!whole) return {};
  if (is_whole(t)) return *whole;
  ArrayTape& tape = tape_of(array);
  const std::thread::id thread = std::this_thread::get_id();
  {
    const std::lock_guard lock(tape_mutex(array));
    for (const ArrayTape::View& view : tape.views)
      if (view.offset == TensorAccess::offset(t) && view.shape == TensorAccess::shape(t) &&
          view.of == *whole && view.thread == thread && !(view.link.entry && view.link.entry->consumed))
        return view.link;
  }
  const TapeLink of = *whole;
  TapeLink link = *link_in(*TensorAccess::array(cut_out(t, where)));
  const std::lock_guard lock(tape_mutex(array));
  std::erase_if(tape.views, [](const ArrayTape::View& v) { return v.link.entry && v.link.entry->consumed; });
  tape.views.push_back({TensorAccess::offset(t), TensorAccess::shape(t), of, link, thread});
  return link;
}

CallRecording::CallRecording(std::shared_ptr<const GradientCode> code, std::span<const Tensor> inputs,
                             std::vector<TapeLink> links, std::source_location where,
                             std::shared_ptr<JointCodes> joint) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!is_floating(TensorAccess::dtype(inputs[i]))) links[i] = {};
  const SharedSums sums(links);
  if (sums.links.empty()) return;
  entry_ = std::make_shared<TapeEntry>();
  entry_->train = CallContext::current().training;
  entry_->where = where;
  ir::GradientRequest request = code->all_heads(sums.numbers, sums.links.size());
  entry_->saved = code->uses(request);
  if (joint) {
    for (std::size_t i = 0; i < request.heads.size(); ++i)
      request.heads[i] = request.heads[i] && entry_->saved.active[i];
    entry_->joint = joint->expected(request);
    entry_->joint_codes = std::move(joint);
    entry_->joint_saved = std::make_shared<Array>(Buffer(entry_->joint.code->saved_bytes), Shape());
    add_missing(entry_->saved.inputs, entry_->joint.code->inputs);
    add_missing(entry_->saved.outputs, entry_->joint.code->outputs);
  }
  entry_->code = std::move(code);
  entry_->inputs = std::move(links);
  for (std::int64_t i : entry_->saved.inputs)
    entry_->saved_inputs.push_back(saved(inputs[static_cast<std::size_t>(i)]));
}

void CallRecording::finish(std::span<const Tensor> outputs, const RandomState& random) {
  if (!entry_) return;
  entry_->number = take_numbers(entry_->code->node_count());
  entry_->random = random;
  for (std::int64_t i : entry_->saved.outputs)
    entry_->saved_outputs.push_back(saved(outputs[static_cast<std::size_t>(i)]));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!entry_->saved.active[i]) continue;
    ArrayTape& tape = tape_of(*TensorAccess::array(outputs[i]));
    tape.link = {entry_, static_cast<std::uint32_t>(i), nullptr};
    tape.views.clear();
  }
}

void check_may_write(const Tensor& t, std::source_location where) {
  if (is_recording() && variable_of(t))
    fail(
        "{}an array with a gradient attached is written while calls are recorded: write it outside of "
        "autograd::Record, or inside autograd::Pause",
        line_prefix(where));
}

void record_write(const Tensor& view, const Tensor& value, std::source_location where) {
  Array& array = *TensorAccess::array(view);
  const TapeLink* const old = link_in(array);
  check_may_write(view, where);
  if (old && old->variable) return;
  const bool linked = is_recording() && value.defined() && has_link(value);
  if (!old && !linked) return;
  const bool all = TensorAccess::shape(view).elements() == array.shape.elements();
  ArrayTape& tape = tape_of(array);
  if (all && !linked) {
    tape.link = {};
    tape.views.clear();
    return;
  }
  // A value without history takes part by its type alone.
  const Tensor part = linked
                          ? value
                          : TensorAccess::make(std::make_shared<Array>(Buffer(), TensorAccess::shape(view)),
                                               0, TensorAccess::shape(view), TensorAccess::dtype(view));
  const TapeLink written = linked ? link_of(value, where) : TapeLink();
  const Tensor next = replaced(view, part, where);
  tape.link = link_of(next, where);
  tape.views.clear();
  // The view now reads what was written.
  if (!all && linked && TensorAccess::shape(value) == TensorAccess::shape(view))
    tape.views.push_back({TensorAccess::offset(view), TensorAccess::shape(view), tape.link, written,
                          std::this_thread::get_id()});
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
  tape.link = {nullptr, 0, std::move(variable)};
}

GradVariable* variable_of(const Tensor& t) {
  const TapeLink* const link = t.defined() ? link_in(*TensorAccess::array(t)) : nullptr;
  return link ? link->variable.get() : nullptr;
}

const Tensor& gradient_of(GradVariable& variable) {
  if (!variable.grad.defined()) variable.grad = zeros(variable.type.shape, variable.type.dtype);
  return variable.grad;
}

}  // namespace kiln::detail
