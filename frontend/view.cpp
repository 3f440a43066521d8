#include "frontend/view.h"

#include "frontend/invoke.h"
#include "frontend/numpy_scope.h"
#include "frontend/trace.h"
#include "runtime/fail.h"

#include <algorithm>
#include <cstring>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;

/// An operator that updates an auxiliary state leaves its entry, with another version.
bool same_value(const ir::Entry& a, const ir::Entry& b) {
  return a.node == b.node && a.output == b.output && a.version == b.version;
}

Tensor record_reshape(const Tensor& x, const Shape& shape, std::source_location where) {
  // An extent 0 would be a code of Reshape; numpy's operator takes it as it is.
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  const bool numpy = empty || NumpyScope::program();
  Given<1> given;
  given.set(numpy ? "newshape" : "shape", ir::AttrValue(shape));
  const Tensor* inputs[] = {&x};
  return record_node({.op = row(numpy ? "_np_reshape" : "Reshape"),
                      .inputs = inputs,
                      .given = given.items(),
                      .where = where,
                      .hint = "reshape",
                      .np_shape = empty || NumpyScope::active()})[0];
}

Tensor record_slice(const Tensor& x, std::int64_t begin, std::int64_t end, std::source_location where) {
  Given<3> given;
  given.set("axis", ir::AttrValue(std::int64_t{0}));
  given.set("begin", ir::AttrValue(begin));
  given.set("end", ir::AttrValue(end));
  const Tensor* inputs[] = {&x};
  return record_node({.op = row("slice_axis"), .inputs = inputs, .given = given.items(), .where = where})[0];
}

Tensor record_slice_assign(const Tensor& x, const Tensor& update, std::int64_t begin, std::int64_t end,
                           std::source_location where) {
  Given<2> given;
  given.set("begin", ir::AttrValue(ir::OptionalInts{begin}));
  given.set("end", ir::AttrValue(ir::OptionalInts{end}));
  const Tensor* inputs[] = {&x, &update};
  return record_node(
      {.op = row("_slice_assign"), .inputs = inputs, .given = given.items(), .where = where})[0];
}

// The elements of one step along the first axis.
std::int64_t row_elements(const Shape& shape) {
  if (shape.empty() || shape[0] == 0) return 0;
  return shape.elements() / shape[0];
}

bool covers_rows(std::int64_t row, std::int64_t offset, std::int64_t n) {
  return row > 0 && offset % row == 0 && n % row == 0;
}

Tensor whole(const Tensor& t) {
  const auto& array = TensorAccess::array(t);
  return TensorAccess::make(array, 0, array->shape, TensorAccess::dtype(t));
}

ir::Entry cut_out(const Tensor& t, std::source_location where) {
  const Array& array = *TensorAccess::array(t);
  const Shape& shape = TensorAccess::shape(t);
  const std::int64_t offset = TensorAccess::offset(t);
  const std::int64_t n = shape.elements();
  Tensor x = whole(t);
  if (n != array.shape.elements()) {
    std::int64_t row = row_elements(array.shape);
    if (!covers_rows(row, offset, n)) {
      x = record_reshape(x, {-1}, where);
      row = 1;
    }
    x = record_slice(x, offset / row, (offset + n) / row, where);
  }
  if (TensorAccess::shape(x) != shape) x = record_reshape(x, shape, where);
  return TensorAccess::array(x)->value;
}

void write_traced(const Tensor& view, const Tensor& value, std::source_location where) {
  Array& array = *TensorAccess::array(view);
  const ir::Entry written = value_of(value, where);
  if (!array.shape_known) {
    array.value = written;
    return;
  }
  const std::int64_t offset = TensorAccess::offset(view);
  const Shape& shape = TensorAccess::shape(view);
  const std::int64_t n = shape.elements();
  if (n == 0) return;
  if (Trace* const trace = Trace::current()) trace->will_write(array);
  Tensor next = value;
  if (n == array.shape.elements()) {
    if (TensorAccess::shape(next) != array.shape) next = record_reshape(next, array.shape, where);
  } else {
    Tensor base = whole(view);
    const std::int64_t row = row_elements(array.shape);
    if (covers_rows(row, offset, n)) {
      Shape rows = array.shape;
      rows[0] = n / row;
      if (TensorAccess::shape(next) != rows) next = record_reshape(next, rows, where);
      next = record_slice_assign(base, next, offset / row, (offset + n) / row, where);
    } else {
      base = record_reshape(base, {-1}, where);
      if (TensorAccess::shape(next).rank() != 1) next = record_reshape(next, {-1}, where);
      next = record_slice_assign(base, next, offset, offset + n, where);
      next = record_reshape(next, array.shape, where);
    }
  }
  array.value = value_of(next, where);
  array.views.clear();
  // What was just written is what this view reads.
  if (TensorAccess::shape(value) == shape && n != array.shape.elements())
    array.views.push_back({offset, shape, array.value, written});
}

}  // namespace

