// Contractions that read B in place, since packing it would take as long as multiplying by it. They have few
// rows, so that one tile uses each element, or a B that stays in L2. A task is a part of the columns for a
// block of rows. If rows of B are contiguous, a register of columns is loaded for each k, or whole rows are
// read side by side (RowStreams). If columns of B are contiguous (a matrix times a vector), squares are
// transposed (ColumnSquares). RowStreams and ColumnSquares have one row tile.
#include "codegen/cpu/contraction/unpacked_product.h"

#include "codegen/cpu/contraction/column_squares.h"
#include "codegen/cpu/contraction/even_rows.h"
#include "codegen/cpu/contraction/pack.h"
#include "codegen/cpu/contraction/row_streams.h"
#include "codegen/emit/contraction.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/outer_axes.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"
#include "codegen/target/choices.h"
#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;
using Value = mlir::Value;

constexpr ParamNames unpacked_names{"k_extent",     "columns",         "lhs_offset",        "row_tiles",
                                    "larger_tiles", "block_row_tiles", "row_blocks",        "lhs_k_stride",
                                    "rhs_k_stride", "rhs_prefetch",    "rhs_column_stride", "tiles"};
/// The parameters of A's rows, of B's columns (EvenRows) and of the batch's axes follow.
using UnpackedParams = KernelParams<unpacked_names>;

/// The last tile of columns: as wide as the others, narrower, or narrower and the only one.
enum class LastTile { whole, part, only };
std::string_view word_of(LastTile last) {
  return last == LastTile::whole ? "whole" : last == LastTile::part ? "part" : "only";
}

/// Everything that the code depends on, with its epilogue: equal plans, equal code.
struct UnpackedPlan {
  Tile tile;      // as high and as wide as tiles are
  TileRows rows;  // heights
  bool one_row_tile;
  bool by_squares;   // of B
  bool by_streams;   // of B's rows
  bool lhs_along_k;  // its elements at consecutive k are neighbours
  bool one_chunk;
  bool has_rest;  // of k after the last squares
  LastTile last_tile;
  int last_vectors;  // of the last tile; by streams 0
  std::size_t batch_axes;
  FactorOperands operands;
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"tile", &UnpackedPlan::tile}, PlanField{"rows", &UnpackedPlan::rows},
        PlanField{"one_row_tile", &UnpackedPlan::one_row_tile},
        PlanField{"by_squares", &UnpackedPlan::by_squares},
        PlanField{"by_streams", &UnpackedPlan::by_streams},
        PlanField{"lhs_along_k", &UnpackedPlan::lhs_along_k},
        PlanField{"one_chunk", &UnpackedPlan::one_chunk}, PlanField{"has_rest", &UnpackedPlan::has_rest},
        PlanField{"last_tile", &UnpackedPlan::last_tile},
        PlanField{"last_vectors", &UnpackedPlan::last_vectors},
        PlanField{"batch_axes", &UnpackedPlan::batch_axes}, PlanField{"operands", &UnpackedPlan::operands});
  }
};

class UnpackedEmitter {
 public:
  UnpackedEmitter(KernelBuilder& e, const UnpackedPlan& plan, Epilogue& epilogue, const KernelArgs& args)
      : e(e),
        plan_(plan),
        tile_(plan.tile),
        epilogue_(epilogue),
        args_(args),
        params_(e, args.params),
        lhs_rows_(e, args.params, UnpackedParams::size),
        rhs_columns_(e, args.params, UnpackedParams::end<EvenRows::Params>(1)),
        batch_(e, args.params, UnpackedParams::end<EvenRows::Params>(2), plan.batch_axes) {}

