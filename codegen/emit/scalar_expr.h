// Scalar expressions of fusions.
#pragma once
#include "codegen/emit/kernel_builder.h"
#include "ir/dialect.h"
#include "ir/views.h"

#include <llvm/ADT/DenseMap.h>

#include <string>
#include <vector>

namespace kiln::codegen {

/// An input of a scalar expression. It is an element read from memory (through a view of an argument), an
/// index (iota), a random number, a gathered element, or the result of a root.
struct Leaf {
  enum class Kind { memory, iota, random, gather, root };
  Kind kind;
  mlir::Value value;               ///< in the body of the fusion
  DType dtype;                     ///< of its elements
  unsigned argument = 0;           ///< memory, gather: the argument it reads
  ir::View view;                   ///< memory: over the argument
  std::int64_t axis = 0;           ///< iota
  std::size_t counter_offset = 0;  ///< random: index into ScalarExpr::counter_offsets()
  int word = 0;                    ///< random
  std::int64_t root = 0;           ///< root: which of the roots, or which point of its pooling window
};

/// The pointwise computation of a fusion for one point of its box, from leaves to outputs.
class ScalarExpr {
 public:
  /// `outputs` are values of the fusion's body. Each of `roots` becomes a leaf if it is used.
  ScalarExpr(llvm::ArrayRef<mlir::Value> outputs, llvm::ArrayRef<mlir::Value> roots = {});

  const std::vector<Leaf>& leaves() const { return leaves_; }
  /// The distinct random counters of the leaves; all words of one counter are computed together.
  const std::vector<std::int64_t>& counter_offsets() const { return counter_offsets_; }
  /// The expression as text, without shapes: equal text, equal code.
  const std::string& text() const { return text_; }
  /// Bytes of the widest element type of the computation, which decides the number of lanes.
  std::size_t widest() const { return widest_; }

  /// The number of registers to interleave: the minimum over its functions of the registers that each leaves
  /// room for.
  int registers_at_once() const { return counter_offsets_.empty() ? std::max(1, min_registers()) : 1; }

  /// Whether it has functions, whose code is long.
  bool has_functions() const { return !counter_offsets_.empty() || min_registers() > 0; }

  /// The number of pointwise operations and constants, and the number of constants.
  std::size_t operations() const { return order_.size(); }
  std::size_t constants() const {
    return static_cast<std::size_t>(llvm::count_if(order_, llvm::IsaPred<ir::ConstantOp>));
  }

  /// The length of the longest chain of functions, each applied to a value that depends on the previous one.
  int function_depth() const;

  /// Emits the expression for `lanes` lanes. `leaf(i)` returns leaf i in a register.
  llvm::SmallVector<mlir::Value> emit(KernelBuilder& e, int lanes,
                                      const std::function<mlir::Value(std::size_t)>& leaf) const;
  /// The same at `points` places, operation by operation: the results at each. `leaf(place, i)` returns leaf
  /// i there.
  std::vector<llvm::SmallVector<mlir::Value>> emit(
      KernelBuilder& e, int lanes, std::size_t points,
      const std::function<mlir::Value(std::size_t place, std::size_t i)>& leaf) const;

 private:
  int min_registers() const;  // 0: there are no functions
  void visit(mlir::Value v);
  void note_type(mlir::Value v);

  llvm::SmallVector<mlir::Value> roots_, outputs_;
  std::vector<Leaf> leaves_;
  std::vector<std::int64_t> counter_offsets_;
  std::vector<mlir::Operation*> order_;  // pointwise operations and constants, operands first
  llvm::DenseMap<mlir::Value, std::size_t> leaf_index_, number_;
  std::string text_;
  std::size_t widest_ = 1;
};

/// A result of a fusion: its value at each point of the box, and the view of the result's memory that
/// receives it.
struct Output {
  mlir::Value value;
  ir::View view;
};
llvm::SmallVector<Output> outputs_of(ir::FusionOp fusion);
llvm::SmallVector<mlir::Value> values_of(llvm::ArrayRef<Output> outputs);

inline DType dtype_of_value(mlir::Value v) { return ir::dtype_of_element(ir::ranked(v).getElementType()); }

}  // namespace kiln::codegen
