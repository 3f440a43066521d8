// The shape rules of the primitives: each checks its operands, works out its result's type and hands itself
// to emit().
#include "ir/primitives.h"

#include "runtime/fail.h"

#include <algorithm>
#include <array>

namespace kiln::ir {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void require(bool holds, const char* what, const TensorType& x) {
  if (!holds) fail("{}, got {}", what, x.str());
}
void require_same(const char* what, const TensorType& a, const TensorType& b) {
  if (!(a == b)) fail("{} takes operands of one shape and dtype, got {} and {}", what, a.str(), b.str());
}

// Sums of extents, which a file may have chosen.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  if (__builtin_add_overflow(a, b, &a)) fail("an extent does not fit in 64 bits");
  return a;
}
// Windows this large are mistakes; below it no product of two overflows.
constexpr std::int64_t window_limit = std::int64_t{1} << 30;

// Positions of a window of `extent` that slides over `size` elements.
std::int64_t window_count(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t dilate,
                          std::int64_t low, std::int64_t high) {
  const std::int64_t extent = (kernel - 1) * dilate + 1;
  const std::int64_t room = plus(size, low + high) - extent;
  return room < 0 || stride <= 0 ? 0 : room / stride + 1;
}

void check_window(const Window& w, const TensorType& x) {
  const int spatial = x.shape.rank() - 2;
  if (spatial < 1) fail("a window needs an array of at least 3 axes, got {}", x.str());
  for (const Shape* s : {&w.kernel, &w.stride, &w.dilate, &w.pad_low, &w.pad_high})
    if (s->rank() != spatial) fail("a window over {} needs {} extents, got {}", x.str(), spatial, s->str());
  for (int i = 0; i < spatial; ++i)
    if (w.kernel[at(i)] < 1 || w.stride[at(i)] < 1 || w.dilate[at(i)] < 1)
      fail("kernel {}, stride {} and dilation {} must be positive", w.kernel.str(), w.stride.str(),
           w.dilate.str());
  for (int i = 0; i < spatial; ++i)
    if (w.pad_low[at(i)] < 0 || w.pad_high[at(i)] < 0)
      fail("padding {} and {} must not be negative", w.pad_low.str(), w.pad_high.str());
  for (const Shape* s : {&w.kernel, &w.stride, &w.dilate, &w.pad_low, &w.pad_high})
    for (std::int64_t v : *s)
      if (v >= window_limit) fail("{} is too large for a window over {}", v, x.str());
}

}  // namespace

Value Primitives::add_value(const TensorType& type) {
  for (std::int64_t d : type.shape)
    if (d < 0) fail("an array cannot have the shape {}", type.shape.str());
  (void)type.bytes();  // throws when there are too many
  types_.push_back(type);
  return {static_cast<std::uint32_t>(types_.size() - 1)};
}

void Primitives::require_existing(std::span<const Value> values) const {
  for (Value v : values)
    if (!v.valid() || v.id >= types_.size())
      fail_internal("a primitive was given a value that does not exist");
}

Value Primitives::record(Kind kind, std::span<const Value> operands, const Params& params,
                         const TensorType& type) {
  require_existing(operands);
  const Value result = add_value(type);
  emit(kind, operands, params, result);
  return result;
}

Value Primitives::unary(Unary op, Value x) {
  Params p;
  p.unary = op;
  return record(Kind::unary, {{x}}, p, type(x));
}
Value Primitives::binary(Binary op, Value a, Value b) {
  require_same("a pointwise primitive", type(a), type(b));
  Params p;
  p.binary = op;
  return record(Kind::binary, {{a, b}}, p, type(a));
}
Value Primitives::fma(Value a, Value b, Value c) {
  require_same("fma", type(a), type(b));
  require_same("fma", type(a), type(c));
  return record(Kind::fma, {{a, b, c}}, {}, type(a));
}
Value Primitives::compare(Compare op, Value a, Value b) {
  require_same("a comparison", type(a), type(b));
  Params p;
  p.compare = op;
  return record(Kind::compare, {{a, b}}, p, {DType::boolean, shape(a)});
}
Value Primitives::select(Value condition, Value a, Value b) {
  require_same("select", type(a), type(b));
  if (dtype(condition) != DType::boolean || shape(condition) != shape(a))
    fail("select needs a bool condition of shape {}, got {}", shape(a).str(), type(condition).str());
  return record(Kind::select, {{condition, a, b}}, {}, type(a));
}
Value Primitives::cast(Value x, DType to) {
  if (dtype(x) == to) return x;
  return record(Kind::cast, {{x}}, {}, {to, shape(x)});
}

