// Operators of an array with a number.
#include "frontend/ops/reference.h"
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

constexpr OpReference scalar_reference =
    of_data | OpReference{
                  .dtypes =
                      "Any; the result has the dtype of data, int64 of bool, and float64 of integers and "
                      "bools if is_int is False.",
                  .nan = "NaN if x or scalar is.",
              };
constexpr OpReference basic_scalar =
    scalar_reference |
    OpReference{.source = "MXNet 1.9.1 (src/operator/tensor/elemwise_binary_scalar_op_basic.cc)."};
constexpr OpReference extended_scalar =
    scalar_reference |
    OpReference{.source = "MXNet 1.9.1 (src/operator/tensor/elemwise_binary_scalar_op_extended.cc)."};
constexpr OpReference comparison_scalar =
    scalar_reference |
    OpReference{.nan = "0 if x or scalar is NaN.",
                .ties = "Zeros of both signs are equal.",
                .integers = number_in_dtype,
                .gradient = gradient_zeros,
                .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_binary_scalar_op_logic.cc)."};
constexpr OpReference logical_scalar =
    comparison_scalar | OpReference{.nan = "NaN is not 0, so that it counts as true."};

/// The definition of an operator of an array and a number.
template <auto op, bool number_first = false>
OpDef scalar_row(std::string_view name, std::vector<std::string_view> aliases, std::string_view summary,
                 const OpReference& reference) {
  OpDef r{.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .reference = reference,
          .inputs = {"data"},
          .attrs = {real_attr("scalar", 1, "The number; of integers truncated if is_int is True."),
                    bool_attr("is_int", true,
                              "False: the number is a fraction, and integers are computed in float64.")},
          .shape_rule = elementwise_shape};
  if constexpr (std::is_same_v<decltype(op), Binary>)
    r.compose = with_number<op, number_first>;
  else
    r.compose = compare_with_number<op>;
  return r;
}

constexpr std::string_view scalar_wraps = "Wraps.";
constexpr std::string_view scalar_in_float32 =
    "If is_int is True: computed in float32, then truncated and wrapped to the dtype. NaN, infinities and "
    "numbers beyond int64 give 0, in int64 its least number.";
constexpr std::string_view scalar_divides =
    "Truncated towards zero; division by 0 gives 0, and the least integer / -1 stays.";
constexpr std::string_view scalar_remains = "Exact, with the sign of the divisor; 0 if the divisor is 0.";

std::vector<OpDef> arithmetic_scalar_rows() {
  return {
      scalar_row<Binary::add>(
          "_plus_scalar", {"_PlusScalar"}, "The sum of x and scalar.",
          basic_scalar | OpReference{.integers = scalar_wraps, .gradient = "g", .formula = "x + scalar"}),
      scalar_row<Binary::sub>(
          "_minus_scalar", {"_MinusScalar"}, "The difference of x and scalar.",
          basic_scalar | OpReference{.integers = scalar_wraps, .gradient = "g", .formula = "x - scalar"}),
      scalar_row<Binary::sub, true>(
          "_rminus_scalar", {"_RMinusScalar"}, "The difference of scalar and x.",
          basic_scalar | OpReference{.integers = scalar_wraps, .gradient = "-g", .formula = "scalar - x"}),
      scalar_row<Binary::mul>(
          "_mul_scalar", {"_MulScalar"}, "The product of x and scalar.",
          basic_scalar |
              OpReference{.integers = scalar_wraps, .gradient = "g scalar", .formula = "x scalar"}),
      scalar_row<Binary::div>("_div_scalar", {"_DivScalar"}, "The quotient of x and scalar.",
                              basic_scalar | OpReference{.nan = "NaN if x or scalar is, and of 0 / 0.",
                                                         .integers = scalar_divides,
                                                         .gradient = "g / scalar",
                                                         .formula = "x / scalar"}),
      scalar_row<Binary::div, true>("_rdiv_scalar", {"_RDivScalar"}, "The quotient of scalar and x.",
                                    basic_scalar | OpReference{.nan = "NaN if x or scalar is, and of 0 / 0.",
                                                               .integers = scalar_divides,
                                                               .gradient = "-g (scalar / x) / x",
                                                               .formula = "scalar / x"}),
      scalar_row<Binary::mod>(
          "_mod_scalar", {"_ModScalar"}, "The remainder of x / scalar, with the sign of scalar.",
          basic_scalar |
              OpReference{
                  .nan = "0 if scalar is 0, of NaN too; else NaN if x or scalar is, and if x is infinite.",
                  .integers = scalar_remains,
                  .gradient = "g",
                  .formula = "x - scalar floor(x / scalar), exact"}),
      scalar_row<Binary::mod, true>(
          "_rmod_scalar", {"_RModScalar"}, "The remainder of scalar / x, with the sign of x.",
          basic_scalar | OpReference{.nan = "0 where x is 0, of a NaN as scalar too; else NaN if x or scalar "
                                            "is, and if scalar is infinite.",
                                     .integers = scalar_remains,
                                     .gradient = "-g q, with q = (scalar - result) / x rounded to an integer",
                                     .formula = "scalar - x floor(scalar / x), exact"}),
  };
}

