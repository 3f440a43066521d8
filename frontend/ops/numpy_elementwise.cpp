// numpy mode's pointwise operators.
#include "frontend/ops/numpy.h"
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

OpDef pair(std::string_view name, std::string_view summary,
           Values (*compose)(Primitives&, Args, const Attrs&)) {
  return {.name = name, .summary = summary, .inputs = two, .compose = compose, .shape_rule = broadcast_shape};
}
OpDef with_number(std::string_view name, std::string_view summary,
                  Values (*compose)(Primitives&, Args, const Attrs&),
                  AttrSpec is_int = bool_attr("is_int", true)) {
  return {.name = name,
          .summary = summary,
          .inputs = data,
          .attrs = {real_attr("scalar", 1), std::move(is_int)},
          .compose = compose,
          .shape_rule = elementwise_shape};
}

std::vector<OpDef> make() {
  const AttrSpec unused = ignored(bool_attr("is_int", true), "the quotient is a float in any case");
  std::vector<OpDef> rows{
      renamed(elementwise_ops(), "relu", "_npx_relu", data),
      renamed(elementwise_ops(), "sigmoid", "_npx_sigmoid", data),
      renamed(elementwise_ops(), "abs", "_npi_absolute", x, {"_npi_abs"}),
  };
  // Pointwise functions shared with the classic operators.
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
  for (const auto& [name, classic] : functions) rows.push_back(renamed(elementwise_ops(), classic, name, x));
  static constexpr std::pair<std::string_view, std::string_view> numbers[] = {
      {"_npi_add_scalar", "_plus_scalar"},         {"_npi_subtract_scalar", "_minus_scalar"},
      {"_npi_rsubtract_scalar", "_rminus_scalar"}, {"_npi_multiply_scalar", "_mul_scalar"},
      {"_npi_mod_scalar", "_mod_scalar"},          {"_npi_rmod_scalar", "_rmod_scalar"},
      {"_npi_power_scalar", "_power_scalar"},      {"_npi_rpower_scalar", "_rpower_scalar"},
  };
  for (const auto& [name, classic] : numbers) rows.push_back(renamed(scalar_ops(), classic, name, data));
  const OpDef more[] = {
      pair("_npi_add", "lhs + rhs", binary<Binary::add>),
      pair("_npi_subtract", "lhs - rhs", binary<Binary::sub>),
      pair("_npi_multiply", "lhs * rhs", binary<Binary::mul>),
      pair("_npi_mod", "The remainder of lhs / rhs, with the divisor's sign.", binary<Binary::mod>),
      pair("_npi_power", "lhs to the power of rhs.", binary<Binary::pow>),
      pair("_npi_true_divide", "lhs / rhs; of integers in float32.", true_divide),
      pair("_npi_equal", "Whether lhs == rhs.", compare<Compare::eq>),
      pair("_npi_not_equal", "Whether lhs != rhs.", compare<Compare::ne>),
      pair("_npi_greater", "Whether lhs > rhs.", compare<Compare::gt>),
      pair("_npi_greater_equal", "Whether lhs >= rhs.", compare<Compare::ge>),
      pair("_npi_less", "Whether lhs < rhs.", compare<Compare::lt>),
      pair("_npi_less_equal", "Whether lhs <= rhs.", compare<Compare::le>),
      with_number("_npi_true_divide_scalar", "x / scalar; of integers in float32.", true_divide_scalar<false>,
                  unused),
      with_number("_npi_rtrue_divide_scalar", "scalar / x; of integers in float32.", true_divide_scalar<true>,
                  unused),
      with_number("_npi_equal_scalar", "Whether x == scalar.", compare_scalar<Compare::eq>),
      with_number("_npi_not_equal_scalar", "Whether x != scalar.", compare_scalar<Compare::ne>),
      with_number("_npi_greater_scalar", "Whether x > scalar.", compare_scalar<Compare::gt>),
      with_number("_npi_greater_equal_scalar", "Whether x >= scalar.", compare_scalar<Compare::ge>),
      with_number("_npi_less_scalar", "Whether x < scalar.", compare_scalar<Compare::lt>),
      with_number("_npi_less_equal_scalar", "Whether x <= scalar.", compare_scalar<Compare::le>),
      {.name = "_npi_where",
       .summary = "x where the condition is not 0, else y; broadcasting.",
       .inputs = {"condition", "x", "y"},
       .compose = where,
       .shape_rule = broadcast_shape},
  };
  rows.insert(rows.end(), std::begin(more), std::end(more));
  return rows;
}

}  // namespace

std::span<const OpDef> numpy_elementwise_ops() {
  static const std::vector<OpDef> rows = make();
  return rows;
}

}  // namespace kiln::ops
