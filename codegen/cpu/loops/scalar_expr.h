#pragma once
#include "codegen/cpu/loops/kernel_builder.h"
#include "ir/dialect.h"
#include "ir/views.h"

#include <llvm/ADT/DenseMap.h>

#include <string>
#include <vector>

namespace kiln::codegen {

/// Where the pointwise part of a fusion begins: a value that is read from memory (a window on an argument),
/// numbered, drawn, gathered, or the root's result.
struct Leaf {
  enum class Kind { memory, iota, random, gather, root };
  Kind kind;
  mlir::Value value;       ///< in the body
  DType dtype;             ///< of its elements
  unsigned argument = 0;   ///< memory, gather: the argument it looks at
  ir::View view;           ///< memory: over the argument
  std::int64_t axis = 0;   ///< iota
  std::size_t draw = 0;    ///< random: which of ScalarExpr::draws()
  int word = 0;            ///< random
  std::int64_t point = 0;  ///< root: of the windows that pool it
};

/// The pointwise expressions of a fusion's body, cut at its leaves: what is computed for one point of the
/// box.
class ScalarExpr {
 public:
  /// `outputs` are values of the body; `root`, if any, is where the expressions end.
  ScalarExpr(llvm::ArrayRef<mlir::Value> outputs, mlir::Value root = {});

  const std::vector<Leaf>& leaves() const { return leaves_; }
  /// The distinct random counters that leaves draw from: words of one counter are made together.
  const std::vector<std::int64_t>& draws() const { return draws_; }
  /// The expressions as text, without shapes: equal text, equal code.
  const std::string& key() const { return key_; }
  /// Element bytes of the widest and narrowest type that is computed with; decides the lanes.
  std::size_t widest() const { return widest_; }

  /// How many registers are worth computing at once: no more than any function in them has room for.
  int registers_at_once() const;

  /// Pointwise operations in them.
  std::size_t operations() const { return order_.size(); }

  /// Emits the expressions for `lanes` lanes. `leaf(i)` gives leaf i in registers.
  llvm::SmallVector<mlir::Value> emit(KernelBuilder& e, int lanes,
                                      const std::function<mlir::Value(std::size_t)>& leaf) const;

 private:
  void visit(mlir::Value v);
  void note_type(mlir::Value v);

  mlir::Value root_;
  llvm::SmallVector<mlir::Value> outputs_;
  std::vector<Leaf> leaves_;
  std::vector<std::int64_t> draws_;
  std::vector<mlir::Operation*> order_;  // pointwise operations and constants, operands first
  llvm::DenseMap<mlir::Value, std::size_t> leaf_index_, number_;
  std::string key_;
  std::size_t widest_ = 1;
};

/// A result of a fusion: what is computed for each point of the box, and where in the result's memory it
/// goes.
struct Output {
  mlir::Value value;
  ir::View view;
};
llvm::SmallVector<Output> outputs_of(ir::FusionOp fusion);
llvm::SmallVector<mlir::Value> values_of(llvm::ArrayRef<Output> outputs);

inline DType dtype_of_value(mlir::Value v) { return ir::dtype_of_element(ir::ranked(v).getElementType()); }

}  // namespace kiln::codegen