Value Primitives::full(const TensorType& type, double value) {
  Params p;
  p.number = value;
  return record(Kind::full, {}, p, type);
}
Value Primitives::full_integer(const TensorType& type, std::int64_t value) {
  Params p;
  p.integer = value;
  p.is_integer = true;
  return record(Kind::full, {}, p, type);
}
Value Primitives::constant(const TensorType& type, std::span<const std::byte> elements) {
  if (static_cast<std::int64_t>(elements.size()) != type.bytes())
    fail_internal("a constant of {} bytes for {}", elements.size(), type.str());
  Params p;
  p.bytes = elements;
  return record(Kind::constant, {}, p, type);
}
Value Primitives::iota(const TensorType& type, int axis) {
  if (axis < 0 || axis >= type.shape.rank()) fail_internal("iota along axis {} of {}", axis, type.str());
  Params p;
  p.axis = axis;
  return record(Kind::iota, {}, p, type);
}
Value Primitives::random_uniform(const Shape& shape, DType dtype) {
  if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::i64)
    fail_internal("random numbers of dtype {}", name_of(dtype));
  return record(Kind::random_uniform, {}, {}, {dtype, shape});
}
std::array<Value, 4> Primitives::random_uniforms(const Shape& shape) {
  std::array<Value, 4> words;
  for (int i = 0; i < 4; ++i) {
    Params p;
    p.integer = i;
    words[at(i)] = record(Kind::random_uniform, {}, p, {DType::f32, shape});
  }
  return words;
}