  void run() {
    const Value lhs =
        e.element(e.buffer(args_.buffers, plan_.operands.lhs), params_["lhs_offset"], tile_.dtype);
    const Value rhs = e.buffer(args_.buffers, plan_.operands.rhs), width = e.index(plan_.tile.width()),
                tiles = params_["tiles"];
    lhs_k_stride_ = params_["lhs_k_stride"];
    rhs_k_stride_ = params_["rhs_k_stride"];
    column_stride_ = params_["rhs_column_stride"];
    rhs_prefetch_ = params_["rhs_prefetch"];
    if (plan_.batch_axes == 0) choose_product(lhs, rhs, {});
    e.loop(args_.begin, args_.end, e.index(1), [&](Value task) {
      if (!plan_.one_row_tile) {
        first_row_tile_ = e.mul(e.rem(task, params_["row_blocks"]), params_["block_row_tiles"]);
        task = e.div(task, params_["row_blocks"]);
      }
      if (plan_.batch_axes > 0) choose_product(lhs, rhs, e.div(task, tiles));
      first_column_ = e.mul(plan_.batch_axes > 0 ? e.rem(task, tiles) : task, width);
      columns_ = e.sub(params_["columns"], first_column_);
      rhs_ = e.element(product_rhs_, e.mul(first_column_, column_stride_), tile_.dtype);
      if (plan_.by_streams) return stream(e.min(columns_, width));
      const std::function<void()> whole = [&] { each_row_tile(true); }, part = [&] { each_row_tile(false); };
      if (plan_.last_tile == LastTile::whole)
        whole();
      else if (plan_.last_tile == LastTile::only)
        part();
      else
        e.when(e.less(columns_, width), part, whole);
    });
  }

 private:
  /// Addresses of product `number` of the batch.
  void choose_product(Value lhs, Value rhs, Value number) {
    llvm::SmallVector<Value> index;
    if (plan_.batch_axes > 0) index = batch_.index(e, number);
    product_lhs_ = e.element(lhs, batch_.lhs_offset(e, index), tile_.dtype);
    product_rhs_ = e.element(rhs, batch_.rhs_offset(e, index), tile_.dtype);
    epilogue_.prepare(e, args_, batch_.end(), index);
  }

  /// The tiles of a task; its columns from `columns_` on are missing unless it is `whole`.
  void each_row_tile(bool whole) {
    tile_.vectors = whole ? plan_.tile.vectors : plan_.last_vectors;
    masks_.assign(static_cast<std::size_t>(tile_.vectors), Value());
    if (!whole)
      masks_.back() =
          e.mask_below(e.sub(columns_, e.index(std::int64_t{tile_.vectors - 1} * tile_.lanes)), tile_.lanes);
    const auto compute_at = [&](Value first, int rows) {
      tile_.rows = rows;
      compute(first);
    };
    if (plan_.one_row_tile) return compute_at(e.index(0), plan_.rows.most);
    const Value end = e.add(first_row_tile_, params_["block_row_tiles"]);
    e.loop(first_row_tile_, e.min(end, params_["row_tiles"]), e.index(1),
           [&](Value tile) { plan_.rows.emit(e, tile, params_["larger_tiles"], compute_at); });
  }

  void compute(Value first_row) {
    lhs_ = e.byte_offset(product_lhs_, e.mul(first_row, lhs_rows_.distance()));
    const auto over = [&](Value from, Value to) {
      return plan_.by_squares ? by_squares(from, to) : by_rows(from, to);
    };
    const auto sums = tile_.sum_over_chunks(e, params_["k_extent"], plan_.one_chunk, over);
    for (int r = 0; r < tile_.rows; ++r)
      for (int v = 0; v < tile_.vectors; ++v)
        epilogue_.store(e, tile_.value(e, sums[static_cast<std::size_t>(r * tile_.vectors + v)]),
                        e.add(first_row, e.index(r)), e.add(first_column_, e.index(v * tile_.lanes)),
                        tile_.lanes, masks_[static_cast<std::size_t>(v)]);
  }

  /// The task's columns, by RowStreams.
  void stream(Value columns) {
    const RowStreams::Operands operands{elements_of_lhs(product_lhs_), rhs_, rhs_k_stride_};
    RowStreams(e, tile_, operands)
        .emit(params_["k_extent"], plan_.one_chunk, columns,
              [&](llvm::ArrayRef<Value> sums, Value column, Value mask) {
                for (auto [r, sum] : llvm::enumerate(sums))
                  epilogue_.store(e, tile_.value(e, sum), e.index(static_cast<std::int64_t>(r)),
                                  e.add(first_column_, column), tile_.lanes, mask);
              });
  }

  /// The elements of the rows of A from `first` on.
  std::function<Value(int, Value)> elements_of_lhs(Value first) {
    const auto rows = llvm::map_to_vector(llvm::seq(tile_.rows), [&](int r) {
      return e.byte_offset(first, e.mul(e.index(r), lhs_rows_.distance()));
    });
    return [this, rows](int r, Value k) {
      return e.load_scalar(e.element(rows[static_cast<std::size_t>(r)], lhs_offset(k), tile_.dtype),
                           tile_.dtype);
    };
  }

