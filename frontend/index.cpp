// x[...]: which elements an index means, reading them, and writing to them.
#include "frontend/convert.h"
#include "frontend/invoke.h"
#include "frontend/numpy_scope.h"
#include "frontend/operators.h"
#include "frontend/trace.h"
#include "frontend/view.h"
#include "runtime/fail.h"

#include <kiln/f.h>

namespace kiln {
namespace {

using detail::TensorAccess;

// An index worked out against a shape: on each axis `count` elements from `start` in steps of `step`.
struct Selection {
  Shape start, step;
  Shape count;        // of the slice, integers as extents of 1
  Shape result;       // without the axes of integers
  bool view = false;  // a range of the first axis: contiguous
  bool empty = false;
};

std::string text(const Slice& s) {
  const auto part = [](const std::optional<std::int64_t>& v) {
    return v ? std::to_string(*v) : std::string();
  };
  return part(s.begin) + ":" + part(s.end) + (s.step ? ":" + part(s.step) : "");
}

Selection select(const Shape& shape, const std::vector<Index>& index, std::source_location where) {
  if (index.size() > shape.size()) {
    fail("{}x[...] with {} indices: the tensor of shape {} has {} axes", line_prefix(where), index.size(),
         shape.str(), shape.rank());
  }
  Selection out;
  out.view = true;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t extent = shape[axis];
    std::int64_t start = 0, step = 1, count = extent;
    bool drop = false;
    if (axis < index.size() && index[axis].integer()) {
      const std::int64_t i = *index[axis].integer();
      start = i < 0 ? i + extent : i;
      if (start < 0 || start >= extent) {
        fail("{}index {} is out of range: axis {} of shape {} has {} elements", line_prefix(where), i, axis,
             shape.str(), extent);
      }
      count = 1;
      drop = true;
    } else if (axis < index.size()) {
      const Slice& s = index[axis].slice();
      step = s.step.value_or(1);
      if (step == 0) fail("{}slice {} has step 0", line_prefix(where), text(s));
      // As Python's slice.indices.
      const std::int64_t low = step > 0 ? 0 : -1;
      const std::int64_t high = step > 0 ? extent : extent - 1;
      const auto bound = [&](const std::optional<std::int64_t>& v, std::int64_t missing) {
        if (!v) return missing;
        const std::int64_t at = *v < 0 ? std::max(*v, -extent) + extent : *v;
        return *v < -extent ? low : std::min(std::max(at, low), high);
      };
      start = bound(s.begin, step > 0 ? low : high);
      const std::int64_t end = bound(s.end, step > 0 ? high : low);
      const std::int64_t distance = step > 0 ? end - start : start - end;
      const std::int64_t stride = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
      count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
    }
    if (axis == 0 ? step != 1 : (start != 0 || step != 1 || count != extent || drop)) out.view = false;
    out.empty |= count == 0;
    out.start.push_back(start);
    out.step.push_back(step);
    out.count.push_back(count);
    if (!drop) out.result.push_back(count);
  }
  return out;
}

// Outside of numpy's mode there are no arrays without axes: a single element has shape (1,).
Shape result_shape(const Selection& s) {
  return s.result.empty() && !NumpyScope::program() ? Shape{1} : s.result;
}

Tensor view(const Tensor& x, const Selection& s) {
  const Shape& shape = TensorAccess::shape(x);
  std::int64_t row = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row *= shape[i];
  const std::int64_t start = shape.empty() ? 0 : s.start[0];
  return view_of(x, TensorAccess::offset(x) + start * row, result_shape(s));
}

// The attributes begin, end, step of slice and _slice_assign.
Given<4> slice_attributes(const Selection& s) {
  ir::OptionalInts begin, end, step;
  bool unit = true;
  for (std::size_t i = 0; i < s.start.size(); ++i) {
    const std::int64_t stop = s.start[i] + s.step[i] * (s.count[i] - 1) + (s.step[i] > 0 ? 1 : -1);
    begin.push_back(s.start[i]);
    end.push_back(stop < 0 ? std::nullopt : std::optional(stop));
    step.push_back(s.step[i]);
    unit &= s.step[i] == 1;
  }
  Given<4> given;
  given.set("begin", ir::AttrValue(begin));
  given.set("end", ir::AttrValue(end));
  if (!unit) given.set("step", ir::AttrValue(step));
  return given;
}

Tensor read(const Tensor& x, const std::vector<Index>& index, std::source_location where) {
  const Selection s = select(known_shape(x, "x[...]", where), index, where);
  // Nothing of x is in it, so that a trace need not record where it came from.
  if (s.empty) return TensorAccess::empty(result_shape(s), TensorAccess::dtype(x));
  if (s.view) return view(x, s);
  const Given<4> given = slice_attributes(s);
  const Tensor* inputs[] = {&x};
  const Tensor slice =
      invoke_one({.op = row("slice"), .inputs = inputs, .given = given.items(), .where = where});
  return TensorAccess::shape(slice) == result_shape(s) ? slice : slice.reshape(result_shape(s), where);
}

// `value` in the dtype of x and with exactly the shape `shape`.
Tensor fitted(const Operand& value, const Shape& shape, DType dtype, std::source_location where) {
  if (!value.is_tensor()) return full(shape, value.number(), dtype, where);
  Tensor v = value.tensor();
  const Shape& have = known_shape(v, "x[...] =", where);
  if (v.dtype() != dtype) v = v.astype(dtype, where);
  if (have == shape) return v;
  // Leading extents of 1 that the slice lacks do not matter, as in numpy.
  Shape trimmed;
  for (int i = 0; i < have.rank(); ++i)
    if (i >= have.rank() - shape.rank() || have[static_cast<std::size_t>(i)] != 1)
      trimmed.push_back(have[static_cast<std::size_t>(i)]);
  bool fits = trimmed.rank() <= shape.rank();
  for (int i = 1; fits && i <= trimmed.rank(); ++i) {
    const std::int64_t from = trimmed[static_cast<std::size_t>(trimmed.rank() - i)];
    fits = from == 1 || from == shape[static_cast<std::size_t>(shape.rank() - i)];
  }
  if (!fits)
    fail("{}cannot write a value of shape {} to a slice of shape {}", line_prefix(where), have.str(),
         shape.str());
  if (trimmed.elements() == shape.elements()) return v.reshape(shape, where);
  Shape aligned = Shape::filled(shape.rank() - trimmed.rank(), 1);
  for (std::int64_t d : trimmed) aligned.push_back(d);
  return F::broadcast_to(v.reshape(aligned, where), shape, where);
}

void write(const Tensor& x, const std::vector<Index>& index, const Operand& value,
           std::source_location where) {
  Selection s = select(known_shape(x, "x[...] =", where), index, where);
  if (s.empty) return;
  if (s.view) {
    const Tensor target = view(x, s);
    write_view(target, fitted(value, TensorAccess::shape(target), TensorAccess::dtype(x), where), where);
    return;
  }
  Tensor update = fitted(value, result_shape(s), TensorAccess::dtype(x), where).reshape(s.count, where);
  // Written forwards: a slice that runs backwards takes its elements in reverse.
  Shape backwards;
  for (std::size_t i = 0; i < s.step.size(); ++i) {
    if (s.step[i] > 0) continue;
    backwards.push_back(static_cast<std::int64_t>(i));
    s.start[i] += s.step[i] * (s.count[i] - 1);
    s.step[i] = -s.step[i];
  }
  if (!backwards.empty()) update = F::flip(update, backwards, where);
  const Given<4> given = slice_attributes(s);
  const Tensor* inputs[] = {&x, &update};
  write_view(
      x, invoke_one({.op = row("_slice_assign"), .inputs = inputs, .given = given.items(), .where = where}),
      where);
}

}  // namespace

