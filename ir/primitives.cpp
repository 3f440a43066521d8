// The shared part of primitives: their values, the tape, draws, and compositions of several.
#include "ir/primitives.h"

#include "ir/at.h"
#include "runtime/messages.h"

#include <algorithm>
#include <array>

namespace kiln::ir {

const TensorType& ResultType::value() const {
  if (const Mismatch* m = mismatch())
    throw Error(m->call, m->internal ? Error::Kind::internal : Error::Kind::user);
  return std::get<TensorType>(content_);
}

void fail_not_emitted() { fail_internal("a primitive that is not emitted as one"); }

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

Value Primitives::begin_record(std::span<const Value> operands, const ResultType& type) {
  require_existing(operands);
  return add_value(type.value());
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

Value Primitives::tape_instead(std::shared_ptr<const Primitive> primitive, std::span<const Value> operands,
                               const std::function<Value()>& compose) {
  const std::size_t before = tape_.size();
  const Value result = compose();
  if (!tape_scopes_.empty()) {
    tape_.resize(before);
    tape({std::move(primitive), {operands.begin(), operands.end()}, {result}});
  }
  return result;
}

void Primitives::end_tape() {
  const TapeScope ended = tape_scopes_.back();
  tape_scopes_.pop_back();
  if (tape_scopes_.empty() || tape_scopes_.back().bodies != ended.bodies) tape_.resize(ended.begin);
}

Primitives::ReplayedDraws::ReplayedDraws(Primitives& p, std::size_t begin, std::size_t end)
    : p_(p), outer_(p.replayed_), next_(begin), end_(end) {
  p_.replayed_ = this;
}
Primitives::ReplayedDraws::~ReplayedDraws() { p_.replayed_ = outer_; }

Value Primitives::ReplayedDraws::next(const TensorType& type, std::int64_t word) {
  while (next_ < end_ && !p_.tape_[next_].primitive->random_word()) ++next_;
  if (next_ == end_ || !p_.bodies_.empty())
    fail_internal("a gradient draws random numbers that its node did not draw outside of bodies");
  const Taped& drawn = p_.tape_[next_++];
  const std::int64_t drawn_word = *drawn.primitive->random_word();
  if (!(p_.type(drawn.results[0]) == type) || drawn_word != word)
    fail_internal("a gradient draws word {} of {} where its node drew word {} of {}", word, type.str(),
                  drawn_word, p_.type(drawn.results[0]).str());
  return drawn.results[0];
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
    if (x != y && x != 1 && y != 1)
      fail(Mistake::no_broadcast, "shapes {} and {} do not broadcast", a.str(), b.str());
    out[at(rank - i)] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace kiln::ir
