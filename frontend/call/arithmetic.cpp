// The operators of MXNet that implement Python's operators, by name.
#include "frontend/call/arithmetic.h"

#include "ir/graph.h"
#include "runtime/once.h"

#include <array>
#include <iterator>

namespace kiln {
namespace {

constexpr ArithmeticNames table[] = {
    {Arithmetic::add, "+", "elemwise_add", "broadcast_add", "_plus_scalar", "_plus_scalar", "_plus",
     "_plusscalar", "_plusscalar"},
    {Arithmetic::sub, "-", "elemwise_sub", "broadcast_sub", "_minus_scalar", "_rminus_scalar", "_minus",
     "_minusscalar", "_rminusscalar"},
    {Arithmetic::mul, "*", "elemwise_mul", "broadcast_mul", "_mul_scalar", "_mul_scalar", "_mul",
     "_mulscalar", "_mulscalar"},
    {Arithmetic::div, "/", "elemwise_div", "broadcast_div", "_div_scalar", "_rdiv_scalar", "_div",
     "_divscalar", "_rdivscalar"},
    {Arithmetic::mod, "%", "_mod", "broadcast_mod", "_mod_scalar", "_rmod_scalar", "_mod", "_modscalar",
     "_rmodscalar"},
    {Arithmetic::pow, "power", "_power", "broadcast_power", "_power_scalar", "_rpower_scalar", "_power",
     "_powerscalar", "_rpowerscalar"},
    {Arithmetic::max, "maximum", "_maximum", "broadcast_maximum", "_maximum_scalar", "_maximum_scalar",
     "_maximum", "_maximumscalar", "_maximumscalar"},
    {Arithmetic::min, "minimum", "_minimum", "broadcast_minimum", "_minimum_scalar", "_minimum_scalar",
     "_minimum", "_minimumscalar", "_minimumscalar"},
    {Arithmetic::hypot, "hypot", "_hypot", "broadcast_hypot", "_hypot_scalar", "_hypot_scalar", "_hypot",
     "_hypotscalar", "_hypotscalar"},
    {Arithmetic::eq, "==", "_equal", "broadcast_equal", "_equal_scalar", "_equal_scalar", "_equal",
     "_equal_scalar", "_equal_scalar"},
    {Arithmetic::ne, "!=", "_not_equal", "broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar",
     "_not_equal", "_not_equal_scalar", "_not_equal_scalar"},
    {Arithmetic::lt, "<", "_lesser", "broadcast_lesser", "_lesser_scalar", "_greater_scalar", "_lesser",
     "_lesser_scalar", "_greater_scalar"},
    {Arithmetic::le, "<=", "_lesser_equal", "broadcast_lesser_equal", "_lesser_equal_scalar",
     "_greater_equal_scalar", "_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"},
    {Arithmetic::gt, ">", "_greater", "broadcast_greater", "_greater_scalar", "_lesser_scalar", "_greater",
     "_greater_scalar", "_lesser_scalar"},
    {Arithmetic::ge, ">=", "_greater_equal", "broadcast_greater_equal", "_greater_equal_scalar",
     "_lesser_equal_scalar", "_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"},
    {Arithmetic::logical_and, "logical_and", "_logical_and", "broadcast_logical_and", "_logical_and_scalar",
     "_logical_and_scalar", "_logical_and", "_logical_and_scalar", "_logical_and_scalar"},
    {Arithmetic::logical_or, "logical_or", "_logical_or", "broadcast_logical_or", "_logical_or_scalar",
     "_logical_or_scalar", "_logical_or", "_logical_or_scalar", "_logical_or_scalar"},
    {Arithmetic::logical_xor, "logical_xor", "_logical_xor", "broadcast_logical_xor", "_logical_xor_scalar",
     "_logical_xor_scalar", "_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar"},
};
constexpr std::size_t table_size = std::size(table);
static_assert(table[table_size - 1].op == Arithmetic::logical_xor &&
              static_cast<std::size_t>(Arithmetic::logical_xor) == table_size - 1);

// Looked up once.
std::array<ArithmeticForms, table_size> find_forms() {
  std::array<ArithmeticForms, table_size> out;
  for (std::size_t i = 0; i < table_size; ++i) {
    out[i] = {ir::find_op(table[i].same_shape), ir::find_op(table[i].broadcast),
              ir::find_op(table[i].right_scalar), ir::find_op(table[i].left_scalar)};
  }
  return out;
}

}  // namespace

const ArithmeticNames& names_of(Arithmetic op) { return table[static_cast<std::size_t>(op)]; }
const ArithmeticForms& forms_of(Arithmetic op) { return once<find_forms>()[static_cast<std::size_t>(op)]; }

std::string_view broadcasting_form(std::string_view op_name) {
  for (const ArithmeticNames& names : table)
    if (op_name == names.same_shape) return names.broadcast;
  return op_name;
}

TensorForm tensor_form(const ir::OpDef& scalar_op) {
  for (const ArithmeticNames& names : table) {
    const ArithmeticForms& found = forms_of(names.op);
    if (!found.broadcast) continue;
    // numpy has other operators for the same functions.
    if (found.right_scalar && found.right_scalar->compose == scalar_op.compose)
      return {found.broadcast, false};
    if (found.left_scalar && found.left_scalar->compose == scalar_op.compose) return {found.broadcast, true};
  }
  return {};
}

}  // namespace kiln
