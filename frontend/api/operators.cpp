// Python's operators on tensors.
#include "frontend/api/operators.h"

#include "frontend/call/amp_rules.h"
#include "frontend/call/invoke.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/view/view.h"
#include "ir/graph.h"
#include "runtime/dtype_table.h"
#include "runtime/messages.h"

#include <kiln/f_numpy.h>

namespace kiln {
namespace {

using detail::TensorAccess;

const ir::OpDef& existing(const ir::OpDef* op, const ArithmeticNames& names, std::source_location where) {
  if (!op) fail("{}operator {} is not available for these operands", line_prefix(where), names.symbol);
  return *op;
}

void check_dtypes(const Tensor& a, const Tensor& b, const ArithmeticNames& names,
                  std::source_location where) {
  if (!a.defined() || !b.defined()) return;  // invoke reports undefined tensors
  const DType x = TensorAccess::dtype(a);
  const DType y = TensorAccess::dtype(b);
  if (x == y || amp_joins(x, y)) return;
  const auto unknown = [](const Tensor& t) { return !TensorAccess::array(t)->shape_known; };
  if (unknown(a) || unknown(b)) return;
  fail(Mistake::two_dtypes,
       "{}operator {} takes two tensors of one dtype, and these are {} and {}: convert one, as in "
       "b.astype(DType::{})",
       line_prefix(where), names.symbol, name_of(x), name_of(y), row_of(x).enumerator);
}

bool shapes_unknown(const Tensor& t) {
  return t.defined() && TensorAccess::array(t)->traced() && !TensorAccess::array(t)->shape_known;
}

}  // namespace

Tensor arithmetic(Arithmetic op, const Operand& a, const Operand& b, std::source_location where) {
  const ArithmeticNames& names = names_of(op);
  const ArithmeticForms& found = forms_of(op);
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
Tensor operator&&(const TensorOperand& a, const TensorOperand& b) { return F::logical_and(a, b, a.where()); }
Tensor operator&&(const TensorOperand& a, const NumberOperand& b) { return F::logical_and(a, b, a.where()); }
Tensor operator&&(const NumberOperand& a, const TensorOperand& b) { return F::logical_and(a, b, b.where()); }
Tensor operator||(const TensorOperand& a, const TensorOperand& b) { return F::logical_or(a, b, a.where()); }
Tensor operator||(const TensorOperand& a, const NumberOperand& b) { return F::logical_or(a, b, a.where()); }
Tensor operator||(const NumberOperand& a, const TensorOperand& b) { return F::logical_or(a, b, b.where()); }
Tensor operator!(const TensorOperand& a) { return F::logical_not(a.tensor(), a.where()); }
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
  const char* const symbol = names_of(op).symbol;
  const Shape &to = TensorAccess::shape(target), &shape = TensorAccess::shape(result);
  if (shape != to)
    fail(Mistake::in_place_change,
         "{}an in-place operator cannot change the shape {} to {}: write x = x {} y", line_prefix(where),
         to.str(), shape.str(), symbol);
  // As in MXNet: no operator writes into an array of another dtype.
  const DType kept = TensorAccess::dtype(target), dtype = TensorAccess::dtype(result);
  if (dtype != kept)
    fail(Mistake::in_place_change,
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