Value Primitives::broadcast(Value x, const Shape& to, const Shape& dims) {
  const Shape& from = shape(x);
  if (dims.rank() != from.rank()) fail_internal("broadcast of {} with axes {}", type(x).str(), dims.str());
  for (int i = 0; i < from.rank(); ++i) {
    const std::int64_t d = dims[at(i)];
    if (d < 0 || d >= to.rank() || (i > 0 && d <= dims[at(i - 1)]))
      fail_internal("broadcast of {} with axes {}", type(x).str(), dims.str());
    if (from[at(i)] != 1 && from[at(i)] != to[static_cast<std::size_t>(d)])
      fail("cannot broadcast shape {} to {}", from.str(), to.str());
  }
  if (from == to) return x;
  Params p;
  p.a = dims;
  return record(Kind::broadcast, {{x}}, p, {dtype(x), to});
}
Value Primitives::reshape(Value x, const Shape& to) {
  if (shape(x).elements() != to.elements())
    fail("cannot reshape {} to {}: the number of elements differs", shape(x).str(), to.str());
  if (shape(x) == to) return x;
  return record(Kind::reshape, {{x}}, {}, {dtype(x), to});
}
Value Primitives::transpose(Value x, const Shape& permutation) {
  const Shape& from = shape(x);
  if (permutation.rank() != from.rank()) fail("cannot transpose {} by {}", from.str(), permutation.str());
  Shape to;
  unsigned seen = 0;
  bool identity = true;
  for (int i = 0; i < from.rank(); ++i) {
    const std::int64_t axis = permutation[at(i)];
    if (axis < 0 || axis >= from.rank() || (seen & (1u << axis)))
      fail("cannot transpose {} by {}", from.str(), permutation.str());
    seen |= 1u << axis;
    identity &= axis == i;
    to.push_back(from[static_cast<std::size_t>(axis)]);
  }
  if (identity) return x;
  Params p;
  p.a = permutation;
  return record(Kind::transpose, {{x}}, p, {dtype(x), to});
}
Value Primitives::slice(Value x, const Shape& start, const Shape& limit, const Shape& step) {
  const Shape& from = shape(x);
  if (start.rank() != from.rank() || limit.rank() != from.rank() || step.rank() != from.rank())
    fail_internal("slice of {} from {} to {} by {}", from.str(), start.str(), limit.str(), step.str());
  Shape to;
  for (int i = 0; i < from.rank(); ++i) {
    if (start[at(i)] < 0 || limit[at(i)] > from[at(i)] || start[at(i)] > limit[at(i)] || step[at(i)] < 1)
      fail("the slice from {} to {} by {} does not fit the shape {}", start.str(), limit.str(), step.str(),
           from.str());
    const std::int64_t length = limit[at(i)] - start[at(i)];
    to.push_back(length == 0 ? 0 : (length - 1) / step[at(i)] + 1);
  }
  if (to == from) return x;
  Params p;
  p.a = start;
  p.b = limit;
  p.c = step;
  return record(Kind::slice, {{x}}, p, {dtype(x), to});
}
Value Primitives::reverse(Value x, const Shape& axes) {
  for (std::int64_t a : axes)
    if (a < 0 || a >= shape(x).rank()) fail("axis {} is not one of {}", a, shape(x).str());
  Params p;
  p.a = axes;
  return record(Kind::reverse, {{x}}, p, type(x));
}
Value Primitives::pad(Value x, double value, const Shape& low, const Shape& high) {
  if (low.rank() != shape(x).rank() || high.rank() != shape(x).rank())
    fail("padding {} and {} does not fit the shape {}", low.str(), high.str(), shape(x).str());
  Shape to;
  for (int i = 0; i < low.rank(); ++i) {
    if (low[at(i)] < 0 || high[at(i)] < 0)
      fail("padding {} and {} must not be negative", low.str(), high.str());
    to.push_back(plus(plus(shape(x)[at(i)], low[at(i)]), high[at(i)]));
  }
  Params p;
  p.number = value;
  p.a = low;
  p.b = high;
  return record(Kind::pad, {{x}}, p, {dtype(x), to});
}
Value Primitives::concatenate(std::span<const Value> parts, int axis) {
  if (parts.empty()) fail("nothing to concatenate");
  TensorType to = type(parts[0]);
  if (axis < 0 || axis >= to.shape.rank())
    fail("cannot concatenate along axis {} of {}", axis, to.shape.str());
  for (Value v : parts.subspan(1)) {
    Shape s = shape(v);
    bool fits = s.rank() == to.shape.rank() && dtype(v) == to.dtype;
    for (int i = 0; fits && i < s.rank(); ++i) fits = i == axis || s[at(i)] == to.shape[at(i)];
    if (!fits)
      fail("cannot concatenate {} and {} along axis {}: dtypes and all other extents must be equal",
           type(parts[0]).str(), type(v).str(), axis);
    to.shape[at(axis)] = plus(to.shape[at(axis)], s[at(axis)]);
  }
  if (parts.size() == 1) return parts[0];
  Params p;
  p.axis = axis;
  return record(Kind::concatenate, parts, p, to);
}
Value Primitives::insert(Value x, Value update, const Shape& start, const Shape& step) {
  const Shape& into = shape(x);
  const Shape& what = shape(update);
  if (dtype(x) != dtype(update) || what.rank() != into.rank() || start.rank() != into.rank() ||
      step.rank() != into.rank())
    fail("cannot write {} into {}", type(update).str(), type(x).str());
  const auto beyond = [&](std::size_t i) {
    const auto last = product_of(std::array{what[i] - 1, step[i]});
    return !last || *last >= into[i] - start[i];
  };
  for (int i = 0; i < into.rank(); ++i)
    if (start[at(i)] < 0 || step[at(i)] < 1 || (what[at(i)] > 0 && beyond(at(i))))
      fail("cannot write {} into {} from {} by {}", what.str(), into.str(), start.str(), step.str());
  Params p;
  p.a = start;
  p.b = step;
  return record(Kind::insert, {{x, update}}, p, type(x));
}
Value Primitives::gather(Value x, Value indices, int axis) {
  const Shape& from = shape(x);
  if (axis < 0 || axis >= from.rank()) fail("cannot take along axis {} of {}", axis, from.str());
  require(!is_floating(dtype(indices)), "gather needs integer indices", type(indices));
  if (from[at(axis)] == 0 && shape(indices).elements() > 0)
    fail("cannot take from axis {} of {}: it is empty", axis, from.str());
  Shape to;
  for (int i = 0; i < axis; ++i) to.push_back(from[at(i)]);
  for (std::int64_t d : shape(indices)) to.push_back(d);
  for (int i = axis + 1; i < from.rank(); ++i) to.push_back(from[at(i)]);
  Params p;
  p.axis = axis;
  return record(Kind::gather, {{x, indices}}, p, {dtype(x), to});
}

