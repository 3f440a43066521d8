#pragma once
// Which values of f32 a node has widened from half precision or from bytes: the algorithms of contractions of
// them.
#include "ir/dialect.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

namespace kiln::ir {

struct Node;

/// Whether a cast widens half precision to f32.
bool widens_half(CastOp cast);
/// Whether a cast widens integers of at most 8 bits to f32. Rounded to 8 bits of fraction they stay the same.
bool widens_bytes(CastOp cast);

class WidenedCasts {
 public:
  /// Notes `cast`, which `node` has composed, if it widens half precision or bytes to f32.
  void note(CastOp cast, const Node* node);
  /// Whether `node` has widened any operand from half precision.
  bool has_widened(const Node* node) const { return node && widening_.contains(node); }
  /// The half precision from which `node` has widened v, through views of it; else null.
  mlir::Type half_of(mlir::Value v, const Node* node) const;
  /// Whether `node` has widened v from integers of 8 bits, through views of it.
  bool widens_bytes(mlir::Value v, const Node* node) const;
  /// A value that half_of() knows, before it was widened to f32 from `half`.
  static mlir::Value narrowed(mlir::OpBuilder& builder, mlir::Value v, mlir::Type half);

 private:
  llvm::DenseMap<mlir::Operation*, const Node*> nodes_, of_bytes_;
  llvm::DenseSet<const Node*> widening_;
};

}  // namespace kiln::ir