  /// A's offset at k.
  Value lhs_offset(Value k) { return plan_.lhs_along_k ? k : e.mul(k, lhs_k_stride_); }

  llvm::SmallVector<Value> by_rows(Value from, Value to) {
    const Value step = plan_.lhs_along_k ? e.index(1) : lhs_k_stride_;
    const auto rows = lhs_rows_.pointers(e, e.element(lhs_, lhs_offset(from), tile_.dtype), tile_.rows);
    return tile_.emit(e, from, to, rows, [&](Value k, Tile::Carried& at) {
      Tile::Operands operands;
      const Value row = e.element(rhs_, e.mul(k, rhs_k_stride_), tile_.dtype);
      for (int v = 0; v < tile_.vectors; ++v)
        operands.rhs.push_back(e.load(e.element(row, e.index(v * tile_.lanes), tile_.dtype), tile_.dtype,
                                      tile_.lanes, masks_[static_cast<std::size_t>(v)]));
      e.prefetch(e.element(row, rhs_prefetch_, tile_.dtype),
                 tile_.width() * static_cast<std::int64_t>(size_of(tile_.dtype)));
      operands.lhs_address = [this, pointers = at](int r) { return lhs_rows_.address(e, pointers, r); };
      for (Value& pointer : at) pointer = e.element(pointer, step, tile_.dtype);
      return operands;
    });
  }

  llvm::SmallVector<Value> by_squares(Value from, Value to) {
    const ColumnSquares::Columns columns{rhs_, column_stride_, rhs_columns_, columns_, !masks_.back()};
    return ColumnSquares(e, tile_, columns, elements_of_lhs(lhs_)).sums(from, to, plan_.has_rest);
  }

  KernelBuilder& e;
  const UnpackedPlan& plan_;
  Tile tile_;  // the one that is emitted
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const UnpackedParams params_;
  const EvenRows lhs_rows_, rhs_columns_;
  const OuterAxes batch_;
  Value lhs_k_stride_, rhs_k_stride_, column_stride_, rhs_prefetch_;
  // Of the product.
  Value product_lhs_, product_rhs_;
  // Of the task.
  Value rhs_, first_column_, columns_, first_row_tile_;
  llvm::SmallVector<Value> masks_;
  // Of the row tile.
  Value lhs_;
};

struct UnpackedShape {
  std::int64_t rows, columns, k_extent, element_bytes;
  std::int64_t row_bytes, column_bytes;  // between rows, and columns, of B
  bool by_rows;  // the elements of a row of B are contiguous, otherwise the elements of a column
};

/// As few tiles of at most `most` registers of columns as possible, nearly equal.
int even_vectors(std::int64_t columns, int lanes, std::int64_t most) {
  const std::int64_t all = std::max<std::int64_t>(divideCeilSigned(columns, lanes), 1);
  return TileSplit(all, static_cast<int>(most)).rows.most;
}

/// Squares side by side: as many columns as stay in L1 while k advances through their lines, and enough for
/// their chains to hide the latency of FMAs.
std::int64_t max_squares(const UnpackedShape& p, int lanes, const Machine& machine) {
  const std::int64_t stay = Tile::rows_without_conflicts(p.column_bytes, static_cast<int>(machine.l1.ways),
                                                         tuning::max_square_columns);
  return divideCeilSigned(std::max(stay, tuning::min_square_columns), lanes);
}

/// Registers of columns in a tile of all rows; 0 if the rows leave too few for them.
int vectors_for_all_rows(const UnpackedShape& p, int lanes, const CpuTarget& target) {
  // Registers besides the accumulators: one of A. For B, per register of columns, one if several rows use it,
  // or half a square; or, in all, a square and two for its transposition.
  const std::int64_t rows = std::max<std::int64_t>(p.rows, 1), half = lanes / 2;
  const bool interleaves = !p.by_rows && rows <= tuning::max_rows_of_interleaved_squares;
  const std::int64_t others = 1 + (p.by_rows || interleaves ? 0 : lanes + 2),
                     of_column = rows + (interleaves             ? half
                                         : p.by_rows && rows > 1 ? 1
                                                                 : 0),
                     all = std::max<std::int64_t>(divideCeilSigned(p.columns, lanes), 1),
                     all_registers = target.registers(),
                     most = (p.by_rows ? std::min(all_registers - others, all_registers * 3 / 4)
                                       : all_registers - others) /
                            of_column,
                     least = p.by_rows ? tuning::min_unpacked_vectors : tuning::min_squares;
  if (most < std::min(all, least)) return 0;
  const std::int64_t useful =
      p.by_rows ? std::max<std::int64_t>(tuning::max_unpacked_bytes / (lanes * p.element_bytes), least)
                : max_squares(p, lanes, *target.machine);
  return even_vectors(p.columns, lanes, std::min(most, useful));
}

