// Functions of one element: one row each.
#include "ir/emission.h"
#include "ir/gradient_rules.h"

#include <numbers>

namespace kiln::ir {
namespace {

constexpr double ln2 = std::numbers::ln2, ln10 = std::numbers::ln10;

/// y = op(x) and its derivative, by which the gradient of y is multiplied; null where it is zero.
struct UnaryFunction {
  Unary op;
  Value (*derivative)(Wide& w, Value x, Value y);
};

constexpr UnaryFunction functions[] = {
    {Unary::neg, nullptr},  // below: exact, without a product
    {Unary::abs, [](Wide& w, Value x, Value) { return w.unary(Unary::sign, x); }},
    {Unary::sign, nullptr},
    {Unary::ceil, nullptr},
    {Unary::floor, nullptr},
    {Unary::round, nullptr},
    {Unary::rint, nullptr},
    {Unary::trunc, nullptr},
    {Unary::sqrt, [](Wide& w, Value x, Value y) { return w.div(w.number(x, 0.5), y); }},
    {Unary::rsqrt, [](Wide& w, Value x, Value y) { return w.mul(w.div(y, x), -0.5); }},
    {Unary::cbrt, [](Wide& w, Value x, Value y) { return w.div(w.number(x, 1), w.mul(w.square(y), 3)); }},
    {Unary::exp, [](Wide&, Value, Value y) { return y; }},
    {Unary::exp_nonpositive, [](Wide&, Value, Value y) { return y; }},
    {Unary::exp2, [](Wide& w, Value, Value y) { return w.mul(y, ln2); }},
    {Unary::expm1, [](Wide& w, Value x, Value) { return w.unary(Unary::exp, x); }},  // y + 1 cancels
    {Unary::log, [](Wide& w, Value x, Value) { return w.div(w.number(x, 1), x); }},
    {Unary::log2, [](Wide& w, Value x, Value) { return w.div(w.number(x, 1 / ln2), x); }},
    {Unary::log10, [](Wide& w, Value x, Value) { return w.div(w.number(x, 1 / ln10), x); }},
    {Unary::log1p, [](Wide& w, Value x, Value) { return w.div(w.number(x, 1), w.add(x, w.number(x, 1))); }},
    {Unary::sin, [](Wide& w, Value x, Value) { return w.unary(Unary::cos, x); }},
    {Unary::cos, [](Wide& w, Value x, Value) { return w.unary(Unary::neg, w.unary(Unary::sin, x)); }},
    {Unary::tan, [](Wide& w, Value, Value y) { return w.add(w.square(y), w.number(y, 1)); }},
    {Unary::asin,
     [](Wide& w, Value x, Value) {
       return w.div(w.number(x, 1), w.unary(Unary::sqrt, w.mul(w.one_minus(x), w.plus(x, 1))));
     }},
    {Unary::acos,
     [](Wide& w, Value x, Value) {
       return w.div(w.number(x, -1), w.unary(Unary::sqrt, w.mul(w.one_minus(x), w.plus(x, 1))));
     }},
    {Unary::atan,
     [](Wide& w, Value x, Value) { return w.div(w.number(x, 1), w.add(w.square(x), w.number(x, 1))); }},
    {Unary::sinh, [](Wide& w, Value x, Value) { return w.unary(Unary::cosh, x); }},
    {Unary::cosh, [](Wide& w, Value x, Value) { return w.unary(Unary::sinh, x); }},
    {Unary::tanh, [](Wide& w, Value, Value y) { return w.one_minus(w.square(y)); }},
    {Unary::asinh, [](Wide& w, Value x, Value) { return w.div(w.number(x, 1), w.hypot(x, w.number(x, 1))); }},
    {Unary::acosh,
     [](Wide& w, Value x, Value) {  // two roots: the square overflows
       const Value roots = w.mul(w.unary(Unary::sqrt, w.plus(x, -1)), w.unary(Unary::sqrt, w.plus(x, 1)));
       return w.div(w.number(x, 1), roots);
     }},
    {Unary::atanh,
     [](Wide& w, Value x, Value) { return w.div(w.number(x, 1), w.mul(w.one_minus(x), w.plus(x, 1))); }},
    {Unary::erf,
     [](Wide& w, Value x, Value) {
       return w.mul(w.unary(Unary::exp, w.unary(Unary::neg, w.square(x))), 2 * std::numbers::inv_sqrtpi);
     }},
    {Unary::logical_not, nullptr},
};

constexpr bool has_a_row_for_each_word() {
  std::size_t next = 0;
  for (const UnaryFunction& f : functions)
    if (static_cast<std::size_t>(f.op) != next++) return false;
  return next == word_count<Unary>;
}
static_assert(has_a_row_for_each_word(), "the rows and the words of KilnOps.td have one order");

struct UnaryPrimitive {
  Unary op;

  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    Wide w(p);
    const Value x = w.in(t.operands[0]), y = w.in(t.results[0]);
    if (op == Unary::neg) return {p.unary(Unary::neg, g)};
    const auto derivative = functions[static_cast<std::size_t>(op)].derivative;
    if (!derivative) return {{}};
    const Value slope = derivative(w, x, y);
    return {p.cast(w.mul(w.in(g), slope), p.dtype(g))};
  }
  void emit(Emission& e) const { e.make<UnaryOp>(op, e.in(0)); }
};

}  // namespace

Value Primitives::unary(Unary op, Value x) { return record(UnaryPrimitive{op}, {{x}}, type(x)); }

}  // namespace kiln::ir
