// Absolute values, signs and roundings.
#include "frontend/ops/pointwise.h"

namespace kiln::ops {
namespace {

Values rint(Primitives& p, Args in, const Attrs&) {
  // Ties round down, as in MXNet: -2.5 gives -3, 2.5 gives 2.
  Value x = in[0], low = p.unary(Unary::floor, x), high = p.unary(Unary::ceil, x);
  return {p.select(p.compare(Compare::le, p.sub(x, low), p.sub(high, x)), low, high)};
}

constexpr OpReference rounding_reference = unary_basic | OpReference{
                                                             .nan = "NaN; infinities are unchanged.",
                                                             .integers = integers_unchanged,
                                                             .gradient = gradient_zeros,
                                                         };

}  // namespace

std::vector<OpDef> rounding_ops() {
  return {
      pointwise("abs", "The absolute value of x.", unary<Unary::abs>,
                unary_basic | OpReference{.integers = "Exact. The least signed integer stays as it is.",
                                          .gradient = "g sign(x): 0 at both zeros and at NaN.",
                                          .formula = "|x|"}),
      pointwise("sign", "The sign of x: -1, 0 or 1.", unary<Unary::sign>,
                unary_basic | OpReference{.nan = "+0.",
                                          .integers = "Exact.",
                                          .gradient = gradient_zeros,
                                          .formula = "1 where x > 0, -1 where x < 0, else +0"}),
      pointwise("ceil", "Rounds x up to an integer.", unary<Unary::ceil>,
                rounding_reference | OpReference{.formula = "the least integer >= x; -0 where -1 < x <= -0"}),
      pointwise("floor", "Rounds x down to an integer.", unary<Unary::floor>,
                rounding_reference | OpReference{.formula = "the greatest integer <= x"}),
      pointwise(
          "round", "Rounds x to the nearest integer; halves go away from zero.", unary<Unary::round>,
          rounding_reference | OpReference{.ties = "Halves go away from zero: 2.5 gives 3, -2.5 gives -3.",
                                           .formula = "sign(x) floor(|x| + 1/2)"}),
      pointwise("rint", "Rounds x to the nearest integer; halves go down.", rint,
                rounding_reference |
                    OpReference{.ties = "Halves go down: 2.5 gives 2, 3.5 gives 3, -2.5 gives -3.",
                                .formula = "floor(x) if x - floor(x) <= ceil(x) - x, else ceil(x)"}),
      pointwise("trunc", "Rounds x towards zero to an integer.", unary<Unary::trunc>,
                rounding_reference | OpReference{.formula = "sign(x) floor(|x|)"}),
      pointwise("fix", "Rounds x towards zero to an integer; the same function as trunc.",
                unary<Unary::trunc>, rounding_reference | OpReference{.formula = "sign(x) floor(|x|)"}),
  };
}

}  // namespace kiln::ops
