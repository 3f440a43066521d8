#pragma once
#include "codegen/emit.h"

namespace kiln::codegen {

/// How columns of a right operand get into panels (kiln.pack in ir/KilnOps.td).
struct Packer {
  DType dtype;
  int lanes;
  bool rows;  ///< columns are neighbours in memory; else they are gathered

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
  void emit(Emit& e, const Part& part) const;

 private:
  struct Column {
    mlir::Value in, out;
    mlir::Value left;  // columns from its first lane on
  };
  Column column(Emit& e, const Part& part, mlir::Value panel, mlir::Value j) const;
  void put(Emit& e, const Part& part, const Column& column, bool whole, mlir::Value k) const;
};

}  // namespace kiln::codegen
