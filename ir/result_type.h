#pragma once
// The type of a primitive's result, or the reason why it has none.
#include "runtime/tensor_type.h"

#include <string>
#include <utility>
#include <variant>

namespace kiln::ir {

/// The reason why operands and attributes do not fit a primitive, worded for both callers of its rule.
struct Mismatch {
  std::string call;       ///< for the user, with the shapes of the call
  std::string operation;  ///< for the verifier, which prefixes the operation's name
  bool internal = false;  ///< unreachable from a call of an operator
};

/// The type of a result, or the mismatch. Primitives infers types by the rules of ir/primitives, and the
/// dialect's verifiers check operations against them.
class ResultType {
 public:
  ResultType(TensorType type) : content_(std::move(type)) {}        // NOLINT: a rule returns either
  ResultType(Mismatch mismatch) : content_(std::move(mismatch)) {}  // NOLINT
  const Mismatch* mismatch() const { return std::get_if<Mismatch>(&content_); }
  /// Throws the mismatch as the error of a call.
  const TensorType& value() const;

 private:
  std::variant<TensorType, Mismatch> content_;
};

}  // namespace kiln::ir