Tensor IndexedTensor::get() const { return read(base_, index_, where_); }

void IndexedTensor::operator=(const Operand& value) { write(base_, index_, value, where_); }
void IndexedTensor::operator=(const IndexedTensor& value) {
  write(base_, index_, Operand(value, where_), where_);
}
void IndexedTensor::operator+=(const Operand& v) {
  write(base_, index_, in_place(Arithmetic::add, get(), v, where_), where_);
}
void IndexedTensor::operator-=(const Operand& v) {
  write(base_, index_, in_place(Arithmetic::sub, get(), v, where_), where_);
}
void IndexedTensor::operator*=(const Operand& v) {
  write(base_, index_, in_place(Arithmetic::mul, get(), v, where_), where_);
}
void IndexedTensor::operator/=(const Operand& v) {
  write(base_, index_, in_place(Arithmetic::div, get(), v, where_), where_);
}
void IndexedTensor::operator%=(const Operand& v) {
  write(base_, index_, in_place(Arithmetic::mod, get(), v, where_), where_);
}

IndexedTensor Tensor::operator()(std::vector<Index> index, std::source_location where) {
  return IndexedTensor(*this, std::move(index), where);
}
Tensor Tensor::operator()(std::vector<Index> index, std::source_location where) const {
  return read(*this, index, where);
}
IndexedTensor Tensor::operator[](const Index& i) { return IndexedTensor(*this, {i}, i.where()); }
Tensor Tensor::operator[](const Index& i) const { return read(*this, {i}, i.where()); }

}  // namespace kiln
