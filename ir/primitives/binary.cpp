// Functions of two elements.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

/// y = a ^ b. No derivative that is finite becomes NaN: 0 ^ b has the derivative 0 in b, and a ^ 0 in a.
Values pow_gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) {
  Wide w(p);
  const Value a = w.in(t.operands[0]), b = w.in(t.operands[1]), y = w.in(t.results[0]), h = w.in(g);
  Values out(2);
  if (wanted[0]) {
    const Value power = p.binary(Binary::pow, a, w.sub(b, w.number(b, 1)));
    // a ^ -1 at 0 is infinite, and b = 0 multiplies it.
    const Value slope = w.where(Compare::eq, b, 0, w.number(b, 0), w.mul(b, power));
    out[0] = p.cast(w.mul(h, slope), p.dtype(g));
  }
  if (wanted[1]) {
    // y = 0 with an infinite logarithm: the derivative is 0 too.
    const Value nonzero = w.where(Compare::eq, a, 0, w.number(a, 1), a);
    const Value safe = w.where(Compare::eq, y, 0, w.number(a, 1), nonzero);
    out[1] = p.cast(w.mul(h, w.mul(y, w.unary(Unary::log, safe))), p.dtype(g));
  }
  return out;
}

/// If elements are equal, the left one has the derivative 1; if one is NaN, none has.
Values extremum_gradient(Primitives& p, const Taped& t, Value g, Compare left, Compare right) {
  const auto where = [&](Compare op) {
    return p.select(p.compare(op, t.operands[0], t.operands[1]), g, p.like(g, 0));
  };
  return {where(left), where(right)};
}

struct BinaryPrimitive {
  Binary op;

  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) const {
    Wide w(p);
    const auto rounded = [&](Value v) { return p.cast(v, p.dtype(g)); };
    const Value a = t.operands[0], b = t.operands[1], y = t.results[0];
    switch (op) {
      case Binary::add:
        return {g, g};
      case Binary::sub:
        return {g, wanted[1] ? p.unary(Unary::neg, g) : Value()};
      case Binary::mul:
        return {wanted[0] ? p.mul(g, b) : Value(), wanted[1] ? p.mul(g, a) : Value()};
      case Binary::div: {
        Values out(2);
        if (wanted[0]) out[0] = p.div(g, b);
        if (wanted[1]) out[1] = rounded(w.unary(Unary::neg, w.mul(w.in(g), w.div(w.in(y), w.in(b)))));
        return out;
      }
      case Binary::mod: {
        Values out{g, {}};
        if (wanted[1]) {
          // floor(a / b), which rounding might change.
          const Value times = w.unary(Unary::rint, w.div(w.sub(w.in(a), w.in(y)), w.in(b)));
          out[1] = rounded(w.unary(Unary::neg, w.mul(w.in(g), times)));
        }
        return out;
      }
      case Binary::pow:
        return pow_gradient(p, t, g, wanted);
      case Binary::max:
        return extremum_gradient(p, t, g, Compare::ge, Compare::lt);
      case Binary::min:
        return extremum_gradient(p, t, g, Compare::le, Compare::gt);
      case Binary::hypot: {
        // At (0, 0) both are 0.
        // A rounded result is computed again.
        const Value wide_a = w.in(a), wide_b = w.in(b);
        const Value r = wide_a.id == a.id ? y : w.hypot(wide_a, wide_b);
        const Value safe = w.where(Compare::eq, r, 0, w.number(r, 1), r);
        return {rounded(w.mul(w.in(g), w.div(wide_a, safe))), rounded(w.mul(w.in(g), w.div(wide_b, safe)))};
      }
      case Binary::max_nnan:  // of a shift that the result does not depend on
      case Binary::logical_and:
      case Binary::logical_or:
      case Binary::logical_xor:
        return {{}, {}};
    }
    return {{}, {}};
  }
  void emit(Emission& e) const { e.make<BinaryOp>(op, e.in(0), e.in(1)); }
};

}  // namespace

Value Primitives::binary(Binary op, Value a, Value b) {
  require_same("a pointwise primitive", type(a), type(b));
  return record(BinaryPrimitive{op}, {{a, b}}, type(a));
}

}  // namespace kiln::ir
