// The kernel of all contractions. A task is a block of rows by a block of columns. It takes the column tiles
// one by one, each with all row tiles of its block, so that a packed panel stays in L1 and A's rows in L2. A
// kernel that packs B itself takes the row tiles one by one, each with all column tiles, so that the packed
// block stays in L2. Its levels: tasks, staging of A and B, row tiles, the loop of a tile, its epilogue.
#include "codegen/cpu/contraction/contraction.h"

#include "codegen/cpu/contraction/contraction_kernel.h"
#include "codegen/cpu/contraction/tile_loop.h"
#include "codegen/emit/planned_launch.h"

namespace kiln::codegen {
namespace {

/// The level of tasks.
class ContractionEmitter {
 public:
  using Value = mlir::Value;

  ContractionEmitter(KernelBuilder& e, const ContractionPlan& plan, Epilogue& epilogue,
                     const KernelArgs& args)
      : e(e),
        plan_(plan),
        k_(e, plan, args),
        end_(k_, epilogue),
        rows_(k_, end_),
        staging_(k_, rows_),
        tiles_(k_, staging_, end_) {}

  void run() {
    // Consecutive tasks of one column block reuse its packed B; where A is packed, too, tasks of one row
    // block reuse its packed A.
    const Value column_blocks = k_.params["column_blocks"], row_blocks = k_.params["product_row_blocks"],
                one = e.index(1), none = e.index(-1);
    const bool by_columns = plan_.tasks.by_column_blocks;
    const Value outer_blocks = by_columns ? column_blocks : row_blocks,
                inner_blocks = by_columns ? row_blocks : column_blocks;
    e.loop(k_.args.begin, k_.args.end, one, none,
           [&](Value task, mlir::ValueRange last) -> llvm::SmallVector<Value> {
             const Value number = e.div(task, inner_blocks), inner = e.rem(task, inner_blocks);
             const Value is_new_outer_block = e.less(last[0], number);
             Value outer = number, product;
             if (plan_.rhs.packs_batch) {
               product = e.div(number, outer_blocks);
               outer = e.rem(number, outer_blocks);
             }
             compute(by_columns ? block_of(product, inner, outer) : block_of(product, outer, inner),
                     is_new_outer_block);
             return {number};
           });
    tiles_.end();
  }

 private:
  /// Blocks of the `product` of a batch that it packs, if there is one.
  TaskBlock block_of(Value product, Value row_block, Value column_block) {
    TaskBlock task;
    const Value block = k_.params["block_row_tiles"], tiles = k_.params["product_row_tiles"];
    task.first_row_tile = e.mul(row_block, block);
    task.end_row_tile = e.min(e.add(task.first_row_tile, block), tiles);
    task.rhs = k_.memory.rhs;
    if (product) {
      const Value before = e.mul(product, tiles);
      task.first_row_tile = e.add(before, task.first_row_tile);
      task.end_row_tile = e.add(before, task.end_row_tile);
      task.rhs = k_.rhs_element(k_.memory.rhs, k_.outer.rhs_offset(e, k_.outer.index(e, product)));
    }
    task.first_column_tile = e.mul(column_block, k_.params["block_column_tiles"]);
    task.end_column_tile =
        e.min(e.add(task.first_column_tile, k_.params["block_column_tiles"]), k_.params["column_tiles"]);
    return task;
  }

  void compute(const TaskBlock& task, Value is_new_outer_block) {
    if (plan_.tasks.one_chunk) {
      const Value from = e.index(0), to = k_.params["k_extent"];
      if (plan_.lhs.packs) {
        e.when(is_new_outer_block, [&] { staging_.pack_lhs(task, from, to); });
        staging_.pack_rhs(task, from, to);
      } else if (plan_.rhs.packer) {
        e.when(is_new_outer_block, [&] { staging_.pack_rhs(task, from, to); });
      }
      return over_chunk(task, from, to);
    }
    // Chunk by chunk for all rows of the block, so that the chunk of a panel stays in L1; totals are in
    // memory.
    tiles_.clear_totals();
    const Value length = e.index(Tile::chunk);
    e.loop(e.index(0), k_.params["k_extent"], length, [&](Value from) {
      const Value to = e.min(e.add(from, length), k_.params["k_extent"]);
      if (plan_.rhs.packer) staging_.pack_rhs(task, from, to);
      if (plan_.lhs.packs) staging_.pack_lhs(task, from, to);
      if (plan_.lhs.copies) staging_.copy_lhs(task, from, to);
      over_chunk(task, from, to);
    });
  }

  /// The task over k in [from, to).
  void over_chunk(const TaskBlock& task, Value from, Value to) {
    const auto over_columns = [&](llvm::function_ref<void(const ColumnTile&)> body) {
      e.loop(task.first_column_tile, task.end_column_tile, e.index(1),
             [&](Value number) { body(staging_.columns(task, number, from)); });
    };
    const auto compute_tile = [&](const RowTile& row_tile, const ColumnTile& columns) {
      tiles_.compute(task, row_tile, columns, from, to);
    };
    if (plan_.rhs.packer)
      return rows_.each(task, k_.memory.lhs, [&](const RowTile& row_tile) {
        over_columns([&](const ColumnTile& columns) { compute_tile(row_tile, columns); });
      });
    over_columns([&](const ColumnTile& columns) {
      rows_.each(task, columns.lhs, [&](const RowTile& row_tile) { compute_tile(row_tile, columns); });
    });
  }

