// Stacks the outputs of steps as they are made.
#include "frontend/control/step_outputs.h"

#include "frontend/autograd/tape.h"
#include "frontend/call/line.h"
#include "frontend/call/trace.h"
#include "frontend/tensor/elements.h"
#include "runtime/accelerator.h"
#include "runtime/fail.h"

#include <kiln/f.h>

namespace kiln {

using detail::Array;
using detail::TensorAccess;

namespace {

TensorType type_of(const Tensor& t) { return {TensorAccess::dtype(t), TensorAccess::shape(t)}; }

}  // namespace

StepOutputs::StepOutputs(std::int64_t rows, std::source_location where)
    : rows_(rows), where_(where), recorded_(Trace::current() || detail::is_recording()) {}

void StepOutputs::check(const std::vector<Tensor>& outputs) const {
  if (outputs.size() != first_.size())
    fail("{}the body returned {} outputs at one step and {} at another", line_prefix(where_), first_.size(),
         outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!(type_of(outputs[i]) == type_of(first_[i])))
      fail("{}number {} of the outputs is {} at one step and {} at another: shape and dtype must stay",
           line_prefix(where_), i, type_of(first_[i]).str(), type_of(outputs[i]).str());
}

void StepOutputs::copy_rows(const std::vector<Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (arrays_.size() == i) {
      const Shape shape = Shape::stacked(rows_, TensorAccess::shape(outputs[i]));
      arrays_.push_back(
          TensorAccess::empty(shape, TensorAccess::dtype(outputs[i]), TensorAccess::device(outputs[i])));
    }
    const auto bytes = static_cast<std::size_t>(type_of(outputs[i]).bytes());
    copy_across(TensorAccess::device(arrays_[i]),
                TensorAccess::data(arrays_[i]) + static_cast<std::size_t>(taken_) * bytes,
                TensorAccess::device(outputs[i]), TensorAccess::data(outputs[i]), bytes);
  }
}

void StepOutputs::add(const std::vector<Tensor>& outputs) {
  for (const Tensor& t : outputs)
    if (!t.defined()) fail("{}the body returned an undefined Tensor", line_prefix(where_));
  if (taken_ == 0) first_ = outputs;
  check(outputs);
  if (recorded_) {
    std::vector<Tensor>& values = steps_.emplace_back();
    for (const Tensor& t : outputs) values.push_back(t.copy(where_));
  } else {
    copy_rows(outputs);
  }
  ++taken_;
}

std::vector<Tensor> StepOutputs::stacked() {
  std::vector<Tensor> out;
  if (!recorded_) {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(type_of(first_[i]).bytes());
      const std::size_t filled = static_cast<std::size_t>(taken_) * bytes;
      const std::size_t all = static_cast<std::size_t>(rows_) * bytes;
      clear_bytes(accelerator_of(TensorAccess::device(arrays_[i])), TensorAccess::data(arrays_[i]) + filled,
                  all - filled);
    }
    return arrays_;
  }
  for (std::size_t i = 0; i < first_.size(); ++i) {
    std::vector<Tensor> parts;
    for (const std::vector<Tensor>& step : steps_) parts.push_back(step[i]);
    out.push_back(F::stack(parts, {}, where_));
    if (taken_ == rows_) continue;  // as always in a trace
    const TensorType rest{TensorAccess::dtype(first_[i]),
                          Shape::stacked(rows_ - taken_, TensorAccess::shape(first_[i]))};
    const Tensor zeros = at_line(where_, [&] { return filled(rest, 0, TensorAccess::device(first_[i])); });
    out.back() = F::concat({out.back(), zeros}, {.dim = 0}, where_);
  }
  return out;
}

}  // namespace kiln