Value Primitives::check_bounds(Value indices, std::int64_t extent) {
  require(dtype(indices) == DType::i64, "a check of bounds needs int64 indices", type(indices));
  Params p;
  p.integer = extent;
  return record(Kind::check_bounds, {{indices}}, p, type(indices));
}

Value Primitives::scatter(Scatter how, Value x, Value indices, Value updates, int axis) {
  const Shape& into = shape(x);
  if (axis < 0 || axis >= into.rank()) fail("cannot scatter along axis {} of {}", axis, into.str());
  require(!is_floating(dtype(indices)), "scatter needs integer indices", type(indices));
  TensorType expected{dtype(x), {}};
  for (int i = 0; i < axis; ++i) expected.shape.push_back(into[at(i)]);
  for (std::int64_t d : shape(indices)) expected.shape.push_back(d);
  for (int i = axis + 1; i < into.rank(); ++i) expected.shape.push_back(into[at(i)]);
  if (!(type(updates) == expected))
    fail("to scatter by indices {} along axis {} of {} takes updates {}, got {}", shape(indices).str(), axis,
         type(x).str(), expected.str(), type(updates).str());
  Params p;
  p.axis = axis;
  p.scatter = how;
  return record(Kind::scatter, {{x, indices, updates}}, p, type(x));
}

Value Primitives::sort(Value x, bool descending) {
  require(shape(x).rank() > 0, "sort needs an array of at least one axis", type(x));
  Params p;
  p.integer = descending;
  return record(Kind::sort, {{x}}, p, {DType::i64, shape(x)});
}
Value Primitives::cumulative(Reduce op, Value x, int axis) {
  if (axis < 0 || axis >= shape(x).rank())
    fail("cannot accumulate along axis {} of {}", axis, shape(x).str());
  Params p;
  p.reduce = op;
  p.axis = axis;
  return record(Kind::cumulative, {{x}}, p, type(x));
}