  KernelBuilder& e;
  const ContractionPlan& plan_;
  const ContractionKernel k_;
  TileEnd end_;
  const RowTiles rows_;
  const Staging staging_;
  TileLoop tiles_;
};

void append_params(std::vector<std::int64_t>& params, const Contraction& p, const ContractionPlan& plan,
                   const ContractionSizes& sizes) {
  // Panels that the kernel packs itself have one chunk of k.
  const std::int64_t panel_elements =
      (plan.rhs.packer ? std::min(p.k_extent, Tile::chunk) : p.k_extent) * p.panel;
  const auto unpacked = p.unpacked.value_or(Contraction::Unpacked{});
  const std::int64_t tiles_of_group = llvm::divideCeilSigned(p.panels, plan.columns.panels);
  ContractionParams::append(params, {{"k_extent", p.k_extent},
                                     {"columns", p.columns},
                                     {"rows", sizes.rows},
                                     {"tiles_of_axis", sizes.tiles_of_axis},
                                     {"larger_tiles", sizes.larger_tiles},
                                     {"block_row_tiles", sizes.block_row_tiles},
                                     {"column_tiles", sizes.column_tiles},
                                     {"block_column_tiles", sizes.block_column_tiles},
                                     {"column_blocks", sizes.column_blocks},
                                     {"product_row_tiles", sizes.product_row_tiles},
                                     {"product_row_blocks", sizes.row_blocks_of_product()},
                                     {"column_tiles_of_group", tiles_of_group},
                                     {"lhs_offset", p.lhs.offset},
                                     {"lhs_group_stride", p.lhs_group},
                                     {"lhs_k_stride", p.k_stride},
                                     {"lhs_prefetch", lhs_prefetch_distance(plan, sizes)},
                                     {"panel_stride", panel_elements},
                                     {"rhs_group_stride", p.panels * panel_elements},
                                     {"rhs_k_stride", unpacked.row_stride},
                                     {"rhs_column_stride", unpacked.column_stride},
                                     {"epilogue_rows", sizes.epilogue_rows}});
  EvenRows::append(params, sizes.lhs_strides.back() * static_cast<std::int64_t>(size_of(plan.tile.dtype)),
                   sizes.rows);
  OuterAxes::append(params, llvm::ArrayRef(sizes.extents).take_front(plan.tasks.outer_count),
                    llvm::ArrayRef(sizes.lhs_strides).take_front(plan.tasks.outer_count),
                    llvm::ArrayRef(sizes.rhs_strides).take_front(plan.tasks.outer_count));
}

/// None if there is no kernel for these numbers of rows.
std::optional<Launch> launch_planned(ir::FusionOp fusion, mlir::Value root, const Contraction& p,
                                     const char* family, const CpuTarget& target, RowCounts counts) {
  const Dims extra_strides[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, extra_strides, /*fixed_in_rows=*/1,
                          p.row_order);
  ContractionSizes sizes{.extents = epilogue.extents(),
                         .lhs_strides = epilogue.extra_strides(0),
                         .rhs_strides = epilogue.extra_strides(1)};
  const auto operands = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults());
  const auto plan = plan_contraction(p, dtype_of_value(root), epilogue, operands, target, counts, sizes);
  if (!plan) return std::nullopt;

  Launch launch = planned_launch<ContractionEmitter>(fusion, family, *plan, epilogue);
  launch.request.features = plan->tile.features(target);
  launch.request.flushes_subnormals = plan->tile.pairs;
  append_params(launch.params, p, *plan, sizes);
  epilogue.append_params(launch.params);
  launch.table = p.k_offsets;
  const bool nothing = sizes.row_tiles * plan->rows.rows_per_group == 0 || p.columns == 0 || p.groups == 0;
  launch.extent = nothing ? 0 : sizes.tasks();
  launch.grain =
      grain_for(launch.extent, plan->rows.rows() * plan->tile.vectors * Tile::cost_of_register(p.k_extent) *
                                   sizes.block_row_tiles * sizes.block_column_tiles);
  launch.scratch_bytes = sizes.scratch_bytes;
  return launch;
}

}  // namespace

Launch launch_contraction(ir::FusionOp fusion, mlir::Value root, const Contraction& p, const char* family,
                          const CpuTarget& target) {
  Launch special = *launch_planned(fusion, root, p, family, target, RowCounts::given);
  if (auto generic = launch_planned(fusion, root, p, family, target, RowCounts::any))
    special.generic = std::make_shared<Launch>(*std::move(generic));
  return special;
}

}  // namespace kiln::codegen