std::vector<OpDef> extended_scalar_rows() {
  return {
      scalar_row<Binary::pow>(
          "_power_scalar", {"_PowerScalar"}, "x to the power of scalar.",
          extended_scalar |
              OpReference{.nan = "NaN if x or scalar is, but 1 if scalar is 0 or x is 1. NaN of a negative x "
                                 "if scalar is no integer.",
                          .integers = scalar_in_float32,
                          .gradient = "g scalar x^(scalar - 1), 0 if scalar is 0",
                          .formula = "x^scalar"}),
      scalar_row<Binary::pow, true>(
          "_rpower_scalar", {"_RPowerScalar"}, "scalar to the power of x.",
          extended_scalar |
              OpReference{
                  .nan = "NaN if x or scalar is, but 1 if x is 0 or scalar is 1. NaN of a negative "
                         "scalar where x is no integer.",
                  .integers = scalar_in_float32,
                  .gradient =
                      "g y log(scalar), with y the result; the logarithm counts as 0 where scalar or y is 0",
                  .formula = "scalar^x"}),
      scalar_row<Binary::max>(
          "_maximum_scalar", {"_MaximumScalar", "_npi_maximum_scalar"}, "The greater one of x and scalar.",
          extended_scalar | OpReference{.ties = "Of zeros of both signs the result is scalar. Where both are "
                                                "equal x has the gradient.",
                                        .integers = number_in_dtype,
                                        .gradient = "g where x >= scalar, else 0, where x is NaN too",
                                        .formula = "max(x, scalar)"}),
      scalar_row<Binary::min>(
          "_minimum_scalar", {"_MinimumScalar", "_npi_minimum_scalar"}, "The lesser one of x and scalar.",
          extended_scalar | OpReference{.ties = "Of zeros of both signs the result is scalar. Where both are "
                                                "equal x has the gradient.",
                                        .integers = number_in_dtype,
                                        .gradient = "g where x <= scalar, else 0, where x is NaN too",
                                        .formula = "min(x, scalar)"}),
      scalar_row<Binary::hypot>(
          "_hypot_scalar", {"_HypotScalar", "_npi_hypot_scalar"}, "The length of the vector (x, scalar).",
          extended_scalar |
              OpReference{.nan = "NaN if x or scalar is, and infinite if the other one is.",
                          .integers = scalar_in_float32,
                          .gradient = "g x / y, with y the result; 0 where y = 0, NaN where x is infinite",
                          .formula = "sqrt(x^2 + scalar^2), without overflow"}),
  };
}

std::vector<OpDef> logic_scalar_rows() {
  const OpReference& comparison = comparison_scalar;
  return {
      scalar_row<Compare::eq>("_equal_scalar", {"_EqualScalar"}, "1 where x == scalar, else 0.",
                              comparison | OpReference{.formula = "x == scalar"}),
      scalar_row<Compare::ne>(
          "_not_equal_scalar", {"_NotEqualScalar"}, "1 where x != scalar, else 0.",
          comparison | OpReference{.nan = "1 if x or scalar is NaN.", .formula = "x != scalar"}),
      scalar_row<Compare::gt>("_greater_scalar", {"_GreaterScalar"}, "1 where x > scalar, else 0.",
                              comparison | OpReference{.formula = "x > scalar"}),
      scalar_row<Compare::ge>("_greater_equal_scalar", {"_GreaterEqualScalar"},
                              "1 where x >= scalar, else 0.",
                              comparison | OpReference{.formula = "x >= scalar"}),
      scalar_row<Compare::lt>("_lesser_scalar", {"_LesserScalar"}, "1 where x < scalar, else 0.",
                              comparison | OpReference{.formula = "x < scalar"}),
      scalar_row<Compare::le>("_lesser_equal_scalar", {"_LesserEqualScalar"}, "1 where x <= scalar, else 0.",
                              comparison | OpReference{.formula = "x <= scalar"}),
      scalar_row<Binary::logical_and>("_logical_and_scalar", {"_LogicalAndScalar"},
                                      "1 where both x and scalar are not 0, else 0.",
                                      logical_scalar | OpReference{.formula = "x != 0 and scalar != 0"}),
      scalar_row<Binary::logical_or>("_logical_or_scalar", {"_LogicalOrScalar"},
                                     "1 where x or scalar is not 0, else 0.",
                                     logical_scalar | OpReference{.formula = "x != 0 or scalar != 0"}),
      scalar_row<Binary::logical_xor>("_logical_xor_scalar", {"_LogicalXorScalar"},
                                      "1 where exactly one of x and scalar is not 0, else 0.",
                                      logical_scalar | OpReference{.formula = "(x != 0) != (scalar != 0)"}),
  };
}

}  // namespace

std::span<const OpDef> scalar_ops() {
  static const std::vector<OpDef> rows = [] {
    std::vector<OpDef> all;
    for (auto family : {arithmetic_scalar_rows, extended_scalar_rows, logic_scalar_rows})
      for (OpDef& op : family()) all.push_back(std::move(op));
    return all;
  }();
  return rows;
}

}  // namespace kiln::ops
