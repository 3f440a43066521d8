// Each primitive infers its result type by ir/result_types.h, then calls emit().
#include "ir/primitives.h"

#include "ir/at.h"
#include "ir/result_types.h"
#include "runtime/fail.h"

#include <algorithm>
#include <array>

namespace kiln::ir {
namespace {

void require_same(const char* what, const TensorType& a, const TensorType& b) {
  if (!(a == b)) fail("{} takes operands of one shape and dtype, got {} and {}", what, a.str(), b.str());
}

}  // namespace

Value Primitives::add_value(const TensorType& type) {
  for (std::int64_t d : type.shape)
    if (d < 0) fail("an array cannot have the shape {}", type.shape.str());
  (void)type.bytes();  // throws if the array is too large
  types_.push_back(type);
  return {static_cast<std::uint32_t>(types_.size() - 1)};
}

void Primitives::require_existing(std::span<const Value> values) const {
  for (Value v : values)
    if (!v.valid() || v.id >= types_.size())
      fail_internal("a primitive was given a value that does not exist");
}

Value Primitives::record(Kind kind, std::span<const Value> operands, const Params& params,
                         const ResultType& type) {
  require_existing(operands);
  const Value result = add_value(type.value());
  emit(kind, operands, params, result);
  if (!tape_scopes_.empty()) tape({kind, {operands.begin(), operands.end()}, params, {result}});
  return result;
}

Value Primitives::alias(Value x) {
  require_existing({{x}});
  const Value result = add_value(TensorType(type(x)));
  emit_alias(x, result);
  if (!tape_scopes_.empty()) tape({Kind::alias, {x}, {}, {result}});
  return result;
}

void Primitives::open_body(std::span<const Value> arguments) {
  begin_body(arguments);
  const auto next = static_cast<std::uint32_t>(types_.size());
  bodies_.push_back({arguments.empty() ? next : arguments.front().id, {}});
}

void Primitives::close_body(std::span<const Value> yielded) {
  use(yielded);
  used_by_closed_.push_back(std::move(bodies_.back().used));
  bodies_.pop_back();
  end_body(yielded);
}

void Primitives::use(std::span<const Value> operands) {
  if (bodies_.empty() || tape_scopes_.empty()) return;
  for (Value v : operands)
    if (v.id < bodies_.back().first) bodies_.back().used.push_back(v);
}

void Primitives::tape(Taped primitive) {
  use(primitive.operands);
  if (tape_scopes_.back().bodies == bodies_.size()) tape_.push_back(std::move(primitive));
}

Value Primitives::taped_as(Kind kind, std::span<const Value> operands, const Params& params,
                           const std::function<Value()>& compose) {
  const std::size_t before = tape_.size();
  const Value result = compose();
  if (!tape_scopes_.empty()) {
    tape_.resize(before);
    tape({kind, {operands.begin(), operands.end()}, params, {result}});
  }
  return result;
}

void Primitives::tape_control_flow(std::vector<Value> operands, std::size_t bodies,
                                   std::span<const Value> results) {
  for (; bodies > 0; --bodies) {
    const std::vector<Value>& used = used_by_closed_.back();
    operands.insert(operands.end(), used.begin(), used.end());
    used_by_closed_.pop_back();
  }
  if (!tape_scopes_.empty())
    tape({Kind::control_flow, std::move(operands), {}, {results.begin(), results.end()}});
}

void Primitives::end_tape() {
  const TapeScope ended = tape_scopes_.back();
  tape_scopes_.pop_back();
  if (tape_scopes_.empty() || tape_scopes_.back().bodies != ended.bodies) tape_.resize(ended.begin);
}

Value Primitives::record_unless_same(Kind kind, Value x, const Params& params, const ResultType& to) {
  return to.value() == type(x) ? x : record(kind, {{x}}, params, to);
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
  Params p;
  p.compare = op;
  return record(Kind::compare, {{a, b}}, p, compare_type(type(a), type(b)));
}
Value Primitives::select(Value condition, Value a, Value b) {
  return record(Kind::select, {{condition, a, b}}, {}, select_type(type(condition), type(a), type(b)));
}
Value Primitives::cast(Value x, DType to) {
  if (dtype(x) == to) return x;
  return record(Kind::cast, {{x}}, {}, TensorType{to, shape(x)});
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
  Params p;
  p.axis = axis;
  return record(Kind::iota, {}, p, iota_type(type, axis));
}
Value Primitives::random_uniform(const Shape& shape, DType dtype) {
  return draw(random_uniform_type({dtype, shape}), 0);
}
std::array<Value, 4> Primitives::random_uniforms(const Shape& shape) {
  std::array<Value, 4> words;
  for (int i = 0; i < 4; ++i) words[at(i)] = draw(random_uniform_type({DType::f32, shape}), i);
  return words;
}
Value Primitives::draw(const ResultType& type, std::int64_t word) {
  if (replayed_) return replayed_->next(type.value(), word);
  Params p;
  p.integer = word;
  return record(Kind::random_uniform, {}, p, type);
}

Primitives::ReplayedDraws::ReplayedDraws(Primitives& p, std::size_t begin, std::size_t end)
    : p_(p), outer_(p.replayed_), next_(begin), end_(end) {
  p_.replayed_ = this;
}
Primitives::ReplayedDraws::~ReplayedDraws() { p_.replayed_ = outer_; }

Value Primitives::ReplayedDraws::next(const TensorType& type, std::int64_t word) {
  while (next_ < end_ && p_.tape_[next_].kind != Kind::random_uniform) ++next_;
  if (next_ == end_ || !p_.bodies_.empty())
    fail_internal("a gradient draws random numbers that its node did not draw outside of bodies");
  const Taped& drawn = p_.tape_[next_++];
  if (!(p_.type(drawn.results[0]) == type) || drawn.params.integer != word)
    fail_internal("a gradient draws word {} of {} where its node drew word {} of {}", word, type.str(),
                  drawn.params.integer, p_.type(drawn.results[0]).str());
  return drawn.results[0];
}

Value Primitives::broadcast(Value x, const Shape& to, const Shape& dims) {
  Params p;
  p.a = dims;
  return record_unless_same(Kind::broadcast, x, p, broadcast_type(type(x), to, dims));
}
Value Primitives::reshape(Value x, const Shape& to) {
  return record_unless_same(Kind::reshape, x, {}, reshape_type(type(x), to));
}
Value Primitives::transpose(Value x, const Shape& permutation) {
  const ResultType to = transpose_type(type(x), permutation);
  if (!to.mismatch() && std::is_sorted(permutation.begin(), permutation.end())) return x;
  Params p;
  p.a = permutation;
  return record(Kind::transpose, {{x}}, p, to);
}
Value Primitives::slice(Value x, const Shape& start, const Shape& limit, const Shape& step) {
  Params p;
  p.a = start;
  p.b = limit;
  p.c = step;
  return record_unless_same(Kind::slice, x, p, slice_type(type(x), start, limit, step));
}
Value Primitives::reverse(Value x, const Shape& axes) {
  Params p;
  p.a = axes;
  return record(Kind::reverse, {{x}}, p, reverse_type(type(x), axes));
}
Value Primitives::pad(Value x, double value, const Shape& low, const Shape& high) {
  Params p;
  p.number = value;
  p.a = low;
  p.b = high;
  return record(Kind::pad, {{x}}, p, pad_type(type(x), low, high));
}
Value Primitives::extend(Extend how, Value x, const Shape& low, const Shape& high) {
  Params p;
  p.extend = how;
  p.a = low;
  p.b = high;
  return record_unless_same(Kind::extend, x, p, extend_type(how, type(x), low, high));
}
Value Primitives::concatenate(std::span<const Value> parts, int axis) {
  std::vector<TensorType> types;
  for (Value v : parts) types.push_back(type(v));
  const ResultType to = concatenate_type(types, axis);
  if (!to.mismatch() && parts.size() == 1) return parts[0];
  Params p;
  p.axis = axis;
  return record(Kind::concatenate, parts, p, to);
}
Value Primitives::insert(Value x, Value update, const Shape& start, const Shape& step) {
  Params p;
  p.a = start;
  p.b = step;
  return record(Kind::insert, {{x, update}}, p, insert_type(type(x), type(update), start, step));
}
Value Primitives::gather(Value x, Value indices, int axis) {
  Params p;
  p.axis = axis;
  return record(Kind::gather, {{x, indices}}, p, gather_type(type(x), type(indices), axis));
}

Value Primitives::check_bounds(Value indices, std::int64_t extent) {
  Params p;
  p.integer = extent;
  return record(Kind::check_bounds, {{indices}}, p, check_bounds_type(type(indices)));
}

Value Primitives::scatter(Scatter how, Value x, Value indices, Value updates, int axis) {
  Params p;
  p.axis = axis;
  p.scatter = how;
  return record(Kind::scatter, {{x, indices, updates}}, p,
                scatter_type(type(x), type(indices), type(updates), axis));
}

Value Primitives::sort(Value x, bool descending) {
  Params p;
  p.integer = descending;
  return record(Kind::sort, {{x}}, p, sort_type(type(x)));
}
Value Primitives::cumulative(Reduce op, Value x, int axis) {
  Params p;
  p.reduce = op;
  p.axis = axis;
  return record(Kind::cumulative, {{x}}, p, cumulative_type(type(x), axis));
}

Value Primitives::reduce(Reduce op, Value x, const Shape& axes) {
  if (axes.empty()) return x;
  Params p;
  p.reduce = op;
  p.a = axes;
  return record(Kind::reduce, {{x}}, p, reduce_type(type(x), axes));
}
Value Primitives::dot(Value lhs, Value rhs, const DotSpec& spec) {
  Params p;
  p.dot = spec;
  return record(Kind::dot, {{lhs, rhs}}, p, dot_type(type(lhs), type(rhs), spec));
}
Value Primitives::convolution(Value x, Value w, const ConvSpec& spec) {
  Params p;
  p.convolution = spec;
  return record(Kind::convolution, {{x, w}}, p, convolution_type(type(x), type(w), spec));
}
Value Primitives::convolution_weights(Value x, Value g, const ConvSpec& spec) {
  Params p;
  p.convolution = spec;
  return record(Kind::convolution_weights, {{x, g}}, p, convolution_weights_type(type(x), type(g), spec));
}
Value Primitives::reduce_window(Reduce op, Value x, const Window& window) {
  Params p;
  p.reduce = op;
  p.window = window;
  return record(Kind::reduce_window, {{x}}, p, reduce_window_type(type(x), window));
}

std::vector<Value> Primitives::loop(std::int64_t steps, std::span<const Value> carries,
                                    std::span<const Value> rows, Value condition, const LoopBody& body,
                                    std::optional<std::int64_t> replayed) {
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
  open_body(all);
  const LoopStep step = body(arguments, row_arguments);
  std::vector<Value> yielded = step.carries;
  yielded.insert(yielded.end(), step.outputs.begin(), step.outputs.end());
  if (condition.valid()) yielded.push_back(step.condition);
  require_existing(yielded);
  if (step.carries.size() != carries.size())
    fail("a loop has {} initial carried values, but its body returns {}", carries.size(),
         step.carries.size());
  for (std::size_t i = 0; i < carries.size(); ++i)
    if (!(type(step.carries[i]) == type(carries[i])))
      fail("the loop-carried value {} is {} before a step and {} after it: shape and dtype must stay", i,
           type(carries[i]).str(), type(step.carries[i]).str());
  const auto check_condition = [&](Value v) {
    if (dtype(v) != DType::boolean || type(v).elements() != 1)
      fail("the condition of a loop must be one bool, got {}", type(v).str());
  };
  if (condition.valid()) {
    check_condition(condition);
    check_condition(step.condition);
    if (shape(condition) != shape(step.condition)) fail_internal("the conditions of a loop differ in shape");
  }
  close_body(yielded);
  for (Value v : carries) results.push_back(add_value(TensorType(type(v))));
  for (Value v : step.outputs) results.push_back(add_value({dtype(v), Shape::stacked(steps, shape(v))}));
  emit_loop({steps, carries, rows, condition, replayed}, results);
  std::vector<Value> operands(carries.begin(), carries.end());
  operands.insert(operands.end(), rows.begin(), rows.end());
  if (condition.valid()) operands.push_back(condition);
  tape_control_flow(std::move(operands), 1, results);
  return results;
}

std::vector<Value> Primitives::branch(Value condition, const BranchBody& then, const BranchBody& otherwise) {
  require_existing({{condition}});
  if (dtype(condition) != DType::boolean || type(condition).elements() != 1)
    fail("a branch needs one bool, got {}", type(condition).str());
  const auto compose = [&](const BranchBody& body) {
    open_body({});
    std::vector<Value> values = body();
    require_existing(values);
    close_body(values);
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
  tape_control_flow({condition}, 2, results);
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

std::int64_t times(std::int64_t a, std::int64_t b) {
  const std::int64_t extents[] = {a, b};
  const auto product = product_of(extents);
  if (!product) fail("{} times {} does not fit in 64 bits", a, b);
  return *product;
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
