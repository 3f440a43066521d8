// The computation of reductions, whatever loops lead to the elements.
#pragma once
#include "codegen/emit/reduction.h"

namespace kiln::codegen {

/// The identity of the reduction's operation (ir::identity_of), in every lane.
mlir::Value identity_of(KernelBuilder& e, ir::Reduce kind, DType d, int lanes);

/// interleaved64: elements of the operand per element of a level.
std::int64_t elements_of(int level);

/// The elements of one load along the reduced axis.
struct Position {
  mlir::Value r;  // index along the reduced axis, of the first lane if lanes run along it
  int lanes;
  mlir::Value mask = {};
  int offset_in_stripe = 0;  // of r, in elements; a stripe is 64 elements
};

/// One value for each reduction of a kernel, or several such groups, one after the other.
using Values = llvm::SmallVector<mlir::Value>;

/// The base of all ways to reduce.
class ReductionEmitter {
 protected:
  ReductionEmitter(KernelBuilder& e, const Reduction& red, mlir::Value params);

  /// The number of reductions.
  std::size_t count() const { return red_.kinds.size(); }
  Values identities(int lanes, std::size_t groups = 1);
  /// partial op x, x being one more element.
  Values accumulate(mlir::ValueRange partial, mlir::ValueRange x);
  Values combine(mlir::ValueRange x, mlir::ValueRange y);
  /// Leaf i of `before`.
  mlir::Value leaf(LoopPoint& at, std::size_t i, const Position& position);
  /// The same for a leaf that is an iota.
  mlir::Value index(LoopPoint& at, std::size_t i, const Position& position);
  Values element(LoopPoint& at, const Position& position);
  // The tree of interleaved64: p[j] = p[j] op p[j + n/2] for j below n/2, down to one.
  /// Of 64 partial results in registers.
  Values halve(Values p);
  /// Halves the first `used` partial results in memory, which has room for 64; the others are omitted.
  Values halve_in_memory(mlir::ValueRange parts, mlir::Value used);
  /// The number of the 64 partial results that have an element, if [begin, end) is divided into elements of
  /// `length`.
  mlir::Value used_partials(mlir::Value begin, mlir::Value end, mlir::Value length);
  /// `body` of each value.
  static Values each_of(mlir::ValueRange values, llvm::function_ref<mlir::Value(mlir::Value)> body);
  /// `condition` ? then : otherwise, `then` computed only where it holds.
  Values if_else(mlir::Value condition, llvm::function_ref<Values()> then, mlir::ValueRange otherwise);
  // An array for each reduction.
  Values stacks(std::int64_t elements);
  Values at_offset(mlir::ValueRange arrays, mlir::Value elements);
  Values load(mlir::ValueRange arrays, mlir::Value i, int lanes);
  void store(mlir::ValueRange values, mlir::ValueRange arrays, mlir::Value i, int lanes);
  mlir::Value combined(ir::Reduce kind, mlir::Value x, mlir::Value y);
  mlir::ValueRange group(mlir::ValueRange all, std::size_t i) const {
    return all.slice(i * count(), count());
  }

  KernelBuilder& e_;
  const Reduction& red_;
  mlir::Value extent_;
  llvm::SmallVector<mlir::Value> steps_;
  /// Per leaf: its value if it does not change along the reduced axis. Empty: such leaves are loaded each
  /// time.
  llvm::SmallVector<mlir::Value> invariant_;
};

/// Lanes along a kept axis and at most 64 elements in the order interleaved64, in registers: each partial
/// result has at most one element; partial results without one are omitted. (A sum that begins with +0 is
/// never -0, so adding +0 changes nothing.) Strides of the elements are built in: an address for each would
/// not fit in registers.
class RegisterTree : ReductionEmitter {
 public:
  RegisterTree(KernelBuilder& e, const Reduction& red, mlir::Value params);

  Values reduce(LoopPoint& at) {
    columns_.assign(red_.before.leaves().size(), {});
    if (red_.short_rows) load_rows(at);
    return partial(at, 0, 1);
  }
  /// The column that Reduction::column_of() names at the point that was reduced last, in each lane; or null.
  mlir::Value column_of(std::size_t access) const;

 private:
  /// Loads the leaves whose elements are next to each other, a row in a register, and transposes them.
  void load_rows(LoopPoint& at);
  /// p[j] as it is when `step` partial results are left.
  Values partial(LoopPoint& at, int j, int step);

  llvm::SmallVector<Values> columns_;  // of such a leaf: element j of each row
};

/// Stores the fusion's outputs at a point, whose reductions gave `results`. `loaded`: the elements of an
/// access, if they are in registers already, else null.
void emit_epilogue(KernelBuilder& e, const Reduction& red, LoopPoint& at, mlir::ValueRange results,
                   llvm::function_ref<mlir::Value(std::size_t access)> loaded = {});

}  // namespace kiln::codegen
