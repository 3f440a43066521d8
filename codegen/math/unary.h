#pragma once
// The formulas of functions of one element: a row each, in the file of its family.
#include "codegen/math/functions.h"
#include "ir/words.h"
#include "runtime/tensor_type.h"

#include <span>

namespace kiln::codegen {

/// How a function is computed in each dtype. Narrow floats are computed as f32, and rounded unless `exact`.
struct UnaryFormula {
  ir::Unary op;
  /// For f64, and for floats without a separate formula, with Digits::single.
  Num (*f64)(Num x, Digits digits);
  Num (*f32)(Num x);
  /// How many registers of arguments to interleave, as registers_at_once() (math.h); of f64 one, unless it is
  /// 0.
  int registers;
  /// Without one, integers go through f32, as in MXNet.
  Num (*integer)(Num x, DType dtype) = nullptr;
  /// Whether the result has no more digits than the argument.
  bool exact = false;
};

const UnaryFormula& formula_of(ir::Unary op);

// The formulas by family.
std::span<const UnaryFormula> exact_formulas();
std::span<const UnaryFormula> exp_formulas();
std::span<const UnaryFormula> log_formulas();
std::span<const UnaryFormula> trig_formulas();
std::span<const UnaryFormula> inverse_trig_formulas();
std::span<const UnaryFormula> hyperbolic_formulas();
std::span<const UnaryFormula> erf_formulas();
std::span<const UnaryFormula> root_formulas();

}  // namespace kiln::codegen
