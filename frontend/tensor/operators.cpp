#include "frontend/tensor/operators.h"

#include "frontend/eager/invoke.h"
#include "frontend/eager/numpy_scope.h"
#include "frontend/tensor/view.h"
#include "frontend/trace/trace.h"
#include "ir/graph.h"
#include "runtime/fail.h"
#include "runtime/once.h"

#include <kiln/f_numpy.h>

namespace kiln {
namespace {

using detail::TensorAccess;

// The operators behind each operator of Python, and the name hints that MXNet gives their nodes.
struct Names {
  Arithmetic op;
  const char* symbol;
  const char* same_shape;  // for equal shapes and for symbols
  const char* broadcast;
  const char* right_scalar;  // tensor op number
  const char* left_scalar;   // number op tensor
  const char* same_shape_hint;
  const char* right_hint;
  const char* left_hint;
};

constexpr Names table[] = {
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

// The operators that `table` names, looked up once.
struct OpForms {
  const ir::OpDef* same_shape = nullptr;
  const ir::OpDef* broadcast = nullptr;
  const ir::OpDef* right_scalar = nullptr;
  const ir::OpDef* left_scalar = nullptr;
};
std::array<OpForms, table_size> find_forms() {
  std::array<OpForms, table_size> out;
  for (std::size_t i = 0; i < table_size; ++i) {
    out[i] = {ir::find_op(table[i].same_shape), ir::find_op(table[i].broadcast),
              ir::find_op(table[i].right_scalar), ir::find_op(table[i].left_scalar)};
  }
  return out;
}
const OpForms& forms_of(Arithmetic op) { return once<find_forms>()[static_cast<std::size_t>(op)]; }

const ir::OpDef& existing(const ir::OpDef* op, const Names& names, std::source_location where) {
  if (!op) fail("{}operator {} is not available for these operands", line_prefix(where), names.symbol);
  return *op;
}

// The enumerator as C++ source.
std::string_view spelling(DType d) {
  switch (d) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::u8:
      return "u8";
    case DType::i8:
      return "i8";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::boolean:
      return "boolean";
  }
  return "f32";
}

void check_dtypes(const Tensor& a, const Tensor& b, const Names& names, std::source_location where) {
  if (!a.defined() || !b.defined()) return;  // invoke reports those
  const DType x = TensorAccess::dtype(a);
  const DType y = TensorAccess::dtype(b);
  if (x == y) return;
  const auto unknown = [](const Tensor& t) { return !TensorAccess::array(t)->shape_known; };
  if (unknown(a) || unknown(b)) return;
  fail(
      "{}operator {} takes two tensors of one dtype, and these are {} and {}: convert one, as in "
      "b.astype(DType::{})",
      line_prefix(where), names.symbol, name_of(x), name_of(y), spelling(x));
}

bool shapes_unknown(const Tensor& t) {
  return t.defined() && TensorAccess::array(t)->traced() && !TensorAccess::array(t)->shape_known;
}

}  // namespace

std::string_view broadcasting_form(std::string_view op_name) {
  for (const Names& names : table)
    if (op_name == names.same_shape) return names.broadcast;
  return op_name;
}

Tensor arithmetic(Arithmetic op, const Operand& a, const Operand& b, std::source_location where) {
  const Names& names = table[static_cast<std::size_t>(op)];
  const OpForms& found = forms_of(op);
  if (a.is_tensor() && b.is_tensor()) {
    const Tensor& x = a.tensor();
    const Tensor& y = b.tensor();
    check_dtypes(x, y, names, where);
    const bool same =
        shapes_unknown(x) || shapes_unknown(y) || TensorAccess::shape(x) == TensorAccess::shape(y);
    const bool elementwise = same && found.same_shape;
    const Tensor* inputs[] = {&x, &y};
    return invoke_one({.op = existing(elementwise ? found.same_shape : found.broadcast, names, where),
                       .inputs = inputs,
                       .given = {},
                       .where = where,
                       .hint = elementwise ? names.same_shape_hint : std::string_view(names.broadcast)});
  }
  const bool number_right = a.is_tensor();
  if (!number_right && !b.is_tensor())
    fail("{}operator {} needs a tensor on one side; an undefined Tensor was given", line_prefix(where),
         names.symbol);
  const Operand& number = number_right ? b : a;
  CallAttributes<1> given;
  given.set("scalar", number.integral() ? ir::AttrValue(static_cast<std::int64_t>(number.number()))
                                        : ir::AttrValue(number.number()));
  const Tensor* inputs[] = {&(number_right ? a : b).tensor()};
  return invoke_one({.op = existing(number_right ? found.right_scalar : found.left_scalar, names, where),
                     .inputs = inputs,
                     .given = given.items(),
                     .where = where,
                     .hint = number_right ? names.right_hint : names.left_hint});
}

namespace {

/// The operator that Python calls for a number on the left, with the operands exchanged.
std::optional<Arithmetic> reflected(Arithmetic op) {
  switch (op) {
    case Arithmetic::add:
    case Arithmetic::eq:
    case Arithmetic::ne:
      return op;
    case Arithmetic::lt:
      return Arithmetic::gt;
    case Arithmetic::le:
      return Arithmetic::ge;
    case Arithmetic::gt:
      return Arithmetic::lt;
    case Arithmetic::ge:
      return Arithmetic::le;
    default:
      return {};
  }
}

Tensor numpy_operator(Arithmetic op, const Operand& a, const Operand& b, std::source_location where) {
  if (const auto other = reflected(op); other && !a.is_tensor() && b.is_tensor())
    return numpy_operator(*other, b, a, where);
  switch (op) {
    case Arithmetic::add:
      return np::add(a, b, where);
    case Arithmetic::sub:
      return np::subtract(a, b, where);
    case Arithmetic::mul:
      return np::multiply(a, b, where);
    case Arithmetic::div:
      return np::true_divide(a, b, where);
    case Arithmetic::mod:
      return np::mod(a, b, where);
    case Arithmetic::eq:
      return np::equal(a, b, where);
    case Arithmetic::ne:
      return np::not_equal(a, b, where);
    case Arithmetic::lt:
      return np::less(a, b, where);
    case Arithmetic::le:
      return np::less_equal(a, b, where);
    case Arithmetic::gt:
      return np::greater(a, b, where);
    case Arithmetic::ge:
      return np::greater_equal(a, b, where);
    default:
      fail_internal("this function is no operator of C++");
  }
}

}  // namespace

Tensor python_operator(Arithmetic op, const Operand& a, const Operand& b, std::source_location where) {
  return NumpyScope::program() ? numpy_operator(op, a, b, where) : arithmetic(op, a, b, where);
}

TensorForm tensor_form(const ir::OpDef& scalar_op) {
  for (const Names& names : table) {
    const OpForms& found = forms_of(names.op);
    if (!found.broadcast) continue;
    // numpy has operators of its own for the same functions.
    if (found.right_scalar && found.right_scalar->compose == scalar_op.compose)
      return {found.broadcast, false};
    if (found.left_scalar && found.left_scalar->compose == scalar_op.compose) return {found.broadcast, true};
  }
  return {};
}

namespace {

Tensor python_operator(Arithmetic op, const Operand& a, const Operand& b) {
  return kiln::python_operator(op, a, b, a.is_tensor() ? a.where() : b.where());
}

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) { return python_operator(Arithmetic::add, a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return python_operator(Arithmetic::sub, a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return python_operator(Arithmetic::mul, a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return python_operator(Arithmetic::div, a, b); }
Tensor operator%(const Operand& a, const Operand& b) { return python_operator(Arithmetic::mod, a, b); }
Tensor operator==(const Operand& a, const Operand& b) { return python_operator(Arithmetic::eq, a, b); }
Tensor operator!=(const Operand& a, const Operand& b) { return python_operator(Arithmetic::ne, a, b); }
Tensor operator<(const Operand& a, const Operand& b) { return python_operator(Arithmetic::lt, a, b); }
Tensor operator<=(const Operand& a, const Operand& b) { return python_operator(Arithmetic::le, a, b); }
Tensor operator>(const Operand& a, const Operand& b) { return python_operator(Arithmetic::gt, a, b); }
Tensor operator>=(const Operand& a, const Operand& b) { return python_operator(Arithmetic::ge, a, b); }
// Not negative(): MXNet writes -a as a * -1.0, and both must give the same bits. In numpy mode an integer
// array keeps its dtype, as MXNet's arrays do; its symbols give float64.
Tensor operator-(const Operand& a) {
  if (NumpyScope::program() && a.is_tensor()) {
    const Tensor& x = a.tensor();
    if (x.defined() && !is_floating(TensorAccess::dtype(x))) return np::negative(x, a.where());
    return np::multiply(a, Operand(-1.0, a.where()), a.where());
  }
  return arithmetic(Arithmetic::mul, a, Operand(-1.0, a.where()), a.where());
}

Tensor in_place(Arithmetic op, const Tensor& target, const Operand& b, std::source_location where) {
  Tensor result = python_operator(op, Operand(target, where), b, where);
  if (shapes_unknown(target)) return result;
  const char* const symbol = table[static_cast<std::size_t>(op)].symbol;
  const Shape &to = TensorAccess::shape(target), &shape = TensorAccess::shape(result);
  if (shape != to)
    fail("{}an in-place operator cannot change the shape {} to {}: write x = x {} y", line_prefix(where),
         to.str(), shape.str(), symbol);
  // As in MXNet: no operator writes into an array of another dtype.
  const DType kept = TensorAccess::dtype(target), dtype = TensorAccess::dtype(result);
  if (dtype != kept)
    fail(
        "{}an in-place operator cannot change the dtype {} to {}: write x = x {} y for a new array, or "
        "x[slice()] = x {} y to convert the result to {}",
        line_prefix(where), name_of(kept), name_of(dtype), symbol, symbol, name_of(kept));
  return result;
}

namespace {

Tensor& assign(Tensor& target, Arithmetic op, const Operand& b) {
  write_view(target, in_place(op, target, b, b.where()), b.where());
  return target;
}

}  // namespace

Tensor& Tensor::operator+=(const Operand& b) { return assign(*this, Arithmetic::add, b); }
Tensor& Tensor::operator-=(const Operand& b) { return assign(*this, Arithmetic::sub, b); }
Tensor& Tensor::operator*=(const Operand& b) { return assign(*this, Arithmetic::mul, b); }
Tensor& Tensor::operator/=(const Operand& b) { return assign(*this, Arithmetic::div, b); }
Tensor& Tensor::operator%=(const Operand& b) { return assign(*this, Arithmetic::mod, b); }

}  // namespace kiln
