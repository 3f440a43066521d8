// Creation of arrays. While tracing they are nodes; otherwise arrays of one value are filled here, without an
// operator.
#include "frontend/call/invoke.h"
#include "frontend/call/trace.h"
#include "frontend/tensor/elements.h"
#include "runtime/fail.h"

#include <kiln/f.h>

namespace kiln {
namespace {

using detail::TensorAccess;

void check_extents(const char* what, const Shape& shape, std::source_location where) {
  for (std::int64_t d : shape)
    if (d < 0) fail("{}{}: the shape {} has a negative extent", line_prefix(where), what, shape.str());
}

Tensor make(const char* op, const Shape& shape, const Number* value, double fill_value, DType dtype,
            std::source_location where) {
  check_extents(op, shape, where);
  if (!Trace::current())
    return at_line(where, [&] { return filled({dtype, shape}, fill_value, DeviceScope::current()); });
  CallAttributes<3> given;
  given.set("shape", ir::AttrValue(shape));
  if (value) given.set("value", *value);
  given.set("dtype", dtype);
  return invoke_one({.op = find_op_or_throw(op), .inputs = {}, .given = given.items(), .where = where});
}

}  // namespace

Tensor F::zeros(const Shape& shape, DType dtype, Where where) {
  return make("_zeros", shape, nullptr, 0, dtype, where);
}
Tensor F::ones(const Shape& shape, DType dtype, Where where) {
  return make("_ones", shape, nullptr, 1, dtype, where);
}
Tensor F::full(const Shape& shape, Number value, DType dtype, Where where) {
  return make("_full", shape, &value, value.value(), dtype, where);
}

Tensor F::arange(Number stop, Where where) { return arange(0, stop, 1, 1, DType::f32, where); }
Tensor F::arange(Number start, Number stop, Number step, int repeat, DType dtype, Where where) {
  CallAttributes<6> given;
  given.set("start", start);
  given.set("stop", stop);
  given.set("step", step);
  given.set("repeat", ir::AttrValue(static_cast<std::int64_t>(repeat)));
  given.set("infer_range", ir::AttrValue(false));
  given.set("dtype", dtype);
  return invoke_one(
      {.op = find_op_or_throw("_arange"), .inputs = {}, .given = given.items(), .where = where});
}

Tensor zeros(const Shape& shape, DType dtype, std::source_location where) {
  return F::zeros(shape, dtype, where);
}
Tensor ones(const Shape& shape, DType dtype, std::source_location where) {
  return F::ones(shape, dtype, where);
}
Tensor full(const Shape& shape, double value, DType dtype, std::source_location where) {
  return F::full(shape, value, dtype, where);
}
Tensor arange(double stop, std::source_location where) { return F::arange(stop, where); }
Tensor arange(double start, double stop, double step, int repeat, DType dtype, std::source_location where) {
  return F::arange(start, stop, step, repeat, dtype, where);
}

}  // namespace kiln
