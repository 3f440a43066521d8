// Sequences as one tensor with a time axis or as a list of steps, and conversions between them.
#include "frontend/call/invoke.h"
#include "frontend/call/op_named.h"
#include "frontend/gluon/rnn/rnn_cell.h"
#include "runtime/fail.h"

#include <algorithm>

namespace kiln {

using detail::TensorAccess;
using rnn::Sequence;

const Tensor& Sequence::tensor() const {
  if (!merged())
    fail(
        "This sequence is a list of {} steps: ask unroll() for one tensor with merge_outputs = true, or join "
        "them with "
        "F.stack",
        steps_.size());
  return tensor_;
}
const Tensors& Sequence::steps() const {
  if (merged())
    fail("This sequence is one tensor: ask unroll() for a list with merge_outputs = false, or use tensor()");
  return steps_;
}
const Tensor& Sequence::operator[](std::size_t i) const {
  if (i >= size()) fail("Step {} of a sequence of {} steps", i, size());
  return steps_[i];
}

namespace detail {
namespace {

bool shape_known(const Tensor& t) { return t.defined() && TensorAccess::array(t)->shape_known; }

/// In MXNet's files `squeeze_axis` is 1 or True, depending on the caller.
Tensors split(const Tensor& x, std::int64_t parts, int axis, ir::AttrValue squeeze_axis) {
  CallAttributes<3> given;
  given.set("axis", ir::AttrValue(std::int64_t{axis}));
  given.set("num_outputs", ir::AttrValue(parts));
  given.set("squeeze_axis", std::move(squeeze_axis));
  const Tensor* input = &x;
  return invoke_all({.op = op_named<"split">(),
                     .inputs = {&input, 1},
                     .given = given.items(),
                     .where = std::source_location::current(),
                     .hint = "split"});
}

}  // namespace

SequenceLayout::SequenceLayout(std::string_view layout)
    : time(static_cast<int>(layout.find('T'))), batch(static_cast<int>(layout.find('N'))) {
  if (layout.find('T') == layout.npos || layout.find('N') == layout.npos || layout.size() > 8)
    fail("The layout '{}' of a sequence needs T (time) and N (batch), as in \"NTC\" and \"TNC\"", layout);
}

void check_length(std::int64_t length, const Sequence& inputs, const rnn::UnrollOptions& options) {
  const int axis = SequenceLayout(options.layout).time;
  if (length < 1) fail("unroll() takes a length of 1 or more, not {}", length);
  if (!inputs.merged()) {
    if (static_cast<std::int64_t>(inputs.size()) != length)
      fail("unroll() over {} steps got a list of {} inputs: pass one for each step, or length {}", length,
           inputs.size(), inputs.size());
    return;
  }
  if (!shape_known(inputs.tensor())) return;
  const Shape& shape = TensorAccess::shape(inputs.tensor());
  if (axis >= shape.rank())
    fail("unroll() got inputs of shape {}, which have no axis {} for time: layout \"{}\" means {}",
         shape.str(), axis, options.layout,
         options.layout == "TNC" ? "(length, batch, channels)" : "(batch, length, channels)");
  if (const std::int64_t steps = shape[static_cast<std::size_t>(axis)]; steps != length)
    fail(
        "unroll() over {} steps got inputs of shape {}, which in layout \"{}\" have {} steps: pass length "
        "{}, or inputs "
        "of {} steps (and the layout that they have)",
        length, shape.str(), options.layout, steps, steps, length);
}

Tensors to_steps(std::int64_t length, const Sequence& sequence, int axis) {
  if (!sequence.merged()) return sequence.steps();
  return split(sequence.tensor(), length, axis, std::string("1"));
}

Tensor to_tensor(const Sequence& sequence, int axis) {
  return sequence.merged() ? sequence.tensor() : F::stack(sequence.steps(), {.axis = axis});
}

Sequence arranged(std::int64_t length, const Sequence& sequence, int axis, std::optional<bool> merge) {
  if (!merge) return sequence;
  if (*merge) return Sequence(to_tensor(sequence, axis));
  return Sequence(to_steps(length, sequence, axis));
}

Sequence masked(const Sequence& sequence, std::int64_t length, const Tensor& valid_length, int axis,
                bool merge) {
  const Tensor out =
      F::SequenceMask(to_tensor(sequence, axis), valid_length, {.use_sequence_length = true, .axis = axis});
  if (merge) return Sequence(out);
  return Sequence(split(out, length, axis, true));
}

Tensors reversed(const Tensors& steps, const Tensor& valid_length) {
  if (!valid_length.defined()) return {steps.rbegin(), steps.rend()};
  const Tensor out =
      F::SequenceReverse(F::stack(steps, {.axis = 0}), valid_length, {.use_sequence_length = true});
  return split(out, static_cast<std::int64_t>(steps.size()), 0, true);
}

bool any_symbol(const Sequence& inputs, const rnn::UnrollOptions& options) {
  const auto symbolic = [](const Tensor& t) {
    return t.defined() && TensorAccess::array(t)->traced() && !TensorAccess::array(t)->trace;
  };
  const auto any = [&](const Tensors& list) { return std::any_of(list.begin(), list.end(), symbolic); };
  return (inputs.merged() ? symbolic(inputs.tensor()) : any(inputs.steps())) || any(options.begin_state) ||
         symbolic(options.valid_length);
}

}  // namespace detail
}  // namespace kiln