/// Registers of columns in a block of RowStreams; 0: none. They pay if rows of B are a multiple of a page
/// apart, or if B comes from memory. `products` divide the work, too.
int vectors_of_streams(const UnpackedShape& p, int lanes, std::int64_t products, const Machine& machine) {
  const std::int64_t bytes = p.columns * p.element_bytes;  // of a row
  if (!p.by_rows || p.rows == 0 || p.rows > tuning::max_rows_of_streams ||
      bytes < tuning::min_streamed_bytes || (p.element_bytes < 4 && p.columns % lanes != 0))
    return 0;
  const auto ways = static_cast<int>(machine.l1.ways);
  const bool conflicts = Tile::rows_without_conflicts(p.row_bytes, ways, 2 * ways) < 2 * ways;
  if (!conflicts && !choices::comes_from_memory(machine, p.k_extent * bytes)) return 0;
  const std::int64_t blocks =
      divideCeilSigned(tuning::min_streamed_blocks, std::max<std::int64_t>(products, 1));
  const std::int64_t block =
      std::clamp(divideCeilSigned(bytes, blocks), tuning::min_streamed_bytes,
                 std::min(tuning::max_streamed_bytes, tuning::max_streamed_sum_bytes / p.rows));
  return static_cast<int>(divideCeilSigned(block, lanes * p.element_bytes));
}

/// Whether tiles of some of the rows read B where it lies, again and again.
bool reads_in_place(const UnpackedShape& p, int lanes, const Machine& machine) {
  // Aligned registers of packed B pay if many rows use each, and a tile has no more than two of them.
  if (p.rows > tuning::max_rows_of_two_in_place && p.columns <= 2 * lanes) return false;
  // Masks of narrower elements would be branches.
  return p.by_rows && (p.element_bytes >= 4 || p.columns % lanes == 0) &&
         p.k_extent * p.columns * p.element_bytes <= choices::in_place_rhs_bytes(machine);
}

/// Tiles: registers of columns, and the most rows.
struct UnpackedTileSize {
  int vectors;
  std::int64_t max_rows;
  bool by_streams = false;
};
/// None where B is packed. `products` divide the work; the rows of A are `lhs_row_bytes` apart.
std::optional<UnpackedTileSize> unpacked_tile_size_of(const UnpackedShape& shape, int lanes,
                                                      std::int64_t products, std::int64_t lhs_row_bytes,
                                                      const CpuTarget& target) {
  const std::int64_t all_rows = std::clamp<std::int64_t>(shape.rows, 1, tuning::max_tile_rows);
  if (const int vectors = vectors_of_streams(shape, lanes, products, *target.machine); vectors > 0)
    return UnpackedTileSize{vectors, all_rows, /*by_streams=*/true};
  if (const int vectors = vectors_for_all_rows(shape, lanes, target); vectors > 0)
    return UnpackedTileSize{vectors, all_rows};
  if (!reads_in_place(shape, lanes, *target.machine)) return std::nullopt;
  const int vectors =
      even_vectors(shape.columns, lanes, target.registers() / tuning::registers_for_vector_in_place);
  return UnpackedTileSize{
      vectors, std::min(Tile::max_rows(target, vectors),
                        Tile::rows_without_conflicts(lhs_row_bytes, tuning::usual_conflicting_rows))};
}

/// `tiles`: of the columns.
UnpackedPlan unpacked_plan_of(const Contraction& p, const UnpackedShape& shape, const Tile& tile,
                              const TileSplit& split, std::int64_t tiles, bool by_streams,
                              std::size_t batch_axes) {
  const bool is_even = p.columns % tile.width() == 0;
  return {.tile = tile,
          .rows = split.rows,
          .one_row_tile = split.tiles <= 1,
          .by_squares = !shape.by_rows,
          .by_streams = by_streams,
          .lhs_along_k = p.k_stride == 1,
          .one_chunk = p.k_extent <= Tile::chunk,
          .has_rest = !shape.by_rows && p.k_extent % ColumnSquares::step(tile.lanes) != 0,
          .last_tile = is_even || by_streams ? LastTile::whole
                       : tiles > 1           ? LastTile::part
                                             : LastTile::only,
          .last_vectors = by_streams ? 0
                                     : static_cast<int>(divideCeilSigned(
                                           p.columns - (tiles - 1) * tile.width(), tile.lanes)),
          .batch_axes = batch_axes,
          .operands = FactorOperands::of(p.lhs, p.rhs)};
}

}  // namespace