std::byte* elements_of(const Tensor& t) {
  return TensorAccess::array(t)->data() +
         static_cast<std::size_t>(TensorAccess::offset(t)) * size_of(TensorAccess::dtype(t));
}

const std::byte* readable_elements(const Tensor& t, const char* what, std::source_location where) {
  const Array* array = TensorAccess::array(t).get();
  if (!array)
    fail("{}{} of an undefined Tensor (made by Tensor() and never assigned)", line_prefix(where), what);
  const Trace* trace = Trace::current();
  if (array->traced() && (!trace || !trace->sees(*array) || !trace->shapes_known())) {
    fail(
        "{}{} needs a value, but <Symbol {}> has none: it describes a computation. Bind it to arrays first "
        "(SymbolBlock, or "
        "call the network on a Tensor)",
        line_prefix(where), what, array->value.node->name);
  }
  if (array->traced() || (trace && trace->has_written(array))) {
    fail(
        "{}{} needs a value, but the network is being traced (hybridize): hybrid_forward runs once, on "
        "values to come. Keep "
        "it a Tensor, choose between tensors with F.where, or call {} outside of hybrid_forward",
        line_prefix(where), what, what);
  }
  return elements_of(t);
}

void fail_mixed(std::source_location where) {
  fail(
      "{}an array is used with Symbols, which have no values yet: compose with sym::var(\"name\") in its "
      "place, and give the array when the composed network runs",
      line_prefix(where));
}

ir::Entry value_of(const Tensor& t, std::source_location where) {
  Array& array = *TensorAccess::array(t);
  if (!array.traced()) fail_mixed(where);
  if (!array.shape_known) return array.value;
  const std::int64_t offset = TensorAccess::offset(t);
  const Shape& shape = TensorAccess::shape(t);
  if (offset == 0 && shape == array.shape) return array.value;
  for (const Array::View& view : array.views)
    if (view.offset == offset && view.shape == shape && same_value(view.of, array.value)) return view.value;
  const ir::Entry value = cut_out(t, where);
  array.views.push_back({offset, shape, array.value, value});
  return value;
}

Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape) {
  return TensorAccess::make(TensorAccess::array(t), offset, shape, TensorAccess::dtype(t));
}

void write_view(const Tensor& view, const Tensor& value, std::source_location where) {
  if (TensorAccess::dtype(view) != TensorAccess::dtype(value) && TensorAccess::array(view)->shape_known)
    fail_internal("a value of {} is written into an array of {}", name_of(TensorAccess::dtype(value)),
                  name_of(TensorAccess::dtype(view)));
  Trace* const trace = Trace::current();
  if (trace) return write_traced(trace->resolve(view), trace->resolve(value), where);
  if (TensorAccess::array(view)->traced()) return write_traced(view, value, where);
  if (const std::size_t bytes = TensorAccess::bytes(view)) std::memmove(elements_of(view), elements_of(value), bytes);
  TensorAccess::array(view)->touch();
}

const Shape& known_shape(const Tensor& t, const char* what, std::source_location where) {
  const Array* array = TensorAccess::array(t).get();
  if (!array)
    fail("{}{} of an undefined Tensor (made by Tensor() and never assigned)", line_prefix(where), what);
  if (array->traced() && !array->shape_known) {
    fail(
        "{}{} asks for the shape of <Symbol {}>, which is not known: a Symbol has no shapes. Use "
        "net.hybridize() and call "
        "the network on a Tensor, or infer_shape() on the Symbol; in place of x[...] use F.slice_axis or "
        "F.slice, in "
        "place of sizes the codes 0 and -1 of F.reshape",
        line_prefix(where), what, array->value.node->name);
  }
  return TensorAccess::shape(t);
}

}  // namespace kiln
