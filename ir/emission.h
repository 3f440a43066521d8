#pragma once
// The dialect's half of a primitive's file: how it becomes an operation, and how its rules verify one.
#include "ir/algorithm.h"
#include "ir/dialect.h"
#include "ir/draws.h"
#include "ir/result_type.h"
#include "ir/widened_casts.h"

#include <kiln/error.h>

#include <string>

namespace kiln::ir {

struct Node;

/// One primitive on its way into a function of the dialect.
class Emission {
 public:
  // Given by ir/build.cpp.
  mlir::OpBuilder& builder;
  mlir::Location location;
  llvm::ArrayRef<mlir::Value> operands;
  mlir::RankedTensorType type;  ///< of the result
  const Node* node;             ///< being composed; null outside of nodes
  llvm::StringRef described;    ///< the node in messages
  const ContractionTarget& target;
  DrawCounter& draws;
  WidenedCasts& widened;
  // Given by the primitive.
  mlir::Value result;

  mlir::Value in(std::size_t i) const { return operands[i]; }
  /// Appends an operation, whose first result is the primitive's.
  template <class Op, class... Arguments>
  Op make(Arguments&&... arguments) {
    Op op = Op::create(builder, location, type, std::forward<Arguments>(arguments)...);
    result = op->getResult(0);
    return op;
  }
  mlir::DenseI64ArrayAttr list(const Shape& s) {
    return builder.getDenseI64ArrayAttr(llvm::ArrayRef<std::int64_t>(s.begin(), s.size()));
  }
  /// A number in the result's element type: floats rounded once, integers truncated and wrapped.
  mlir::TypedAttr number(double v);
  mlir::TypedAttr integer(std::int64_t v);
};

// The attributes of an operation without MLIR's types.
inline Shape to_shape(llvm::ArrayRef<std::int64_t> v) { return Shape(std::span(v.data(), v.size())); }
inline TensorType type_of(mlir::Value v) { return to_tensor_type(v.getType()); }

/// Checks the type of an operation's first result against a primitive's rule, which may throw: an array may
/// have more axes than Shape::max_rank.
mlir::LogicalResult verify_type(mlir::Operation* op, llvm::function_ref<ResultType()> rule);

}  // namespace kiln::ir
