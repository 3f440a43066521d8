// The algorithm and the operands of a contraction, by the precision of its node.
#pragma once
#include "ir/emission.h"

namespace kiln::ir {

/// A contraction as it is emitted.
struct Contraction {
  Algorithm algorithm;
  mlir::Value lhs, rhs;
};

/// Whether tensor cores compute a contraction: of matrices alone.
enum class OnTensorCores : bool { no, yes };

/// The one place that knows the meaning of each Precision: the algorithm of the contraction that `e` emits,
/// and its operands with the casts of the precision. `exact`: the algorithm by its shape, of
/// Precision::exact.
Contraction contraction_of(const Emission& e, Algorithm exact, OnTensorCores possible);

}  // namespace kiln::ir
