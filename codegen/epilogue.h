#pragma once
#include "codegen/body.h"
#include "codegen/emit.h"
#include "codegen/nest.h"

namespace kiln::codegen {

/// What follows a product inside its kernel: the pointwise end of a fusion, and where its other operands and
/// the results lie.
///
/// Every operand is addressed as offset + sum over the outer axes + i * row stride + j * column stride, where
/// the last two axes of the result (after `outer` ones) are rows i and columns j. Strides are parameters.
class Epilogue {
 public:
  /// `rows` and `columns` are axes of the result; all others are outer.
  Epilogue(mlir::Operation* fusion, mlir::Value root, llvm::ArrayRef<std::size_t> outer,
           llvm::ArrayRef<std::size_t> rows, std::size_t columns);

  const std::string& key() const { return key_; }
  std::size_t widest() const { return body_.widest(); }
  void append_params(std::vector<std::int64_t>& params) const;
  std::int64_t param_count() const { return static_cast<std::int64_t>(streams_.size() * stride_count()); }

  /// Loads the operands' base addresses for outer index values `at`; to be called once before store().
  void prepare(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param,
               mlir::ValueRange outer_index);
  /// Applies the end to `sum` (lanes along axis `along_columns` ? columns : rows), at row i and column j, and
  /// stores the results.
  void store(Emit& e, mlir::Value sum, mlir::Value i, mlir::Value j, bool along_columns, int lanes,
             mlir::Value mask);

 private:
  struct Operand {
    DType dtype;
    int operand;
    std::int64_t offset;
    Dims outer_strides;
    std::int64_t row_stride, column_stride;
  };
  std::size_t stride_count() const { return 3 + outer_count_; }

  Body body_;
  std::size_t outer_count_;
  std::vector<Operand> streams_;  // leaves but the root, then results
  std::vector<int> leaf_stream_;  // -1: the root
  std::size_t first_output_;
  std::string key_;
  // Set by prepare.
  llvm::SmallVector<mlir::Value> bases_, row_strides_, column_strides_;
};

}  // namespace kiln::codegen
