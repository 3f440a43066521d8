// The algorithm and the operands of a contraction, by the precision of its node.
#pragma once
#include "ir/emission.h"

namespace kiln::ir {

/// A contraction as it is emitted.
struct Contraction {
  Algorithm algorithm;
  mlir::Value lhs, rhs;
};

/// The algorithms that the shape of a contraction allows.
struct ContractionShape {
  Algorithm exact = Algorithm::chained512;  ///< the algorithm of Precision::exact
  bool tensor_cores = false;                ///< whether they may compute it: matrices alone
  /// Neighbouring values of k: the contracted extent of a dot, the input channels of a group of a
  /// convolution; 0: paired32 is not defined.
  std::int64_t neighbours = 0;
};

/// The one place that knows the meaning of each Precision: the algorithm of the contraction that
/// `e` emits, and its operands with the casts of the precision.
Contraction contraction_of(const Emission& e, const ContractionShape& shape);

}  // namespace kiln::ir
