#pragma once
#include "codegen/cpu/loops/kernel_builder.h"

#include <string_view>

namespace kiln::codegen {

/// How columns of a right operand get into panels (kiln.pack in ir/KilnOps.td).
struct Packer {
  /// What neighbours in memory are: columns, which are read as they lie; elements of a column, which are read
  /// in squares and turned; or neither, and columns are gathered.
  enum class Neighbours { columns, elements, none };
  static Neighbours neighbours_of(std::int64_t row_stride, std::int64_t column_stride);
  DType dtype;
  int lanes;
  Neighbours neighbours;

  /// Neighbouring panels, and a part of k.
  struct Part {
    mlir::Value in;               ///< the first column's first element
    mlir::Value out;              ///< where its element at `from` goes
    mlir::Value left;             ///< columns from the first one on; zeros stand for others
    mlir::Value panels, width;    ///< how many, and columns of each
    mlir::Value panel_step;       ///< between panels of the result
    mlir::Value column_step;      ///< between columns of the operand
    mlir::Value from, to;         ///< k
    mlir::Value row_step, table;  ///< between rows of the operand, or the offset of each, as i64
  };
  void emit(KernelBuilder& e, const Part& part) const;
  /// What the code depends on, but for the dtype and lanes.
  std::string_view key() const;

 private:
  struct Column {
    mlir::Value in, out;
    mlir::Value left;  // columns from its first lane on
  };
  Column column(KernelBuilder& e, const Part& part, mlir::Value panel, mlir::Value j) const;
  /// One row of the lanes' columns.
  void put(KernelBuilder& e, const Part& part, const Column& column, bool whole, mlir::Value k) const;
  /// As many rows as lanes, from k on.
  void put_square(KernelBuilder& e, const Part& part, const Column& column, bool whole, mlir::Value k) const;
};

}  // namespace kiln::codegen