Value Primitives::reduce(Reduce op, Value x, const Shape& axes) {
  const Shape& from = shape(x);
  Shape to;
  std::size_t next = 0;
  for (int i = 0; i < from.rank(); ++i) {
    if (next < axes.size() && axes[next] == i)
      ++next;
    else
      to.push_back(from[at(i)]);
  }
  if (next != axes.size()) fail("cannot reduce axes {} of shape {}", axes.str(), from.str());
  if (axes.empty()) return x;
  Params p;
  p.reduce = op;
  p.a = axes;
  return record(Kind::reduce, {{x}}, p, {dtype(x), to});
}
Value Primitives::dot(Value lhs, Value rhs, const DotSpec& spec) {
  const Shape& a = shape(lhs);
  const Shape& b = shape(rhs);
  const auto refuse = [&] {
    fail("cannot multiply {}{} by {}{}", type(lhs).str(), spec.transpose_lhs ? " transposed" : "",
         type(rhs).str(), spec.transpose_rhs ? " transposed" : "");
  };
  if (a.rank() < 2 || a.rank() != b.rank() || dtype(lhs) != dtype(rhs)) refuse();
  const auto last = a.size() - 1;
  Shape to;
  for (std::size_t i = 0; i + 2 < a.size(); ++i) {
    if (a[i] != b[i]) refuse();
    to.push_back(a[i]);
  }
  const std::int64_t m = spec.transpose_lhs ? a[last] : a[last - 1];
  const std::int64_t ka = spec.transpose_lhs ? a[last - 1] : a[last];
  const std::int64_t kb = spec.transpose_rhs ? b[last] : b[last - 1];
  const std::int64_t n = spec.transpose_rhs ? b[last - 1] : b[last];
  if (ka != kb) refuse();
  to.push_back(m);
  to.push_back(n);
  Params p;
  p.dot = spec;
  return record(Kind::dot, {{lhs, rhs}}, p, {dtype(lhs), to});
}
Value Primitives::convolution(Value x, Value w, const ConvSpec& spec) {
  const Shape& in = shape(x);
  const Shape& weight = shape(w);
  check_window(spec.window, type(x));
  if (dtype(x) != dtype(w) || weight.rank() != in.rank() || spec.groups < 1 ||
      in[1] != weight[1] * spec.groups || weight[0] % spec.groups != 0)
    fail("cannot convolve {} with {} in {} groups", type(x).str(), type(w).str(), spec.groups);
  Shape to{in[0], weight[0]};
  for (int i = 0; i + 2 < in.rank(); ++i) {
    const std::size_t k = at(i);
    if (weight[k + 2] != spec.window.kernel[k])
      fail("the weight {} is not of kernel {}", weight.str(), spec.window.kernel.str());
    to.push_back(window_count(in[k + 2], spec.window.kernel[k], spec.window.stride[k], spec.window.dilate[k],
                              spec.window.pad_low[k], spec.window.pad_high[k]));
    if (to.back() < 1)
      fail("the kernel {} is larger than the padded input {}", spec.window.kernel.str(), in.str());
  }
  Params p;
  p.convolution = spec;
  return record(Kind::convolution, {{x, w}}, p, {dtype(x), to});
}
Value Primitives::reduce_window(Reduce op, Value x, const Window& window) {
  check_window(window, type(x));
  const Shape& in = shape(x);
  Shape to{in[0], in[1]};
  for (int i = 0; i + 2 < in.rank(); ++i) {
    const std::size_t k = at(i);
    to.push_back(window_count(in[k + 2], window.kernel[k], window.stride[k], window.dilate[k],
                              window.pad_low[k], window.pad_high[k]));
    if (to.back() < 1)
      fail("the kernel {} is larger than the padded input {}", window.kernel.str(), in.str());
  }
  Params p;
  p.reduce = op;
  p.window = window;
  return record(Kind::reduce_window, {{x}}, p, {dtype(x), to});
}

std::vector<Value> Primitives::loop(std::int64_t steps, std::span<const Value> carries,
                                    std::span<const Value> rows, Value go_on, const LoopBody& body) {
  require_existing(carries);
  require_existing(rows);
  if (steps < 0) fail("a loop cannot take {} steps", steps);
  std::vector<Value> arguments, row_arguments, results;
  for (Value v : carries) arguments.push_back(add_value(TensorType(type(v))));
  for (Value v : rows) {
    if (shape(v).rank() < 1 || shape(v)[0] != steps)
      fail("a loop of {} steps needs as many rows, got {}", steps, type(v).str());
    row_arguments.push_back(add_value({dtype(v), Shape(shape(v).dims().subspan(1))}));
  }
  std::vector<Value> all = arguments;
  all.insert(all.end(), row_arguments.begin(), row_arguments.end());
  begin_body(all);
  const LoopStep step = body(arguments, row_arguments);
  std::vector<Value> yielded = step.carries;
  yielded.insert(yielded.end(), step.outputs.begin(), step.outputs.end());
  if (go_on.valid()) yielded.push_back(step.go_on);
  require_existing(yielded);
  if (step.carries.size() != carries.size())
    fail("a loop begins with {} carried values and goes on with {}", carries.size(), step.carries.size());
  for (std::size_t i = 0; i < carries.size(); ++i)
    if (!(type(step.carries[i]) == type(carries[i])))
      fail("the carried value {} of a loop begins as {} and goes on as {}: shape and dtype must stay", i,
           type(carries[i]).str(), type(step.carries[i]).str());
  const auto check_condition = [&](Value v) {
    if (dtype(v) != DType::boolean || type(v).elements() != 1)
      fail("a loop goes on by one bool, got {}", type(v).str());
  };
  if (go_on.valid()) {
    check_condition(go_on);
    check_condition(step.go_on);
    if (shape(go_on) != shape(step.go_on)) fail_internal("the conditions of a loop differ in shape");
  }
  end_body(yielded);
  for (Value v : carries) results.push_back(add_value(TensorType(type(v))));
  for (Value v : step.outputs) {
    Shape stacked{steps};
    for (std::int64_t d : shape(v)) stacked.push_back(d);
    results.push_back(add_value({dtype(v), stacked}));
  }
  emit_loop({steps, carries, rows, go_on}, results);
  return results;
}

