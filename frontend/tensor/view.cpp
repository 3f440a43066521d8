#include "frontend/tensor/view.h"

#include "frontend/autograd/tape.h"
#include "frontend/eager/invoke.h"
#include "frontend/eager/numpy_scope.h"
#include "frontend/tensor/elements.h"
#include "frontend/trace/call_trace.h"
#include "runtime/fail.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

namespace kiln {
namespace {

using detail::Array;
using detail::RowRange;
using detail::TensorAccess;
using detail::ViewStep;

/// The only output of an operator that changes layout, recorded in a trace or on the tape.
Tensor record_view_op(const OpCall& call) {
  const bool traced = std::any_of(call.inputs.begin(), call.inputs.end(),
                                  [](const Tensor* t) { return TensorAccess::array(*t)->traced(); });
  return traced ? record_node(call)[0] : record_on_tape(call);
}

/// `spec` has the operator's codes: MXNet's or numpy's.
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

/// In numpy mode by MXNet's operators of that mode.
Tensor record_numpy_slice(const Tensor& x, const RowRange& rows, std::source_location where) {
  CallAttributes<2> given;
  given.set("begin", ir::AttrValue(ir::OptionalInts{rows.begin}));
  given.set("end", ir::AttrValue(ir::OptionalInts{rows.end}));
  const Tensor* inputs[] = {&x};
  return record_view_op(
      {.op = find_op_or_throw("slice"), .inputs = inputs, .given = given.items(), .where = where});
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

// Removes (squeeze) or adds (expand_dims) a first axis of extent 1.
Tensor record_first_axis(const char* op, const Tensor& x, std::source_location where) {
  CallAttributes<1> given;
  given.set("axis",
            std::string_view(op) == "squeeze" ? ir::AttrValue(Shape{0}) : ir::AttrValue(std::int64_t{0}));
  const Tensor* inputs[] = {&x};
  return record_view_op(
      {.op = find_op_or_throw(op), .inputs = inputs, .given = given.items(), .where = where});
}

/// Removes the first axis, of extent 1, by a code of npx.reshape that copies the others.
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

// The number of elements per index of the first axis.
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

/// Locked for a concrete array, whose views several threads may record at once.
std::unique_lock<Mutex> lock_origins(const Array& array) {
  return array.traced() ? std::unique_lock<Mutex>() : std::unique_lock(detail::tape_mutex(array));
}

std::optional<Array::Origin> origin_of(const Tensor& t) {
  const Array& array = *TensorAccess::array(t);
  const auto lock = lock_origins(array);
  for (const Array::Origin& o : array.origins)
    if (o.offset == TensorAccess::offset(t) && o.alias == TensorAccess::alias(t) &&
        o.call == detail::ViewScope::call() && o.shape == TensorAccess::shape(t))
      return o;
  return {};
}

Tensor base_of(const Tensor& view, const Array::Origin& origin) {
  Tensor base = TensorAccess::make(TensorAccess::array(view), origin.base_offset, origin.base_shape,
                                   TensorAccess::dtype(view));
  TensorAccess::set_alias(base, origin.alias);
  return base;
}

// Of several derivations of the same view the first is kept: thus a base is never derived from its own views.
void note_origin(const Tensor& base, std::int64_t offset, const Shape& shape, const ViewStep& step) {
  Array& array = *TensorAccess::array(base);
  const std::int64_t base_offset = TensorAccess::offset(base);
  const Shape& base_shape = TensorAccess::shape(base);
  const std::uint32_t alias = TensorAccess::alias(base);
  const std::uint64_t call = detail::ViewScope::call();
  if ((offset == base_offset && shape == base_shape) || (alias == 0 && offset == 0 && shape == array.shape))
    return;
  const auto lock = lock_origins(array);
  std::erase_if(array.origins, [](const Array::Origin& o) { return detail::ViewScope::has_ended(o.call); });
  for (const Array::Origin& o : array.origins)
    if (o.alias == alias && o.call == call &&
        ((o.offset == offset && o.shape == shape) || (o.base_offset == offset && o.base_shape == shape)))
      return;
  array.origins.push_back({offset, shape, base_offset, base_shape, step, alias, call});
}

// Records the view as the program derived it from its base.
Tensor cut_out_of_base(const Tensor& t, const Array::Origin& origin, std::source_location where) {
  const Tensor base = base_of(t, origin);
  if (const Shape* codes = std::get_if<Shape>(&origin.step))
    return record_reshape_node(base, *codes, NumpyScope::program(), NumpyScope::active(), where);
  const RowRange& rows = std::get<RowRange>(origin.step);
  const Tensor range = record_slice(base, rows, where);
  if (!rows.drop_axis) return range;
  if (NumpyScope::program()) return record_numpy_squeeze(range, where);
  // Outside of numpy mode squeeze cannot give numpy's rank 0; a reshape can, and its shape does not depend on
  // sizes.
  return TensorAccess::shape(t).empty() ? record_reshape(range, {}, where)
                                        : record_first_axis("squeeze", range, where);
}

}  // namespace

bool is_derived(const Tensor& t) { return origin_of(t).has_value(); }

std::vector<Array::Origin> derivation_of(const Tensor& t) {
  std::vector<Array::Origin> steps;
  Tensor at = t;
  while (const auto origin = origin_of(at)) {
    steps.push_back(*origin);
    at = base_of(at, *origin);
  }
  return steps;
}

Tensor cut_out(const Tensor& t, std::source_location where) {
  if (const auto origin = origin_of(t)) return cut_out_of_base(t, *origin, where);
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
    x = record_slice(x, {offset / row, (offset + n) / row}, where);
  }
  return TensorAccess::shape(x) == shape ? x : record_reshape(x, shape, where);
}

namespace {

/// A value as an array of its own.
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

/// A tensor that operators may read the shape of, and that no gradient reaches.
Tensor shape_alone(const Tensor& t, std::source_location where) {
  const Array& array = *TensorAccess::array(t);
  if (array.traced()) return without_gradient(t, where);
  const Shape& shape = TensorAccess::shape(t);
  return TensorAccess::make(std::make_shared<Array>(Buffer::none(array.device()), shape), 0, shape,
                            TensorAccess::dtype(t));
}

}  // namespace

// The array's contents with the elements of `view` replaced by `next`.
Tensor replaced(const Tensor& view, Tensor next, bool recorded, std::source_location where) {
  const Array& array = *TensorAccess::array(view);
  const std::int64_t offset = TensorAccess::offset(view);
  const Shape& shape = TensorAccess::shape(view);
  const std::int64_t n = shape.elements();
  if (offset == 0 && shape == array.shape)
    return TensorAccess::shape(next) == shape ? next : record_reshape(next, shape, where);
  if (const auto origin = origin_of(view)) {
    const Tensor base = base_of(view, *origin);
    if (const RowRange* rows = std::get_if<RowRange>(&origin->step)) {
      if (TensorAccess::shape(next) != shape) next = record_reshape(next, shape, where);
      if (rows->drop_axis)
        next =
            shape.empty() ? record_reshape(next, {1}, where) : record_first_axis("expand_dims", next, where);
      // What is left of the array keeps its history.
      const bool rest = recorded || n != array.shape.elements();
      next = record_slice_assign(rest ? base : shape_alone(base, where), next, *rows, where);
    } else {
      // It gives what it reads the shape of the gradient 0, which changes the sign of a zero. A write that is
      // not recorded adds no gradient.
      next = record_reshape_like(next, recorded ? base : shape_alone(base, where), where);
    }
    return replaced(base, next, recorded, where);
  }
  if (n == array.shape.elements()) return record_reshape(next, array.shape, where);
  const Tensor base = whole(view);
  const std::int64_t row = row_elements(array.shape);
  if (covers_rows(row, offset, n)) {
    Shape rows = array.shape;
    rows[0] = n / row;
    if (TensorAccess::shape(next) != rows) next = record_reshape(next, rows, where);
    return record_slice_assign(base, next, {offset / row, (offset + n) / row}, where);
  }
  if (TensorAccess::shape(next).rank() != 1) next = record_reshape(next, {-1}, where);
  next = record_slice_assign(record_reshape(base, {-1}, where), next, {offset, offset + n}, where);
  return record_reshape(next, array.shape, where);
}

namespace {

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

/// Whether both are the same view.
bool same_view(const Tensor& a, const Tensor& b) {
  return TensorAccess::offset(a) == TensorAccess::offset(b) &&
         TensorAccess::shape(a) == TensorAccess::shape(b);
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
    // What else is in the array keeps its history.
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

}  // namespace

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

/// value_of(), cut out with its history where no calls are recorded too, as on the tape.
ir::Entry recorded_value_of(const Tensor& t, std::source_location where) {
  std::optional<RecordingScopeIs> scope;
  if (!records_nodes()) scope.emplace(RecordingScope::record);
  return value_of(t, where);
}

Tensor own_behind(const Tensor& t) {
  if (TensorAccess::alias(t) == 0) return {};
  const Array& array = *TensorAccess::array(t);
  const auto traced_own = [&](const Array::View& v) {
    return v.key.is_own() && v.key.is_read_by(t) && v.of == array.value;
  };
  if (array.traced() ? std::any_of(array.views.begin(), array.views.end(), traced_own)
                     : detail::has_own_value(t))
    return t;
  const auto origin = origin_of(t);
  return origin ? own_behind(base_of(t, *origin)) : Tensor();
}

std::vector<Tensor> own_values(std::span<const Tensor> list, std::uint64_t call, std::source_location where) {
  std::vector<Tensor> own;
  own.reserve(list.size());
  for (const Tensor& given : list) {
    if (TensorAccess::is_array(given)) {
      own.push_back(given);
      continue;
    }
    Trace* const trace = Trace::current();
    const Tensor t = trace ? trace->resolve(given) : given;
    const Array& array = *TensorAccess::array(t);
    if (TensorAccess::is_array(t) || !array.shape_known)
      own.push_back(t);
    else if (array.traced())
      own.push_back(own_value(t, recorded_value_of(t, where), call));
    else if (detail::is_recording() || detail::has_link(t))
      own.push_back(detail::own_value(t, detail::link_of(t, where), call));
    else
      own.push_back(t);
  }
  return own;
}

namespace {

Tensor returned_value(const Tensor& t, std::span<const Tensor> given, std::span<const Tensor> arguments,
                      std::uint64_t call, std::source_location where) {
  const std::uint32_t alias = TensorAccess::alias(t);
  const auto argument = std::find_if(arguments.begin(), arguments.end(),
                                     [&](const Tensor& a) { return TensorAccess::alias(a) == alias; });
  Tensor out = t;
  TensorAccess::set_alias(out, 0);
  if (argument != arguments.end()) {
    const Tensor& as_given = given[static_cast<std::size_t>(argument - arguments.begin())];
    return same_view(t, *argument) && TensorAccess::array(as_given) == TensorAccess::array(t) ? as_given
                                                                                              : out;
  }
  if (!own_behind(t).defined()) return out;
  if (TensorAccess::array(t)->traced()) return own_value(out, recorded_value_of(t, where), call);
  if (Trace::current()) return out;
  return detail::own_value(out, detail::link_of(t, where), call);
}

}  // namespace

bool same_own_value(const Tensor& a, const Tensor& b) {
  return TensorAccess::alias(a) != 0 && TensorAccess::alias(a) == TensorAccess::alias(b) && same_view(a, b);
}

std::vector<Tensor> returned_values(std::vector<Tensor> results, std::span<const Tensor> given,
                                    std::span<const Tensor> arguments, std::uint64_t call,
                                    std::source_location where) {
  struct Returned {
    Tensor inside;
    std::size_t number;
  };
  std::vector<Returned> own;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (TensorAccess::alias(results[i]) == 0) continue;
    const Tensor t = results[i];
    const auto known = std::find_if(own.begin(), own.end(),
                                    [&](const Returned& before) { return same_own_value(before.inside, t); });
    results[i] =
        known == own.end() ? returned_value(t, given, arguments, call, where) : results[known->number];
    own.push_back({t, i});
  }
  return results;
}

Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape) {
  Tensor view = TensorAccess::make(TensorAccess::array(t), offset, shape, TensorAccess::dtype(t));
  TensorAccess::set_alias(view, TensorAccess::alias(t));
  return view;
}

Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape, const detail::ViewStep& step) {
  const Array& array = *TensorAccess::array(t);
  // A recording keeps how a view was derived, of an array that it may capture too, and so does the tape.
  const Trace* const trace = Trace::current();
  const bool kept = trace && trace->shapes_known();
  if (array.traced() ? array.shape_known : kept || detail::keeps_derivations())
    note_origin(t, offset, shape, step);
  return view_of(t, offset, shape);
}

