// The operators that change layout, recorded.
#include "frontend/view/layout_calls.h"

#include "frontend/call/numpy_scope.h"
#include "frontend/call/view_recorder.h"

#include <algorithm>

namespace kiln {
namespace {

using detail::RowRange;
using detail::TensorAccess;

/// Records the call in a trace, or on the tape.
Tensor record_view_op(const OpCall& call) {
  const bool traced = std::any_of(call.inputs.begin(), call.inputs.end(),
                                  [](const Tensor* t) { return TensorAccess::array(*t)->traced(); });
  return (traced ? traced_views() : taped_views()).record(call);
}

/// Records the slice by MXNet's operators of numpy mode.
Tensor record_numpy_slice(const Tensor& x, const RowRange& rows, std::source_location where) {
  CallAttributes<2> given;
  given.set("begin", ir::AttrValue(ir::OptionalInts{rows.begin}));
  given.set("end", ir::AttrValue(ir::OptionalInts{rows.end}));
  const Tensor* inputs[] = {&x};
  return record_view_op(
      {.op = find_op_or_throw("slice"), .inputs = inputs, .given = given.items(), .where = where});
}

}  // namespace

Tensor record_reshape_node(const Tensor& x, const Shape& spec, bool numpy, bool np_shape,
                           std::source_location where) {
  CallAttributes<1> given;
  given.set(numpy ? "newshape" : "shape", ir::AttrValue(spec));
  const Tensor* inputs[] = {&x};
  return record_view_op({.op = find_op_or_throw(numpy ? "_np_reshape" : "Reshape"),
                         .inputs = inputs,
                         .given = given.items(),
                         .where = where,
                         .hint = "reshape",
                         .np_shape = np_shape});
}

Tensor record_reshape(const Tensor& x, const Shape& shape, std::source_location where) {
  // Reshape would take an extent 0 for a code; numpy's operator does not.
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  return record_reshape_node(x, shape, empty || NumpyScope::program(), empty || NumpyScope::active(), where);
}

Tensor record_slice(const Tensor& x, const RowRange& rows, std::source_location where) {
  if (NumpyScope::program()) return record_numpy_slice(x, rows, where);
  CallAttributes<3> given;
  given.set("axis", ir::AttrValue(std::int64_t{0}));
  given.set("begin", ir::AttrValue(rows.begin));
  given.set("end", rows.end ? ir::AttrValue(*rows.end) : ir::AttrValue(ir::None()));
  const Tensor* inputs[] = {&x};
  return record_view_op(
      {.op = find_op_or_throw("slice_axis"), .inputs = inputs, .given = given.items(), .where = where});
}

Tensor record_slice_assign(const Tensor& x, const Tensor& update, const RowRange& rows,
                           std::source_location where) {
  CallAttributes<2> given;
  given.set("begin", ir::AttrValue(ir::OptionalInts{rows.begin}));
  given.set("end", ir::AttrValue(ir::OptionalInts{rows.end}));
  const Tensor* inputs[] = {&x, &update};
  return record_view_op(
      {.op = find_op_or_throw("_slice_assign"), .inputs = inputs, .given = given.items(), .where = where});
}

Tensor record_reshape_like(const Tensor& x, const Tensor& like, std::source_location where) {
  const Tensor* inputs[] = {&x, &like};
  return record_view_op(
      {.op = find_op_or_throw("reshape_like"), .inputs = inputs, .given = {}, .where = where});
}

Tensor record_first_axis(const char* op, const Tensor& x, std::source_location where) {
  CallAttributes<1> given;
  given.set("axis",
            std::string_view(op) == "squeeze" ? ir::AttrValue(Shape{0}) : ir::AttrValue(std::int64_t{0}));
  const Tensor* inputs[] = {&x};
  return record_view_op(
      {.op = find_op_or_throw(op), .inputs = inputs, .given = given.items(), .where = where});
}

Tensor record_numpy_squeeze(const Tensor& x, std::source_location where) {
  CallAttributes<1> given;
  given.set("newshape", ir::AttrValue(Shape{-3, -4}));
  const Tensor* inputs[] = {&x};
  return record_view_op({.op = find_op_or_throw("_npx_reshape"),
                         .inputs = inputs,
                         .given = given.items(),
                         .where = where,
                         .hint = "reshape"});
}

}  // namespace kiln
