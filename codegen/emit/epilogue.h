// The epilogue of a contraction.
#pragma once
#include "codegen/emit/kernel_builder.h"
#include "codegen/emit/loop_nest.h"
#include "codegen/emit/scalar_expr.h"

#include <optional>

namespace kiln::codegen {

/// An operand of an epilogue, or a result, as far as it is built into the code.
struct EpilogueOperand {
  DType dtype;
  int operand;
  int column_class;  // stride_class() along the columns
  bool has_rows;     // its address is not the same for all rows
  static constexpr auto fields() {
    return std::tuple(PlanField{"dtype", &EpilogueOperand::dtype},
                      PlanField{"operand", &EpilogueOperand::operand},
                      PlanField{"column_class", &EpilogueOperand::column_class},
                      PlanField{"rows", &EpilogueOperand::has_rows});
  }
};

/// Everything that the code of an epilogue depends on, beside the number of outer axes, which its contraction
/// has: equal plans, equal code.
struct EpiloguePlan {
  std::vector<EpilogueOperand> operands;
  std::string expression;
  static constexpr auto fields() {
    return std::tuple(PlanField{"operands", &EpiloguePlan::operands},
                      PlanField{"expression", &EpiloguePlan::expression});
  }
};

/// The epilogue of a contraction: the pointwise end of a fusion, in the contraction's kernel, with its other
/// operands and its results.
///
/// One axis of the result is the columns, which lanes run along. The other axes are merged if all operands
/// allow it. The last remaining one is the rows i; the axes outside of it are the outer axes. If the epilogue
/// pools (ir/windows.h), the result is the pooled one. The address of an operand's element is offset + sum
/// over the outer axes + i * row stride + j * column stride. Strides are parameters.
class Epilogue {
 public:
  /// `extra_strides`: further operands, by their strides along all axes except the columns. Axes are merged
  /// only if these operands allow it as well. Operand `fixed_in_rows` of them is the same for all rows: axes
  /// along which it has a stride become outer axes. `order`: the order of all axes except the columns, if it
  /// differs from the result's.
  Epilogue(ir::FusionOp fusion, mlir::Value root, std::size_t columns, llvm::ArrayRef<Dims> extra_strides,
           std::optional<std::size_t> fixed_in_rows = {}, llvm::ArrayRef<std::int64_t> order = {});

  /// Extents of the outer axes and the rows; never empty.
  const Dims& extents() const { return extents_; }
  /// Strides of a further operand along these axes.
  const Dims& extra_strides(std::size_t i) const { return extra_strides_[i]; }

  EpiloguePlan plan() const;
  /// The length of its code, in characters of a short text.
  std::size_t code_length() const;
  void append_params(std::vector<std::int64_t>& params) const;

  /// Computes the operands' base addresses for an index of the outer axes; store() uses them. The epilogue's
  /// parameters begin at params[first_param].
  void prepare(KernelBuilder& e, const KernelArgs& args, std::int64_t first_param,
               mlir::ValueRange outer_index);
  /// Applies the epilogue to the sums of row i, lanes along the columns from j on, and stores the results. If
  /// it pools, a row is a window with a sum for each of its points.
  void store(KernelBuilder& e, llvm::ArrayRef<mlir::Value> sums, mlir::Value i, mlir::Value j, int lanes,
             mlir::Value mask);

  bool has_functions() const { return expr_.has_functions(); }
  /// Whether it reads an operand as large as the result.
  bool reads_rows() const;
  /// Prefetches such operands for store() of row i, `count` columns from j on.
  void prefetch(KernelBuilder& e, mlir::Value i, mlir::Value j, std::int64_t count) {
    prefetch(e, first_output_, i, j, count);
  }
  /// The same with the results.
  void prefetch_all(KernelBuilder& e, mlir::Value i, mlir::Value j, std::int64_t count) {
    prefetch(e, accesses_.size(), i, j, count);
  }

 private:
  struct Operand {
    DType dtype;
    int operand;
    std::int64_t offset;
    std::int64_t column_stride;
    Dims strides;  // of the outer axes and the rows
  };
  std::size_t stride_count() const { return 2 + extents_.size(); }
  /// Whether its address is the same for all rows.
  static bool is_fixed(const Operand& o) {
    return llvm::all_of(o.strides, [](std::int64_t stride) { return stride == 0; });
  }
  void prefetch(KernelBuilder& e, std::size_t end, mlir::Value i, mlir::Value j, std::int64_t count);
  static bool has_rows(const Operand& o) { return o.column_stride == 1 && o.strides.back() != 0; }

  ScalarExpr expr_;
  Dims extents_;
  std::vector<Dims> extra_strides_;
  std::vector<Operand> accesses_;  // leaves except the root, then results
  std::vector<int> leaf_access_;   // -1: the root
  std::size_t first_output_;
  // Set by prepare.
  llvm::SmallVector<mlir::Value> bases_, row_strides_, column_strides_;
};

}  // namespace kiln::codegen
