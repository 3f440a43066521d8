// Views in a trace: nodes that cut them out, and writes as new values of their arrays.

#include "frontend/trace/traced_view.h"

#include "frontend/call/readable.h"
#include "frontend/call/view_recorder.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/record.h"
#include "frontend/view/view.h"

#include <algorithm>
#include <optional>

namespace kiln {

using detail::Array;
using detail::RowRange;
using detail::TensorAccess;

ir::Entry value_of(const Tensor& t, std::source_location where) {
  Array& array = *TensorAccess::array(t);
  if (!array.traced()) fail_mixed(where);
  if (!array.shape_known) return array.value;
  if (TensorAccess::is_array(t)) return array.value;
  for (const Array::View& view : array.views)
    if (view.key.is_read_by(t) && view.of == array.value &&
        (!view.cut || view.value.node->recorded || !records_nodes()))
      return view.value;
  if (TensorAccess::is_whole(t) && !is_derived(t)) return array.value;
  const ir::Entry value = TensorAccess::array(cut_out(t, where))->value;
  array.views.push_back({detail::ViewKey(t), array.value, value, /*cut=*/true});
  return value;
}

Tensor own_value(const Tensor& t, const ir::Entry& value, std::uint64_t call) {
  Array& array = *TensorAccess::array(t);
  Tensor own = detail::with_alias(t);
  array.views.push_back({detail::ViewKey(own, call), array.value, value});
  return own;
}

namespace {

/// value_of(), cut out with its history where no calls are recorded too, as on the tape.
ir::Entry recorded_value_of(const Tensor& t, std::source_location where) {
  std::optional<RecordingScopeIs> scope;
  if (!records_nodes()) scope.emplace(RecordingScope::record);
  return value_of(t, where);
}

/// A value as a separate array.
Tensor alone(const ir::Entry& value, const Shape& shape, bool known, DType dtype) {
  return TensorAccess::make(std::make_shared<Array>(Trace::current(), value, shape, known), 0, shape, dtype);
}

/// The value as a constant for gradients, in the scope of a Pause.
Tensor without_gradient(const Tensor& value, std::source_location where) {
  const ir::Entry e = value_of(value, where);
  // Not the view: in another scope it is another node that cuts it out.
  if (!e.node->is_variable() && !e.node->recorded)
    return alone(e, TensorAccess::shape(value), TensorAccess::array(value)->shape_known,
                 TensorAccess::dtype(value));
  const Tensor* inputs[] = {&value};
  return record_node({.op = find_op_or_throw("BlockGrad"), .inputs = inputs, .given = {}, .where = where})[0];
}

/// The present contents of an array with a gradient attached, which Pause allowed to be written: for
/// gradients they are the array still, as `old` is.
ir::Entry overwritten(const Array& array, const ir::Entry& old, DType dtype, std::source_location where) {
  const Tensor before = alone(old, array.shape, true, dtype),
               now = alone(array.value, array.shape, true, dtype);
  const Tensor* inputs[] = {&before, &now};
  const RecordingScopeIs scope(RecordingScope::record);
  const OpCall call{.op = find_op_or_throw("_overwritten"), .inputs = inputs, .given = {}, .where = where};
  return TensorAccess::array(record_node(call)[0])->value;
}

/// The part of an array that a write into `part`, a view within `view`, replaces.
ArrayPart written_part(const Tensor& view, const Tensor& part) {
  ArrayPart out{TensorAccess::offset(part), TensorAccess::shape(part), {}};
  if (same_view(view, part)) {
    out.steps = derivation_of(view);
    return out;
  }
  // A range of the view's rows.
  const Shape& of = TensorAccess::shape(view);
  const std::int64_t row = row_elements(of), begin = (out.offset - TensorAccess::offset(view)) / row;
  const RowRange rows{begin, begin + out.shape.elements() / row, out.shape.rank() < of.rank()};
  out.steps = {{out.offset, out.shape, TensorAccess::offset(view), of, rows, TensorAccess::alias(view),
                detail::ViewScope::call()}};
  const std::vector<Array::Origin> before = derivation_of(view);
  out.steps.insert(out.steps.end(), before.begin(), before.end());
  return out;
}

void write_traced(const Tensor& view, const Tensor& part, const Tensor& value, std::source_location where) {
  Array& array = *TensorAccess::array(view);
  const bool recorded = records_nodes();
  // A value that has the rest of the view too keeps the history of that.
  const Tensor contents = recorded || !same_view(view, part) ? value : without_gradient(value, where);
  const ir::Entry written = value_of(contents, where);
  if (!array.shape_known) {
    array.value = written;
    return;
  }
  if (TensorAccess::shape(view).elements() == 0) return;
  Trace* const trace = Trace::current();
  if (trace) trace->will_write(array);
  if (CallTrace* const call = trace ? trace->call() : nullptr)
    call->add_written(array, written_part(view, part));
  const ir::Entry old = array.value;
  {
    // The rest of the array keeps its history.
    std::optional<RecordingScopeIs> scope;
    if (!recorded) scope.emplace(RecordingScope::record);
    array.value = value_of(replaced(view, contents, recorded, where), where);
  }
  array.views.clear();
  array.written_recorded = array.written_recorded || recorded;
  if (CallTrace* const call = trace ? trace->call() : nullptr;
      !recorded && call && call->is_variable(array)) {
    array.value = overwritten(array, old, TensorAccess::dtype(view), where);
    return;
  }
  // A read of this view gives the value just written, as on the tape (record_write).
  const Shape& shape = TensorAccess::shape(view);
  if (recorded && TensorAccess::shape(value) == shape && shape.elements() != array.shape.elements())
    array.views.push_back({detail::written_key(view), array.value, written});
}

class TracedViews final : public ViewRecorder {
 public:
  Tensor record(const OpCall& call) const override { return record_node(call)[0]; }
  Tensor constant(const Tensor& t, std::source_location where) const override {
    return without_gradient(t, where);
  }
  bool has_own_value(const Tensor& t) const override {
    const Array& array = *TensorAccess::array(t);
    return std::any_of(array.views.begin(), array.views.end(), [&](const Array::View& v) {
      return v.key.is_own() && v.key.is_read_by(t) && v.of == array.value;
    });
  }
  Tensor own_value(const Tensor& t, const Tensor& of, std::uint64_t call,
                   std::source_location where) const override {
    return kiln::own_value(t, recorded_value_of(of, where), call);
  }
  void write(const Tensor& view, const Tensor& part, const Tensor& value,
             std::source_location where) const override {
    write_traced(view, part, value, where);
  }
};

}  // namespace

const ViewRecorder& traced_views() {
  static constinit const TracedViews views;
  return views;
}

}  // namespace kiln
