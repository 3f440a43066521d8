#pragma once
#include "codegen/cpu/loops/kernel_builder.h"
#include "codegen/cpu/loops/loop_nest.h"
#include "codegen/cpu/loops/scalar_expr.h"

#include <optional>

namespace kiln::codegen {

/// What follows a product inside its kernel: the pointwise end of a fusion, and where its other operands and
/// the results lie.
///
/// One axis of the result are its columns, which lanes run along. The others are joined where all operands
/// walk them as one; the last that is left are the rows i, those before it outer axes. (Where the end pools
/// the product (ir/windows.h), the result is what comes of that.) Every operand is addressed as offset + sum
/// over the outer axes + i * row stride + j * column stride. Strides are parameters.
class Epilogue {
 public:
  /// `guests`: strides along the axes but the columns that are to be joined like those of the operands. The
  /// axes that guest number `fixed_in_rows` has a stride along become outer axes: all rows see the same of
  /// it.
  Epilogue(ir::FusionOp fusion, mlir::Value root, std::size_t columns, llvm::ArrayRef<Dims> guests,
           std::optional<std::size_t> fixed_in_rows = {});

  /// Of the outer axes and the rows; never empty.
  const Dims& extents() const { return extents_; }
  /// A guest's strides along those.
  const Dims& guest(std::size_t i) const { return guests_[i]; }

  const std::string& key() const { return key_; }
  void append_params(std::vector<std::int64_t>& params) const;

  /// Loads the operands' base addresses for outer index values `at`; to be called before store().
  void prepare(KernelBuilder& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param,
               mlir::ValueRange outer_index);
  /// Applies the end to the sums of row i, lanes along the columns from j on, and stores the results. Where
  /// the end pools, a row is a window, and its points have a sum each.
  void store(KernelBuilder& e, llvm::ArrayRef<mlir::Value> sums, mlir::Value i, mlir::Value j, int lanes,
             mlir::Value mask);

  /// Whether it reads something as large as the result.
  bool reads_rows() const;
  /// Asks for what store() will read of row i, `count` columns from j on.
  void prefetch(KernelBuilder& e, mlir::Value i, mlir::Value j, std::int64_t count);

 private:
  struct Operand {
    DType dtype;
    int operand;
    std::int64_t offset;
    std::int64_t column_stride;
    Dims strides;  // of the outer axes and the rows
  };
  std::size_t stride_count() const { return 2 + extents_.size(); }
  /// Whether it is the same for all rows.
  static bool is_fixed(const Operand& o) {
    return llvm::all_of(o.strides, [](std::int64_t stride) { return stride == 0; });
  }
  static bool has_rows(const Operand& o) { return o.column_stride == 1 && o.strides.back() != 0; }

  ScalarExpr body_;
  Dims extents_;
  std::vector<Dims> guests_;
  std::vector<Operand> accesses_;  // leaves but the root, then results
  std::vector<int> leaf_access_;   // -1: the root
  std::size_t first_output_;
  std::string key_;
  // Set by prepare.
  llvm::SmallVector<mlir::Value> bases_, row_strides_, column_strides_;
};

}  // namespace kiln::codegen
