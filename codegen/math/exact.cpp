// Functions of one element that are exact, and so have one formula for f32 and f64.
#include "codegen/math/integer.h"
#include "codegen/math/unary.h"

namespace kiln::codegen {

/// 0 of NaN and of both zeros.
static Num sign(Num x) { return select(gt(x, 0), 1, select(lt(x, 0), -1, x.constant(0))); }
static Num is_zero(Num x) { return select(eq(x, 0), 1, x.constant(0)); }
static Num same(Num x, DType) { return x; }

std::span<const UnaryFormula> exact_formulas() {
  using ir::Unary;
  static constexpr UnaryFormula formulas[] = {
      {Unary::neg, [](Num x, Digits) { return -x; }, [](Num x) { return -x; }, 0,
       [](Num x, DType dtype) { return dtype == DType::boolean ? x : -x; }, true},
      {Unary::abs, [](Num x, Digits) { return abs(x); }, abs, 0,
       [](Num x, DType dtype) { return is_unsigned_integer(dtype) ? x : abs(x); }, true},
      {Unary::sign, [](Num x, Digits) { return sign(x); }, sign, 0,
       [](Num x, DType dtype) {
         return is_unsigned_integer(dtype) ? resize_unsigned(ne(x, 0), x.width()) : sign(x);
       },
       true},
      {Unary::ceil, [](Num x, Digits) { return ceil(x); }, ceil, 0, same},
      {Unary::floor, [](Num x, Digits) { return floor(x); }, floor, 0, same},
      {Unary::round, [](Num x, Digits) { return round_half_away(x); }, round_half_away, 0, same},
      {Unary::rint, [](Num x, Digits) { return round_to_even(x); }, round_to_even, 0, same},
      {Unary::trunc, [](Num x, Digits) { return trunc(x); }, trunc, 0, same},
      {Unary::logical_not, [](Num x, Digits) { return is_zero(x); }, is_zero, 0,
       [](Num x, DType) { return resize_unsigned(eq(x, 0), x.width()); }, true},
  };
  return formulas;
}

}  // namespace kiln::codegen
