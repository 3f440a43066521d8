// numpy mode's pointwise operators.
#include "frontend/ops/numpy.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"
#include "runtime/dtype_table.h"

namespace kiln::ops {
namespace {

// Two arrays: broadcast, in their common dtype.

std::pair<Value, Value> meet(Primitives& p, Args in) {
  const DType d = promoted(p.dtype(in[0]), p.dtype(in[1]));
  return broadcast_pair(p, convert(p, in[0], d), convert(p, in[1], d));
}

template <Binary op>
Values binary(Primitives& p, Args in, const Attrs&) {
  auto [a, b] = meet(p, in);
  if (p.dtype(a) != DType::boolean) return {p.binary(op, a, b)};
  // For bools, MXNet computes sums as "or" and products as "and"; a power is 0 only of 0 to the power of 1.
  if (op == Binary::pow) return {p.compare(Compare::ge, a, b)};
  if (op != Binary::add && op != Binary::mul) fail("bool arrays have no such operator; convert them first");
  return {p.binary(op == Binary::add ? Binary::logical_or : Binary::logical_and, a, b)};
}
template <Compare op>
Values compare(Primitives& p, Args in, const Attrs&) {
  auto [a, b] = meet(p, in);
  return {p.compare(op, a, b)};
}
/// Integers are converted to float32 for the division.
Value as_real(Primitives& p, Value x) { return is_floating(p.dtype(x)) ? x : convert(p, x, DType::f32); }
Values true_divide(Primitives& p, Args in, const Attrs&) {
  auto [a, b] = meet(p, in);
  return {p.div(as_real(p, a), as_real(p, b))};
}

// An array with a number.

template <Compare op>
Values compare_scalar(Primitives& p, Args in, const Attrs& a) {
  Value x = widened_for_scalar(p, in[0], a);
  return {p.compare(op, x, p.like(x, a.real("scalar")))};
}
template <bool number_first>
Values true_divide_scalar(Primitives& p, Args in, const Attrs& a) {
  Value x = as_real(p, in[0]), n = p.like(x, a.real("scalar"));
  return {number_first ? p.div(n, x) : p.div(x, n)};
}

Values where(Primitives& p, Args in, const Attrs&) {
  auto [x, y] = meet(p, in.subspan(1));
  const Shape to = ir::broadcast_shapes(p.shape(in[0]), p.shape(x));
  Value holds = p.compare(Compare::ne, in[0], p.like(in[0], 0));
  return {p.select(p.broadcast_to(holds, to), p.broadcast_to(x, to), p.broadcast_to(y, to))};
}

const std::vector<std::string_view> x{"x"}, data{"data"}, two{"lhs", "rhs"};

// Functions that are classic operators under other names.

constexpr std::string_view unary_source =
    "MXNet 1.9.1 (src/operator/numpy/np_elemwise_unary_op_basic.cc); integer inputs, which it refuses or "
    "computes otherwise, are in docs/differences-numpy.md.";
constexpr std::string_view numpy_source =
    "MXNet 1.9.1's operator of this name (src/operator/numpy); the cases of tests/golden/ops/np_*.";
constexpr OpReference of_x{
    .shapes = "x (...) -> (...)", .dtypes = "Any; the result has the dtype of x.", .source = unary_source};

std::vector<OpDef> function_rows() {
  constexpr OpReference same_file{.source =
                                      "MXNet 1.9.1 (src/operator/numpy/np_elemwise_unary_op_basic.cc)."};
  std::vector<OpDef> rows{
      renamed(elementwise_ops(), "relu", "_npx_relu", data, {}, same_file),
      renamed(elementwise_ops(), "sigmoid", "_npx_sigmoid", data, {}, same_file),
      renamed(elementwise_ops(), "abs", "_npi_absolute", x, {"_npi_abs"}, of_x),
  };
  static constexpr std::pair<std::string_view, std::string_view> functions[] = {
      {"_npi_negative", "negative"}, {"_npi_reciprocal", "reciprocal"},
      {"_npi_sign", "sign"},         {"_npi_rint", "rint"},
      {"_npi_ceil", "ceil"},         {"_npi_floor", "floor"},
      {"_npi_trunc", "trunc"},       {"_npi_fix", "fix"},
      {"_npi_square", "square"},     {"_npi_sqrt", "sqrt"},
      {"_npi_cbrt", "cbrt"},         {"_npi_exp", "exp"},
      {"_npi_expm1", "expm1"},       {"_npi_log", "log"},
      {"_npi_log10", "log10"},       {"_npi_log2", "log2"},
      {"_npi_log1p", "log1p"},       {"_npi_sin", "sin"},
      {"_npi_cos", "cos"},           {"_npi_tan", "tan"},
      {"_npi_arcsin", "arcsin"},     {"_npi_arccos", "arccos"},
      {"_npi_arctan", "arctan"},     {"_npi_sinh", "sinh"},
      {"_npi_cosh", "cosh"},         {"_npi_tanh", "tanh"},
      {"_npi_arcsinh", "arcsinh"},   {"_npi_arccosh", "arccosh"},
      {"_npi_arctanh", "arctanh"},   {"_npi_degrees", "degrees"},
      {"_npi_radians", "radians"},
  };
  for (const auto& [name, classic] : functions)
    rows.push_back(renamed(elementwise_ops(), classic, name, x, {}, of_x));
  static constexpr std::pair<std::string_view, std::string_view> numbers[] = {
      {"_npi_add_scalar", "_plus_scalar"},         {"_npi_subtract_scalar", "_minus_scalar"},
      {"_npi_rsubtract_scalar", "_rminus_scalar"}, {"_npi_multiply_scalar", "_mul_scalar"},
      {"_npi_mod_scalar", "_mod_scalar"},          {"_npi_rmod_scalar", "_rmod_scalar"},
      {"_npi_power_scalar", "_power_scalar"},      {"_npi_rpower_scalar", "_rpower_scalar"},
  };
  for (const auto& [name, classic] : numbers)
    rows.push_back(renamed(scalar_ops(), classic, name, data, {}, {.source = numpy_source}));
  return rows;
}

// Two arrays.

constexpr std::string_view no_bools =
    "Not bool for both, which throws; else the result has the common dtype, as of _npi_add.";
constexpr OpReference promoting =
    of_broadcast_shapes |
    OpReference{.dtypes =
                    "Any; the result has the common dtype: a float wins over an integer, else the wider "
                    "one; int8 with uint8 gives int32, two kinds of 16-bit floats float32.",
                .source = numpy_source};
constexpr OpReference comparing =
    promoting | OpReference{.dtypes = "Any; compared in their common dtype. The result is bool.",
                            .nan = "false if lhs or rhs is NaN.",
                            .ties = "Zeros of both signs are equal.",
                            .integers = "Exact, if the common dtype holds both.",
                            .gradient = gradient_zeros,
                            .source = "MXNet 1.9.1 (src/operator/numpy/np_elemwise_broadcast_logic_op.cc)."};

OpDef pair(std::string_view name, std::string_view summary,
           Values (*compose)(Primitives&, Args, const Attrs&), const OpReference& reference) {
  return {.name = name,
          .summary = summary,
          .reference = reference,
          .inputs = two,
          .compose = compose,
          .shape_rule = broadcast_shape};
}

std::vector<OpDef> arithmetic_rows() {
  return {
      pair("_npi_add", "The sum of lhs and rhs.", binary<Binary::add>,
           promoting | OpReference{.integers = "Wraps. Of bools: 'or'.",
                                   .gradient = "lhs: g; rhs: g",
                                   .formula = "lhs + rhs"}),
      pair("_npi_subtract", "The difference of lhs and rhs.", binary<Binary::sub>,
           promoting | OpReference{.dtypes = no_bools,
                                   .integers = "Wraps.",
                                   .gradient = "lhs: g; rhs: -g",
                                   .formula = "lhs - rhs"}),
      pair("_npi_multiply", "The product of lhs and rhs.", binary<Binary::mul>,
           promoting | OpReference{.integers = "Wraps. Of bools: 'and'.",
                                   .gradient = "lhs: g rhs; rhs: g lhs",
                                   .formula = "lhs rhs"}),
      pair("_npi_mod", "The remainder of lhs / rhs, with the sign of rhs.", binary<Binary::mod>,
           promoting |
               OpReference{
                   .dtypes = no_bools,
                   .nan = "0 where rhs is 0, of NaN too; else NaN if lhs or rhs is, and if lhs is infinite.",
                   .integers = "Exact, with the sign of rhs; 0 if rhs is 0.",
                   .gradient = "lhs: g; rhs: -g q, with q = (lhs - result) / rhs rounded to an integer",
                   .formula = "lhs - rhs floor(lhs / rhs), exact"}),
      pair("_npi_power", "lhs to the power of rhs.", binary<Binary::pow>,
           promoting |
               OpReference{.nan = "NaN if lhs or rhs is, but 1 if rhs is 0 or lhs is 1. NaN of a negative "
                                  "lhs and a rhs that is no integer.",
                           .integers = integers_in_float32,
                           .gradient = "lhs: g rhs lhs^(rhs - 1), 0 where rhs = 0; rhs: g y log(lhs), with y "
                                       "the result; the logarithm counts as 0 where lhs or y is 0",
                           .formula = "lhs^rhs"}),
      pair("_npi_true_divide", "The quotient of lhs and rhs.", true_divide,
           promoting | OpReference{.dtypes = "Any; the result has the common dtype if it is a float, else "
                                             "float32.",
                                   .nan = "NaN if lhs or rhs is, and of 0 / 0.",
                                   .integers = "Converted to float32 and divided.",
                                   .gradient = "lhs: g / rhs; rhs: -g (lhs / rhs) / rhs",
                                   .formula = "lhs / rhs",
                                   .source = "MXNet 1.9.1 (src/operator/numpy/np_true_divide.cc)."}),
  };
}
std::vector<OpDef> comparison_rows() {
  return {
      pair("_npi_equal", "Whether lhs == rhs.", compare<Compare::eq>,
           comparing | OpReference{.formula = "lhs == rhs"}),
      pair("_npi_not_equal", "Whether lhs != rhs.", compare<Compare::ne>,
           comparing | OpReference{.nan = "true if lhs or rhs is NaN.", .formula = "lhs != rhs"}),
      pair("_npi_greater", "Whether lhs > rhs.", compare<Compare::gt>,
           comparing | OpReference{.formula = "lhs > rhs"}),
      pair("_npi_greater_equal", "Whether lhs >= rhs.", compare<Compare::ge>,
           comparing | OpReference{.formula = "lhs >= rhs"}),
      pair("_npi_less", "Whether lhs < rhs.", compare<Compare::lt>,
           comparing | OpReference{.formula = "lhs < rhs"}),
      pair("_npi_less_equal", "Whether lhs <= rhs.", compare<Compare::le>,
           comparing | OpReference{.formula = "lhs <= rhs"}),
  };
}

// An array and a number.

OpDef with_number(std::string_view name, std::string_view summary,
                  Values (*compose)(Primitives&, Args, const Attrs&), const OpReference& reference,
                  AttrSpec is_int = bool_attr("is_int", true,
                                              "False: the number is a fraction, and integers are compared in "
                                              "float64.")) {
  return {.name = name,
          .summary = summary,
          .reference = reference,
          .inputs = data,
          .attrs = {real_attr("scalar", 1, "The number."), std::move(is_int)},
          .compose = compose,
          .shape_rule = elementwise_shape};
}

std::vector<OpDef> number_rows() {
  const AttrSpec unused = ignored(bool_attr("is_int", true, "Whether the number is an integer."),
                                  "the quotient is a float in any case");
  constexpr OpReference quotient =
      of_data | OpReference{.dtypes = "Any; the result has the dtype of data if it is a float, else float32.",
                            .nan = "NaN if x or scalar is, and of 0 / 0.",
                            .integers = "Converted to float32 and divided.",
                            .source = "MXNet 1.9.1 (src/operator/numpy/np_true_divide.cc)."};
  constexpr OpReference comparison =
      of_data | OpReference{.dtypes = "Any; the result is bool.",
                            .nan = "false if x or scalar is NaN.",
                            .ties = "Zeros of both signs are equal.",
                            .integers = number_in_dtype,
                            .gradient = gradient_zeros,
                            .source =
                                "MXNet 1.9.1 (src/operator/numpy/np_elemwise_broadcast_logic_op.cc). Bools "
                                "are compared as numbers, where MXNet makes a bool of scalar first."};
  return {
      with_number("_npi_true_divide_scalar", "The quotient of x and scalar.", true_divide_scalar<false>,
                  quotient | OpReference{.gradient = "g / scalar", .formula = "x / scalar"}, unused),
      with_number("_npi_rtrue_divide_scalar", "The quotient of scalar and x.", true_divide_scalar<true>,
                  quotient | OpReference{.gradient = "-g (scalar / x) / x", .formula = "scalar / x"}, unused),
      with_number("_npi_equal_scalar", "Whether x == scalar.", compare_scalar<Compare::eq>,
                  comparison | OpReference{.formula = "x == scalar"}),
      with_number("_npi_not_equal_scalar", "Whether x != scalar.", compare_scalar<Compare::ne>,
                  comparison | OpReference{.nan = "true if x or scalar is NaN.", .formula = "x != scalar"}),
      with_number("_npi_greater_scalar", "Whether x > scalar.", compare_scalar<Compare::gt>,
                  comparison | OpReference{.formula = "x > scalar"}),
      with_number("_npi_greater_equal_scalar", "Whether x >= scalar.", compare_scalar<Compare::ge>,
                  comparison | OpReference{.formula = "x >= scalar"}),
      with_number("_npi_less_scalar", "Whether x < scalar.", compare_scalar<Compare::lt>,
                  comparison | OpReference{.formula = "x < scalar"}),
      with_number("_npi_less_equal_scalar", "Whether x <= scalar.", compare_scalar<Compare::le>,
                  comparison | OpReference{.formula = "x <= scalar"}),
  };
}

OpDef where_row() {
  return {
      .name = "_npi_where",
      .summary = "Takes elements of x where the condition is not 0, else of y.",
      .reference = promoting |
                   OpReference{.shapes = "condition (C), x (X), y (Y) -> (B); B is C, X and Y broadcast to "
                                         "each other",
                               .dtypes = "Any; x and y are converted to their common dtype, which the "
                                         "result has. condition may have any dtype.",
                               .nan = "A NaN in the condition counts as not 0. A NaN of x or y counts only "
                                      "where it is taken.",
                               .integers = "Exact, if the common dtype holds both.",
                               .gradient = "x: g where the condition is not 0, else 0; y: g where it is 0, "
                                           "else 0; condition: zeros",
                               .formula = "x where condition != 0, else y",
                               .source = "MXNet 1.9.1 (src/operator/numpy/np_where_op.cc)."},
      .inputs = {"condition", "x", "y"},
      .compose = where,
      .shape_rule = broadcast_shape};
}

}  // namespace

std::span<const OpDef> numpy_elementwise_ops() {
  static const std::vector<OpDef> rows = [] {
    std::vector<OpDef> all;
    for (auto family : {function_rows, arithmetic_rows, comparison_rows, number_rows})
      for (OpDef& op : family()) all.push_back(std::move(op));
    all.push_back(where_row());
    return all;
  }();
  return rows;
}

}  // namespace kiln::ops
