// Functions of one element: the formula of each, and its use by dtype.
#include "codegen/math/unary.h"

#include "codegen/math/casts.h"
#include "codegen/math/math.h"
#include "runtime/fail.h"

#include <array>

namespace kiln::codegen {

const UnaryFormula& formula_of(ir::Unary op) {
  using Table = std::array<const UnaryFormula*, ir::word_count<ir::Unary>>;
  static const Table table = [] {
    Table all{};
    for (const auto& family :
         {exact_formulas(), exp_formulas(), log_formulas(), trig_formulas(), inverse_trig_formulas(),
          hyperbolic_formulas(), erf_formulas(), root_formulas()})
      for (const UnaryFormula& f : family) all[static_cast<std::size_t>(f.op)] = &f;
    return all;
  }();
  const UnaryFormula* formula = table.at(static_cast<std::size_t>(op));
  if (!formula) fail_internal("unary function {} has no formula", static_cast<int>(op));
  return *formula;
}

static Num float_unary(const UnaryFormula& f, Num x) {
  if (x.width() == 64) return f.f64(x, Digits::full);
  return f.f32 ? f.f32(x) : to_f32(f.f64(to_f64(x), Digits::single));
}

mlir::Value emit_unary(mlir::OpBuilder& b, mlir::Location loc, ir::Unary op, DType dtype, mlir::Value v,
                       Isa isa) {
  const UnaryFormula& f = formula_of(op);
  const Num x(b, loc, v, isa);
  if (is_floating(dtype)) {
    const Num y = float_unary(f, x);
    return f.exact ? y.value() : round_to(b, loc, dtype, y, isa);
  }
  if (f.integer) return f.integer(x, dtype);
  return cast(float_unary(f, cast(x, dtype, DType::f32, isa)), DType::f32, dtype, isa);
}

int registers_at_once(ir::Unary op, DType dtype) {
  const int registers = formula_of(op).registers;
  return dtype == DType::f64 && registers > 1 ? 1 : registers;
}

}  // namespace kiln::codegen
