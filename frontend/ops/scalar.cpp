// Operators of an array with a number.
#include "frontend/ops/shape_rules.h"

namespace kiln::ops {
namespace {

/// The number broadcast to x's type; truncated for integers.
Value number(Primitives& p, Value x, const Attrs& a) { return p.like(x, a.real("scalar")); }

template <Binary op, bool number_first>
Values with_number(Primitives& p, Args in, const Attrs& a) {
  Value x = widened_for_scalar(p, in[0], a), n = number(p, x, a);
  return {number_first ? p.binary(op, n, x) : p.binary(op, x, n)};
}
template <Compare op>
Values compare_with_number(Primitives& p, Args in, const Attrs& a) {
  Value x = widened_for_scalar(p, in[0], a);
  return {convert(p, p.compare(op, x, number(p, x, a)), p.dtype(x))};
}

template <auto op, bool number_first = false>
OpDef define(std::string_view name, std::vector<std::string_view> aliases, std::string_view summary) {
  OpDef r{.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .inputs = {"data"},
          .attrs = {real_attr("scalar", 1), bool_attr("is_int", true)},
          .shape_rule = elementwise_shape};
  if constexpr (std::is_same_v<decltype(op), Binary>)
    r.compose = with_number<op, number_first>;
  else
    r.compose = compare_with_number<op>;
  return r;
}

}  // namespace

std::span<const OpDef> scalar_ops() {
  static const std::vector<OpDef> rows{
      define<Binary::add>("_plus_scalar", {"_PlusScalar"}, "x + scalar"),
      define<Binary::sub>("_minus_scalar", {"_MinusScalar"}, "x - scalar"),
      define<Binary::sub, true>("_rminus_scalar", {"_RMinusScalar"}, "scalar - x"),
      define<Binary::mul>("_mul_scalar", {"_MulScalar"}, "x * scalar"),
      define<Binary::div>("_div_scalar", {"_DivScalar"}, "x / scalar"),
      define<Binary::div, true>("_rdiv_scalar", {"_RDivScalar"}, "scalar / x"),
      define<Binary::mod>("_mod_scalar", {"_ModScalar"}, "The remainder of x / scalar."),
      define<Binary::mod, true>("_rmod_scalar", {"_RModScalar"}, "The remainder of scalar / x."),
      define<Binary::pow>("_power_scalar", {"_PowerScalar"}, "x to the power of scalar."),
      define<Binary::pow, true>("_rpower_scalar", {"_RPowerScalar"}, "scalar to the power of x."),
      define<Binary::max>("_maximum_scalar", {"_MaximumScalar", "_npi_maximum_scalar"},
                          "The greater of x and scalar."),
      define<Binary::min>("_minimum_scalar", {"_MinimumScalar", "_npi_minimum_scalar"},
                          "The lesser of x and scalar."),
      define<Binary::hypot>("_hypot_scalar", {"_HypotScalar", "_npi_hypot_scalar"}, "sqrt(x^2 + scalar^2)"),
      define<Compare::eq>("_equal_scalar", {"_EqualScalar"}, "1 where x == scalar, else 0."),
      define<Compare::ne>("_not_equal_scalar", {"_NotEqualScalar"}, "1 where x != scalar, else 0."),
      define<Compare::gt>("_greater_scalar", {"_GreaterScalar"}, "1 where x > scalar, else 0."),
      define<Compare::ge>("_greater_equal_scalar", {"_GreaterEqualScalar"}, "1 where x >= scalar, else 0."),
      define<Compare::lt>("_lesser_scalar", {"_LesserScalar"}, "1 where x < scalar, else 0."),
      define<Compare::le>("_lesser_equal_scalar", {"_LesserEqualScalar"}, "1 where x <= scalar, else 0."),
      define<Binary::logical_and>("_logical_and_scalar", {"_LogicalAndScalar"},
                                  "1 where x and scalar are not 0."),
      define<Binary::logical_or>("_logical_or_scalar", {"_LogicalOrScalar"}, "1 where x or scalar is not 0."),
      define<Binary::logical_xor>("_logical_xor_scalar", {"_LogicalXorScalar"},
                                  "1 where just one of x and scalar is not 0."),
  };
  return rows;
}

}  // namespace kiln::ops
