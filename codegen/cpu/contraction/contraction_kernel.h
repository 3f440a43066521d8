// The operands of a contraction's kernel, and the blocks and tiles that a level hands to the one below it.
#pragma once
#include "codegen/cpu/contraction/contraction_plan.h"
#include "codegen/cpu/contraction/even_rows.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/outer_axes.h"

namespace kiln::codegen {

inline constexpr ParamNames contraction_names{"k_extent",
                                              "columns",
                                              "rows",
                                              "tiles_of_axis",
                                              "larger_tiles",
                                              "block_row_tiles",
                                              "column_tiles",
                                              "block_column_tiles",
                                              "column_blocks",
                                              "product_row_tiles",
                                              "product_row_blocks",
                                              "column_tiles_of_group",
                                              "lhs_offset",
                                              "lhs_group_stride",
                                              "lhs_k_stride",
                                              "lhs_prefetch",
                                              "panel_stride",
                                              "rhs_group_stride",
                                              "rhs_k_stride",
                                              "rhs_column_stride",  // of a B that is not packed
                                              "epilogue_rows"};
/// The parameters of A's rows (EvenRows) and of the outer axes follow.
using ContractionParams = KernelParams<contraction_names>;

/// A and B in memory.
struct ContractionMemory {
  mlir::Value lhs;           // A's first element
  mlir::Value rhs;           // B
  mlir::Value k_offsets;     // A's offset for each k, where it has a table
  mlir::Value panel_stride;  // between panels of packed B
  mlir::Value lhs_k_stride;  // of A, without a table
};

/// The kernel as all of its levels see it.
struct ContractionKernel {
  KernelBuilder& e;
  const ContractionPlan& plan;
  const KernelArgs& args;
  const ContractionParams params;
  const EvenRows lhs_rows;  // row groups, if rows are not even
  const OuterAxes outer;
  const ContractionMemory memory;

  ContractionKernel(KernelBuilder& builder, const ContractionPlan& contraction, const KernelArgs& arguments)
      : e(builder),
        plan(contraction),
        args(arguments),
        params(e, args.params),
        lhs_rows(e, args.params, ContractionParams::size),
        outer(e, args.params, ContractionParams::end<EvenRows::Params>(1), plan.tasks.outer_count),
        memory(find()) {}

  DType wide() const { return plan.tile.wide(); }
  mlir::Value element(mlir::Value base, mlir::Value index) const {
    return e.element(base, index, plan.tile.dtype);
  }
  /// An element of B in memory.
  mlir::Value rhs_element(mlir::Value base, mlir::Value index) const {
    return e.element(base, index, plan.rhs.dtype);
  }
  /// A's offset at k, and its increment.
  mlir::Value lhs_offset(mlir::Value k) const {
    if (plan.lhs.table) return e.load_scalar(e.element(memory.k_offsets, k, DType::i64), DType::i64);
    return plan.lhs.along_k ? k : e.mul(k, memory.lhs_k_stride);
  }
  /// The addresses of A's rows at k, of a tile of `rows` rows that reads it from `lhs` on, in terms of k = 0.
  std::function<mlir::Value(int row)> lhs_rows_at(mlir::Value lhs, mlir::Value k, int rows) const {
    const mlir::Value here = element(lhs, plan.lhs.packs ? e.mul(k, e.index(rows)) : lhs_offset(k));
    if (!plan.rows.even || plan.lhs.copies)
      return [this, here](int r) { return element(here, e.index(plan.lhs_row_offset(r))); };
    return [this, pointers = lhs_rows.pointers(e, here, rows)](int r) {
      return lhs_rows.address(e, pointers, r);
    };
  }
  mlir::Value lhs_step() const { return plan.lhs.along_k ? e.index(1) : memory.lhs_k_stride; }

 private:
  ContractionMemory find() const {
    ContractionMemory found;
    found.lhs = element(e.buffer(args.buffers, plan.lhs.operand), params["lhs_offset"]);
    found.rhs = e.buffer(args.buffers, plan.rhs.operand);
    if (plan.lhs.table) found.k_offsets = e.buffer(args.buffers, *plan.lhs.table);
    found.panel_stride = params["panel_stride"];
    found.lhs_k_stride = params["lhs_k_stride"];
    return found;
  }
};

/// A task: row tiles by column tiles, by their numbers.
struct TaskBlock {
  mlir::Value first_row_tile, end_row_tile, first_column_tile, end_column_tile;
  mlir::Value rhs;  // B of the product
};

/// A tile's rows.
struct RowTile {
  mlir::Value number;  // in the block
  mlir::Value lhs;     // address of its first row's elements of A
  mlir::Value first;   // first row group, along the axis that tiles divide
  int row_groups;
  mlir::Value begin, end;                       // the row groups that it stores
  const llvm::SmallVector<mlir::Value>& outer;  // the index of the outer axes
  mlir::Value rhs_offset;                       // of B there
};

/// The operands of a tile of words, and its sums.
struct WordOperands {
  mlir::Value lhs;                        ///< where the row tile reads A, in terms of k = 0
  llvm::SmallVector<mlir::Value> panels;  ///< of B, at k = 0
  mlir::Value totals;                     ///< of the tile, row by row
  mlir::Value from, to;                   ///< words of k
  std::optional<PrefetchSlice> next_rhs;  ///< with RhsPlan::lines_ahead
};

/// A tile's columns.
struct ColumnTile {
  mlir::Value in_task;       // number
  mlir::Value first_column;  // in its group
  mlir::Value group_column;  // the first one of the group
  mlir::Value panels;        // address of packed B's elements at k = 0
  mlir::Value lhs;           // A of the group
  int vectors;               // registers
};

}  // namespace kiln::codegen
