#pragma once
#include "ir/primitives.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>

/// The result type of each primitive, from its operand types and attributes. Primitives infers types by these
/// rules, and the dialect's verifiers check operations against them.
namespace kiln::ir {

/// The reason why operands and attributes do not fit a primitive, worded for both callers.
struct Mismatch {
  std::string call;       ///< for the user, with the shapes of the call
  std::string operation;  ///< for the verifier, which prefixes the operation's name
  bool internal = false;  ///< unreachable from a call of an operator
};

/// The type of a result, or the mismatch.
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

ResultType compare_type(const TensorType& a, const TensorType& b);
ResultType select_type(const TensorType& condition, const TensorType& a, const TensorType& b);

ResultType iota_type(const TensorType& type, std::int64_t axis);
ResultType random_uniform_type(const TensorType& type);

ResultType broadcast_type(const TensorType& x, const Shape& to, const Shape& dims);
ResultType reshape_type(const TensorType& x, const Shape& to);
ResultType transpose_type(const TensorType& x, const Shape& permutation);
ResultType slice_type(const TensorType& x, const Shape& start, const Shape& limit, const Shape& step);
ResultType reverse_type(const TensorType& x, const Shape& axes);
ResultType pad_type(const TensorType& x, const Shape& low, const Shape& high);
ResultType extend_type(Extend how, const TensorType& x, const Shape& low, const Shape& high);
ResultType concatenate_type(std::span<const TensorType> parts, std::int64_t axis);
ResultType insert_type(const TensorType& x, const TensorType& update, const Shape& start, const Shape& step);
ResultType gather_type(const TensorType& x, const TensorType& indices, std::int64_t axis);
ResultType check_bounds_type(const TensorType& indices);
ResultType scatter_type(const TensorType& x, const TensorType& indices, const TensorType& updates,
                        std::int64_t axis);

ResultType sort_type(const TensorType& x);
ResultType cumulative_type(const TensorType& x, std::int64_t axis);

ResultType reduce_type(const TensorType& x, const Shape& axes);
ResultType dot_type(const TensorType& lhs, const TensorType& rhs, const DotSpec& spec);
ResultType convolution_type(const TensorType& x, const TensorType& w, const ConvSpec& spec);
ResultType convolution_weights_type(const TensorType& x, const TensorType& g, const ConvSpec& spec);
ResultType reduce_window_type(const TensorType& x, const Window& window);

}  // namespace kiln::ir
