// Packing of B into panels.
#pragma once
#include "codegen/emit/kernel_builder.h"
#include "codegen/emit/plan_fields.h"

#include <string_view>

namespace kiln::codegen {

/// Packs B: columns become panels (kiln.pack in ir/KilnOps.td).
struct Packer {
  /// The axis of B with a unit stride. columns: they are loaded as registers; elements: k, which is loaded in
  /// square blocks and transposed; none: columns are gathered.
  enum class Neighbours { columns, elements, none };
  static Neighbours neighbours_of(std::int64_t k_stride, std::int64_t column_stride);
  DType dtype;
  int lanes;
  Neighbours neighbours;
  static constexpr auto fields() {
    return std::tuple(PlanField{"dtype", &Packer::dtype}, PlanField{"lanes", &Packer::lanes},
                      PlanField{"neighbours", &Packer::neighbours});
  }

  /// Consecutive panels, and a range of k.
  struct Part {
    mlir::Value in;                     ///< address of the first column's element at k = 0
    mlir::Value out;                    ///< where its element at k = `from` goes
    mlir::Value columns;                ///< from the first one on; missing columns become zeros
    mlir::Value panels, panel_columns;  ///< how many, and the columns of each
    mlir::Value panel_stride;           ///< between panels of the result
    mlir::Value column_stride;          ///< between columns of B
    mlir::Value from, to;               ///< k
    mlir::Value k_stride, table;        ///< of B: constant, or an offset for each k as i64
    mlir::Value places = {};            ///< for each k the row of the panel, as i64; without: k - `from`
  };
  void emit(KernelBuilder& e, const Part& part) const;

 private:
  static mlir::Value row_of(KernelBuilder& e, const Part& part, mlir::Value k);
  struct Column {
    mlir::Value in, out;
    mlir::Value columns;  // from its first lane on
  };
  Column column(KernelBuilder& e, const Part& part, mlir::Value panel, mlir::Value j) const;
  /// The lanes' columns at one k.
  void pack_row(KernelBuilder& e, const Part& part, const Column& column, bool whole, mlir::Value k) const;
  /// The lanes' columns at `lanes` values of k.
  void pack_square(KernelBuilder& e, const Part& part, const Column& column, bool whole, mlir::Value k) const;
};

std::string_view word_of(Packer::Neighbours neighbours);

}  // namespace kiln::codegen