void write_view(const Tensor& view, const Tensor& value, std::source_location where) {
  write_part(view, view, value, where);
}

void write_part(const Tensor& view, const Tensor& part, const Tensor& value, std::source_location where) {
  if (TensorAccess::dtype(view) != TensorAccess::dtype(value) && TensorAccess::array(view)->shape_known)
    fail_internal("a value of {} is written into an array of {}", name_of(TensorAccess::dtype(value)),
                  name_of(TensorAccess::dtype(view)));
  Trace* const trace = Trace::current();
  if (trace) return write_traced(trace->resolve(view), trace->resolve(part), trace->resolve(value), where);
  if (TensorAccess::array(view)->traced()) return write_traced(view, part, value, where);
  write_on_tape(view, value, view, value, where);
}

void write_on_tape(const Tensor& view, const Tensor& value, const Tensor& part, const Tensor& elements,
                   std::source_location where) {
  detail::record_write(view, value, !same_view(view, part), where);
  detail::before_write(*TensorAccess::array(view));
  copy_elements(part, elements);
  TensorAccess::array(view)->bump_version();
}

const Shape& known_shape(const Tensor& t, const char* what, std::source_location where) {
  const Array* array = TensorAccess::array(t).get();
  if (!array)
    fail("{}{} of an undefined Tensor (made by Tensor() and never assigned)", line_prefix(where), what);
  if (array->traced() && !array->shape_known) {
    fail(
        "{}{} needs the shape of <Symbol {}>, which is not known: a Symbol has no shapes. Use "
        "net.hybridize() and call "
        "the network on a Tensor, or infer_shape() on the Symbol; in place of x[...] use F.slice_axis or "
        "F.slice, in "
        "place of sizes the codes 0 and -1 of F.reshape",
        line_prefix(where), what, array->value.node->name);
  }
  return TensorAccess::shape(t);
}

}  // namespace kiln