std::vector<Value> Primitives::branch(Value condition, const BranchBody& then, const BranchBody& otherwise) {
  require_existing({{condition}});
  if (dtype(condition) != DType::boolean || type(condition).elements() != 1)
    fail("a branch needs one bool, got {}", type(condition).str());
  const auto compose = [&](const BranchBody& body) {
    begin_body({});
    std::vector<Value> values = body();
    require_existing(values);
    end_body(values);
    return values;
  };
  const std::vector<Value> a = compose(then), b = compose(otherwise);
  if (a.size() != b.size()) fail("one branch gives {} values, the other {}", a.size(), b.size());
  std::vector<Value> results;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(type(a[i]) == type(b[i])))
      fail("value {} is {} in one branch and {} in the other", i, type(a[i]).str(), type(b[i]).str());
    results.push_back(add_value(TensorType(type(a[i]))));
  }
  emit_branch(condition, results);
  return results;
}

Value Primitives::broadcast_to(Value x, const Shape& to) {
  const int shift = to.rank() - shape(x).rank();
  if (shift < 0) fail("cannot broadcast shape {} to {}", shape(x).str(), to.str());
  Shape dims;
  for (int i = 0; i < shape(x).rank(); ++i) dims.push_back(i + shift);
  return broadcast(x, to, dims);
}
Value Primitives::broadcast_along(Value x, const Shape& to, int axis) {
  if (shape(x).rank() != 1 || axis < 0 || axis >= to.rank())
    fail("an array of one axis is needed along axis {} of {}, got {}", axis, to.str(), shape(x).str());
  return broadcast(x, to, {axis});
}
Value Primitives::keep_dims(Value reduced, const Shape& original, const Shape& axes) {
  Shape to = original;
  for (std::int64_t a : axes) to[static_cast<std::size_t>(a)] = 1;
  return reshape(reduced, to);
}

Value Primitives::gather_last(Value x, Value indices) {
  const Shape from = shape(x), to = shape(indices);
  bool fits = from.rank() > 0 && from.rank() == to.rank() && dtype(indices) == DType::i64;
  for (int i = 0; fits && i + 1 < from.rank(); ++i) fits = from[at(i)] == to[at(i)];
  if (!fits) fail_internal("gather_last of {} by {}", type(x).str(), type(indices).str());
  if (to.elements() == 0) return full({dtype(x), to}, 0);
  const std::int64_t n = from[at(from.rank() - 1)], k = to[at(to.rank() - 1)];
  const TensorType rows{DType::i64, {to.elements() / k, k}};
  Value place = add(mul(iota(rows, 0), full_integer(rows, n)), reshape(indices, rows.shape));
  return reshape(gather(reshape(x, {from.elements()}), place, 0), to);
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Shape::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a[at(a.rank() - i)] : 1;
    const std::int64_t y = i <= b.rank() ? b[at(b.rank() - i)] : 1;
    if (x != y && x != 1 && y != 1) fail("shapes {} and {} do not broadcast", a.str(), b.str());
    out[at(rank - i)] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace kiln::ir
