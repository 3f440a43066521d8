// x[...]: resolving an index, reading and writing the selected elements.
#include "frontend/api/operators.h"
#include "frontend/autograd/tape.h"
#include "frontend/call/invoke.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/call/readable.h"
#include "frontend/call/trace.h"
#include "frontend/ops/slice_range.h"
#include "frontend/tensor/convert.h"
#include "frontend/view/view.h"
#include "runtime/messages.h"

#include <kiln/f.h>

#include <algorithm>

namespace kiln {
namespace {

using detail::TensorAccess;

// An index resolved against a shape: per axis, `count` elements from `start` in steps of `step`.
struct Selection {
  Shape start, step;
  // The bounds as the program wrote them: open, or negative to count from the end.
  ir::OptionalInts begin, end;
  Shape count;        // of the slice; an integer has extent 1
  Shape result;       // without the axes of integer indices
  Shape dropped;      // the axes of integer indices
  Shape codes;        // the same for npx.reshape: -3 drops an axis, -2 copies one, -4 all others
  bool view = false;  // a range of the first axis: contiguous
  bool empty = false;
};

std::string text(const Slice& s) {
  const auto part = [](const std::optional<std::int64_t>& v) {
    return v ? std::to_string(*v) : std::string();
  };
  return part(s.begin) + ":" + part(s.end) + (s.step ? ":" + part(s.step) : "");
}

// A range of one axis, resolved against its extent.
struct AxisRange {
  std::int64_t start, step, count;
  std::optional<std::int64_t> begin, end;  // as the program wrote them
};

AxisRange one_element(std::int64_t i, std::int64_t extent) {
  return {i < 0 ? i + extent : i, 1, 1, i, i == -1 ? std::nullopt : std::optional(i + 1)};
}

AxisRange resolve(const Slice& s, std::int64_t extent, std::source_location where) {
  const std::int64_t step = s.step.value_or(1);
  if (step == 0) fail("{}slice {} has step 0", line_prefix(where), text(s));
  const ops::SliceRange range = ops::slice_range(extent, s.begin, s.end, step);
  // A bound beyond the axis is clamped: MXNet's operators accept no other.
  const auto written = [&](const std::optional<std::int64_t>& v,
                           std::int64_t place) -> std::optional<std::int64_t> {
    if (!v || place < 0) return std::nullopt;
    return *v >= -extent && *v <= (step > 0 ? extent : extent - 1) ? *v : place;
  };
  return {range.start, step, range.count, written(s.begin, range.start), written(s.end, range.end)};
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
    AxisRange range{0, 1, extent, {}, {}};
    bool drop = false;
    if (axis < index.size() && index[axis].integer()) {
      const std::int64_t i = *index[axis].integer();
      range = one_element(i, extent);
      if (range.start < 0 || range.start >= extent) {
        fail(Mistake::no_index, "{}index {} is out of range: axis {} of shape {} has {} elements",
             line_prefix(where), i, axis, shape.str(), extent);
      }
      drop = true;
    } else if (axis < index.size()) {
      range = resolve(index[axis].slice(), extent, where);
    }
    const auto& [start, step, count, begin, end] = range;
    if (axis == 0 ? step != 1 : (start != 0 || step != 1 || count != extent || drop)) out.view = false;
    out.empty |= count == 0;
    out.start.push_back(start);
    out.step.push_back(step);
    out.begin.push_back(begin);
    out.end.push_back(end);
    out.count.push_back(count);
    drop ? out.dropped.push_back(static_cast<std::int64_t>(axis)) : out.result.push_back(count);
    if (axis < index.size()) out.codes.push_back(drop ? -3 : -2);
  }
  out.codes.push_back(-4);
  return out;
}

// Outside of numpy mode there is no rank 0: a single element has shape (1,).
Shape result_shape(const Selection& s) {
  return s.result.empty() && !NumpyScope::program() ? Shape{1} : s.result;
}

// The offset of a selected view.
std::int64_t view_offset(const Tensor& x, const Selection& s) {
  const Shape& shape = TensorAccess::shape(x);
  if (shape.empty()) return TensorAccess::offset(x);
  std::int64_t row = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row *= shape[i];
  return TensorAccess::offset(x) + s.start[0] * row;
}

Tensor view(const Tensor& x, const Selection& s) {
  const Shape &shape = TensorAccess::shape(x), result = result_shape(s);
  if (shape.empty()) return view_of(x, TensorAccess::offset(x), result);
  const detail::RowRange rows{s.begin[0].value_or(0), s.end[0], result.rank() < shape.rank()};
  return view_of(x, view_offset(x, s), result, rows);
}

bool records(const Tensor& x) { return Trace::current() || TensorAccess::array(x)->traced(); }

// Whether calls of x are nodes of a trace or entries of the tape, which must be the same.
bool has_nodes(const Tensor& x) { return records(x) || (detail::is_recording() && detail::has_link(x)); }

// The attributes begin, end, step (and a number) of slice, _slice_assign and _slice_assign_scalar.
CallAttributes<4> slice_attributes(const Selection& s) {
  ir::OptionalInts step;
  bool unit = true;
  for (const std::int64_t d : s.step) {
    step.push_back(d);
    unit &= d == 1;
  }
  CallAttributes<4> given;
  given.set("begin", ir::AttrValue(s.begin));
  given.set("end", ir::AttrValue(s.end));
  if (!unit) given.set("step", ir::AttrValue(step));
  return given;
}

// Removes the axes of integer indices, which have extent 1. A recording names the removed axes instead of the
// new shape, whose extents may depend on the input sizes. A single element has no such extents.
Tensor without_dropped(const Tensor& slice, const Selection& s, std::source_location where) {
  if (TensorAccess::shape(slice) == result_shape(s)) return slice;
  if (has_nodes(slice) && NumpyScope::program()) {
    CallAttributes<1> given;
    given.set("newshape", ir::AttrValue(s.codes));
    const Tensor* inputs[] = {&slice};
    return invoke_one({.op = find_op_or_throw("_npx_reshape"),
                       .inputs = inputs,
                       .given = given.items(),
                       .where = where,
                       .hint = "reshape"});
  }
  return has_nodes(slice) && !s.result.empty() ? F::squeeze(slice, {.axis = s.dropped}, where)
                                               : slice.reshape(result_shape(s), where);
}
Tensor with_dropped(Tensor update, const Selection& s, std::source_location where) {
  if (!has_nodes(update) || s.result.empty()) return update.reshape(s.count, where);
  for (const std::int64_t axis : s.dropped) update = F::expand_dims(update, static_cast<int>(axis), where);
  return update;
}

Tensor read(const Tensor& x, const std::vector<Index>& index, std::source_location where) {
  const Selection s = select(known_shape(x, "x[...]", where), index, where);
  // An empty result has no elements of x, so that a trace need not record its origin.
  if (s.empty) return TensorAccess::empty(result_shape(s), TensorAccess::dtype(x), x.device());
  if (s.view) return view(x, s);
  const CallAttributes<4> given = slice_attributes(s);
  const Tensor* inputs[] = {&x};
  const Tensor slice =
      invoke_one({.op = find_op_or_throw("slice"), .inputs = inputs, .given = given.items(), .where = where});
  return without_dropped(slice, s, where);
}

// `v` cast to the dtype of a slice of x and broadcast to its shape. `target` returns the slice.
template <class Target>
Tensor fitted(Tensor v, const Tensor& x, const Shape& shape, Target target, std::source_location where) {
  const DType dtype = TensorAccess::dtype(x);
  const Shape have = known_shape(v, "x[...] =", where);
  if (v.dtype() != dtype) v = v.astype(dtype, where);
  const auto given = [&]() -> const Shape& { return TensorAccess::shape(v); };
  // Surplus leading extents of 1 are dropped, as in numpy.
  if (const int surplus = given().rank() - shape.rank(); surplus > 0) {
    const auto dims = given().dims();
    const Shape trimmed(dims.subspan(static_cast<std::size_t>(surplus))), all = Shape::filled(surplus, 1);
    Shape axes;
    for (int i = 0; i < surplus; ++i) axes.push_back(i);
    if (Shape(dims.first(static_cast<std::size_t>(surplus))) == all)
      v = has_nodes(v) && !trimmed.empty() ? F::squeeze(v, {.axis = axes}, where) : v.reshape(trimmed, where);
  }
  bool fits = given().rank() <= shape.rank();
  for (int i = 1; fits && i <= given().rank(); ++i) {
    const std::int64_t from = given()[static_cast<std::size_t>(given().rank() - i)];
    fits = from == 1 || from == shape[static_cast<std::size_t>(shape.rank() - i)];
  }
  if (!fits)
    fail("{}cannot write a value of shape {} to a slice of shape {}", line_prefix(where), have.str(),
         shape.str());
  while (given().rank() < shape.rank()) {
    Shape aligned{1};
    for (const std::int64_t d : given()) aligned.push_back(d);
    v = has_nodes(v) ? F::expand_dims(v, 0, where) : v.reshape(aligned, where);
  }
  // In a recording, an extent of 1 may differ at other sizes of the inputs: broadcast by the target, not by
  // numbers.
  const bool ones = std::find(given().begin(), given().end(), 1) != given().end();
  const bool nodes = has_nodes(v) || has_nodes(x);
  if (given() == shape && !(ones && nodes)) return v;
  return nodes ? F::broadcast_like(v, target(), {}, where) : F::broadcast_to(v, shape, where);
}

// Makes all steps positive, as for a write. Returns the axes that ran backwards: their elements must be
// reversed.
Shape turn_forwards(Selection& s) {
  Shape backwards;
  for (std::size_t i = 0; i < s.step.size(); ++i) {
    if (s.step[i] > 0) continue;
    backwards.push_back(static_cast<std::int64_t>(i));
    const std::int64_t last = s.start[i];
    const bool to_the_first = s.step[i] == -1 && !s.end[i], from_the_last = !s.begin[i];
    s.start[i] += s.step[i] * (s.count[i] - 1);
    s.step[i] = -s.step[i];
    s.begin[i] = to_the_first ? std::nullopt : std::optional(s.start[i]);
    s.end[i] = from_the_last ? std::nullopt : std::optional(last + 1);
  }
  return backwards;
}

Tensor assigned(const char* op, std::initializer_list<const Tensor*> inputs, const CallAttributes<4>& given,
                std::source_location where) {
  return invoke_one({.op = find_op_or_throw(op), .inputs = inputs, .given = given.items(), .where = where});
}

void write(const Tensor& x, const std::vector<Index>& index, const Operand& value,
           std::source_location where) {
  Selection s = select(known_shape(x, "x[...] =", where), index, where);
  if (s.empty) return;
  const DType dtype = TensorAccess::dtype(x);
  if (!value.is_tensor() && !s.count.empty()) {
    const Tensor part = s.view ? view_of(x, view_offset(x, s), result_shape(s)) : x;
    const auto attributes = [&] {
      turn_forwards(s);
      return slice_attributes(s);
    };
    if (records(x)) {
      CallAttributes<4> given = attributes();
      given.set("scalar", ir::AttrValue(value.number()));
      // Inside Pause too, the rest of x keeps its history.
      std::optional<RecordingScopeIs> scope;
      if (s.view && !records_nodes()) scope.emplace(RecordingScope::record);
      const Tensor next = assigned("_slice_assign_scalar", {&x}, given, where);
      scope.reset();
      return write_part(x, part, next, where);
    }
    if (s.view &&
        (has_nodes(x) || (detail::keeps_derivations() && detail::has_link(x) && !detail::is_variable(x)))) {
      // The same on the tape, for every number: a node that replaces the part by an array without a history.
      const Tensor number = TensorAccess::make(
          std::make_shared<detail::Array>(Buffer::none(x.device()), s.count), 0, s.count, dtype);
      const Tensor* inputs[] = {&x, &number};
      const CallAttributes<4> given = attributes();
      const Tensor node = detail::record_on_tape({.op = find_op_or_throw("_slice_assign"),
                                                  .inputs = inputs,
                                                  .given = given.items(),
                                                  .where = where});
      return detail::write_on_tape(x, node, part, full(result_shape(s), value.number(), dtype, where), where);
    }
  }
  const Tensor written =
      value.is_tensor() ? value.tensor() : full(result_shape(s), value.number(), dtype, where);
  if (s.view) {
    const Tensor target = view(x, s);
    const auto itself = [&] { return target; };
    return write_view(target, fitted(written, x, TensorAccess::shape(target), itself, where), where);
  }
  const auto target = [&] { return read(x, index, where); };
  Tensor update = with_dropped(fitted(written, x, result_shape(s), target, where), s, where);
  const Shape backwards = turn_forwards(s);
  if (!backwards.empty()) update = F::flip(update, backwards, where);
  write_view(x, assigned("_slice_assign", {&x, &update}, slice_attributes(s), where), where);
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