std::optional<Launch> launch_unpacked_product(ir::FusionOp fusion, mlir::Value root, const Contraction& p,
                                              const CpuTarget& target) {
  if (!p.unpacked || p.rhs_dtype != dtype_of_value(root) || target.lanes(4) == 1) return std::nullopt;
  const auto neighbours = Packer::neighbours_of(p.unpacked->row_stride, p.unpacked->column_stride);
  if (neighbours == Packer::Neighbours::none) return std::nullopt;
  const Dims extra_strides[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, extra_strides, /*fixed_in_rows=*/1);
  const llvm::ArrayRef<std::int64_t> batch = llvm::ArrayRef(epilogue.extents()).drop_back();
  const std::int64_t rows = epilogue.extents().back(), products = mlir::ShapedType::getNumElements(batch);
  const DType dtype = dtype_of_value(root);
  const int lanes = Tile::lanes_of(target, dtype, p.panel);
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype));
  const UnpackedShape shape{.rows = rows,
                            .columns = p.columns,
                            .k_extent = p.k_extent,
                            .element_bytes = element_bytes,
                            .row_bytes = p.unpacked->row_stride * element_bytes,
                            .column_bytes = p.unpacked->column_stride * element_bytes,
                            .by_rows = neighbours == Packer::Neighbours::columns};
  const std::int64_t lhs_row_bytes = epilogue.extra_strides(0).back() * element_bytes;
  const auto size = unpacked_tile_size_of(shape, lanes, products, lhs_row_bytes, target);
  if (!size) return std::nullopt;
  const TileSplit split(rows, static_cast<int>(size->max_rows));
  const Tile tile{dtype, split.rows.most, size->vectors, lanes};
  const std::int64_t tiles = divideCeilSigned(p.columns, tile.width());
  const UnpackedPlan plan = unpacked_plan_of(p, shape, tile, split, tiles, size->by_streams, batch.size());
  // Row blocks become smaller until there are enough tasks.
  std::int64_t block_row_tiles = std::max<std::int64_t>(split.tiles, 1);
  const auto row_blocks = [&] { return divideCeilSigned(split.tiles, block_row_tiles); };
  while (block_row_tiles > 1 && products * tiles * row_blocks() < tuning::min_tasks)
    block_row_tiles = divideCeilSigned(block_row_tiles, 2);
  const std::int64_t prefetch_k = divideCeilSigned(
      choices::stream_prefetch_bytes(*target.machine, p.k_extent * p.columns * element_bytes),
      tile.width() * element_bytes);
  Launch launch = planned_launch<UnpackedEmitter>(fusion, "unpacked", plan, epilogue);
  UnpackedParams::append(launch.params, {{"k_extent", p.k_extent},
                                         {"columns", p.columns},
                                         {"lhs_offset", p.lhs.offset},
                                         {"row_tiles", split.tiles},
                                         {"larger_tiles", split.larger},
                                         {"block_row_tiles", block_row_tiles},
                                         {"row_blocks", row_blocks()},
                                         {"lhs_k_stride", p.k_stride},
                                         {"rhs_k_stride", p.unpacked->row_stride},
                                         {"rhs_column_stride", p.unpacked->column_stride},
                                         {"rhs_prefetch", prefetch_k * p.unpacked->row_stride},
                                         {"tiles", tiles}});
  EvenRows::append(launch.params, lhs_row_bytes, rows);
  EvenRows::append(launch.params, shape.column_bytes, p.columns);
  OuterAxes::append(launch.params, epilogue);
  epilogue.append_params(launch.params);
  launch.extent = products * tiles * row_blocks();
  launch.grain = grain_for(launch.extent,
                           tile.rows * tile.vectors * block_row_tiles * Tile::cost_of_register(p.k_extent));
  launch.request.in_order = plan.by_squares;  // LLVM would move all loads of a square, and spill it
  return launch;
}

}  // namespace kiln::codegen
