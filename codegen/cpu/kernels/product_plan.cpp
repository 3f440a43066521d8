// How products are cut: what fits in registers, and what stays in which cache.
#include "codegen/cpu/kernels/product_plan.h"

#include <llvm/Support/MathExtras.h>

#include <numeric>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;

/// Left factors that the rows of a block read should take no more than this, a part of a core's second cache.
constexpr std::int64_t block_bytes = 384 * 1024;
/// The same, with the results, where right factors take no more than `small_bytes`.
constexpr std::int64_t small_block_bytes = 48 * 1024, small_bytes = 128 * 1024;
/// Right factors are asked for in advance when they are far, or where few items pass by so many that the
/// first one's wait counts.
constexpr std::int64_t few_items = 40, first_wait_bytes = 64 * 1024;
/// Left factors of more than private_cache_bytes are asked for in advance where a row has few column tiles to
/// hide the wait, operands of the end where sums are short.
constexpr std::int64_t few_tiles = 3, short_sums = 128;
/// Sums of a block's rows between chunks.
constexpr std::int64_t totals_bytes = 192 * 1024;
/// Left factors of a chunk that are copied for a block.
constexpr std::int64_t copy_bytes = 320 * 1024;
/// Column tiles that share the copies.
constexpr std::int64_t tiles_of_copy = 8;
/// Pieces of work that are worth a smaller block.
constexpr std::int64_t least_units = 8;
/// More rows than that make the code longer and not faster.
constexpr int most_rows = 14;

/// Where the kernel packs: rows that share the right factors of a strip's chunk at most, and at least where
/// there could be more pieces.
constexpr std::int64_t most_rows_of_strip = 2048, least_rows_of_strip = 192, least_packing_units = 4;

/// Left factors of neighbouring rows that lie a multiple of a page apart compete for the same few lines of
/// the first cache, which holds eight in each place. How many rows it bears: with room to spare, and tight.
constexpr int roomy = 6, tight = 7;
int rows_in_cache(std::int64_t row_bytes, int in_place) {
  const std::int64_t page = 4096,
                     places = page / std::gcd(page, std::max<std::int64_t>(std::abs(row_bytes), 1));
  return static_cast<int>(std::min<std::int64_t>(in_place * places, most_rows));
}

/// The largest tile: as many sums as registers hold. `m` rows lie a step apart, and `spans` of those another;
/// `whole`: a tile has all rows of a span.
struct LargestTile {
  int spans, span_rows, panels;
};
LargestTile largest_tile(std::int64_t m, std::int64_t spans, std::int64_t row_bytes, std::int64_t panels,
                         int vectors, bool whole, const Target& target) {
  const auto most = [&](int joined, int in_place = roomy) {
    return std::min(Tile::most_rows(target, joined * vectors), rows_in_cache(row_bytes, in_place));
  };
  const auto sums = [&](int joined) {
    return std::min<std::int64_t>(most(joined), m * spans) * joined * vectors;
  };
  // Two panels where one has too few sums to be worth the loads; where rows are so few that sums wait for
  // each other, as many as they take.
  int joined = panels % 2 == 0 && 2 * vectors < target.registers() / 4 && sums(2) > sums(1) ? 2 : 1;
  for (int more = joined + 1; more <= Tile::least_sums && sums(joined) < Tile::least_sums; ++more)
    if (panels % more == 0 && most(more) >= m * spans) joined = more;
  // A few short spans make one tile, even a tight one: half of one would read right factors twice as often.
  if (const int rows = most(joined, tight); whole || (spans > 1 && m > 0 && 2 * m <= rows))
    return {static_cast<int>(std::clamp<std::int64_t>(rows / m, 1, std::max<std::int64_t>(spans, 1))),
            static_cast<int>(m), joined};
  return {most(joined), 1, joined};
}

/// Whether tiles run on: left factors walk the last two axes as one, and within one the smallest tile's sums
/// would wait for each other. (Else that is not worth what the end has to find out for each row.)
bool runs_on(const ProductWork& w, const LargestTile& largest, int vectors) {
  const std::size_t axes = w.extents.size();
  if (axes < 2 || largest.span_rows > 1 || w.rhs_steps[axes - 2] != 0 ||
      w.lhs_steps[axes - 2] != w.extents.back() * w.lhs_steps.back())
    return false;
  const TileRows rows = TileSplit(w.extents.back(), largest.spans).rows;
  return (rows.most - !rows.even) * largest.panels * vectors < Tile::least_sums;
}

/// Rows pass by a strip of right factors, tile by tile. It takes half of the second cache: rows and results
/// pass through there, too.
void cut_packing(const Product& p, const ProductPlan& plan, const Target& target, ProductWork& w) {
  const std::int64_t strip_bytes = target.l2_bytes / 2;
  const auto element_bytes = static_cast<std::int64_t>(size_of(plan.tile.dtype));
  const std::int64_t tile_bytes = std::min(p.k_extent, Tile::chunk) * plan.tile.width() * element_bytes;
  const std::int64_t tiles = std::max<std::int64_t>(w.column_tiles, 1);
  w.strips = divideCeilSigned(tiles, std::max<std::int64_t>(strip_bytes / tile_bytes, 1));
  w.columns = divideCeilSigned(tiles, w.strips);
  w.strips = divideCeilSigned(tiles, w.columns);
  const auto items_of = [&](std::int64_t rows) {
    return std::max<std::int64_t>(divideCeilSigned(rows, plan.size.rows()), 1);
  };
  w.block = std::clamp<std::int64_t>(w.items, 1, items_of(most_rows_of_strip));
  while (w.block > items_of(2 * least_rows_of_strip) &&
         divideCeilSigned(w.items, w.block) * w.strips < least_packing_units)
    w.block = divideCeilSigned(w.block, 2);
  w.scratch_bytes = w.columns * tile_bytes;
}

void cut_packed(const Product& p, const ProductPlan& plan, ProductWork& w) {
  const auto element_bytes = static_cast<std::int64_t>(size_of(plan.tile.dtype));
  const std::int64_t items = std::max<std::int64_t>(w.items, 1),
                     tiles = std::max<std::int64_t>(w.column_tiles, 1);
  w.block = items;
  w.strips = tiles;
  if (plan.copied) {
    // Copies are shared by several column tiles, in an even number of strips for the sake of threads.
    w.strips = divideCeilSigned(tiles, tiles_of_copy);
    if (w.strips > 1) w.strips += w.strips % 2;
    w.columns = divideCeilSigned(tiles, w.strips);
    w.strips = divideCeilSigned(tiles, w.columns);
  } else {
    // Right factors that stay in the second cache themselves are read again and again: then a block's results
    // count too, which are written in pieces of a line, and its rows stay in the first cache.
    const std::int64_t columns_bytes = p.groups * p.panels * p.panel * element_bytes;
    const bool small = p.k_extent * columns_bytes <= small_bytes;
    const std::int64_t item_bytes =
        std::max<std::int64_t>(1, p.lhs_elements * element_bytes / items +
                                      (small ? plan.size.rows() / plan.pooled_rows() * columns_bytes : 0));
    w.block = std::clamp<std::int64_t>((small ? small_block_bytes : block_bytes) / item_bytes, 1, items);
    const bool far = plan.size.panels == 1 && p.k_extent * columns_bytes > Tile::far_bytes;
    if (!far) {  // else each block would read right factors from afar
      // Two at least: from kernel to kernel a thread then finds the rows that it wrote in its own caches. And
      // enough pieces for a few threads.
      w.block = std::min(w.block, divideCeilSigned(items, 2));
      while (w.block > 1 && divideCeilSigned(w.items, w.block) * w.column_tiles < least_units)
        w.block = divideCeilSigned(w.block, 2);
    }
  }
  if (plan.one_chunk) return;
  const std::int64_t total_bytes =
      w.columns * plan.item_elements() * std::max<std::int64_t>(4, element_bytes);
  w.block = std::min(w.block, std::max<std::int64_t>(totals_bytes / total_bytes, 1));
  w.scratch_bytes = w.block * plan.copied_elements() * element_bytes;
}

}  // namespace

std::string ProductPlan::key() const {
  return fmt::format(
      "{} rows={}x{} vectors={}x{} lanes={}{} lhs={} rhs={}{} steps={},{}{} k={}{} outer={}{}{}{}{}{}",
      name_of(tile.dtype), size.spans.key(), size.span_rows, size.panels, units, tile.lanes,
      !is_ragged() ? ""
      : one_tile   ? fmt::format("={}", last_columns)
                   : fmt::format("+{}", last_columns),
      lhs_operand, rhs_operand, packer ? fmt::format(" packs-{}", packer->key()) : "", span_step, row_step,
      points.empty() ? "" : fmt::format(" points={}", fmt::join(points, ",")),
      table          ? "table"
      : k_class == 1 ? "1"
                     : "any",
      one_chunk ? ""
      : copied  ? "+copied"
                : "+",
      outer_count, runs_on ? " runs-on" : "", by_strip ? " by-strip" : "", prefetch_rhs ? " shares" : "",
      prefetch_lhs ? " streams" : "", prefetch_epilogue ? " end" : "");
}

std::int64_t ProductWork::units() const { return divideCeilSigned(items, block) * strips; }

ProductPlan plan_product(const Product& p, DType dtype, bool end_reads_rows, int operands,
                         const Target& target, ProductWork& w) {
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t rhs_bytes = p.groups * p.panels * p.k_extent * p.panel * element_bytes;
  const int lanes = Tile::lanes_of(target, dtype, p.panel);
  const bool pools = !p.points.empty();
  const auto units = static_cast<int>(p.panel / lanes);
  // Rows of two axes may share a tile if their right factors are the same.
  const std::size_t axes = w.extents.size();
  const std::int64_t rows = pools ? static_cast<std::int64_t>(p.points.size()) : w.extents.back(),
                     spans = pools                                    ? w.extents.back()
                             : axes > 1 && w.rhs_steps[axes - 2] == 0 ? w.extents[axes - 2]
                                                                      : 1;
  // Rows that lie a multiple of a page apart, more to a tile than the first cache bears, are copied chunk by
  // chunk, if then one block has all of them: right factors are read once.
  const bool one_chunk = p.k_extent <= Tile::chunk;
  const std::int64_t row_step = w.lhs_steps.back(),
                     all_rows = mlir::ShapedType::getNumElements(w.extents) * (pools ? rows : 1);
  const bool copied =
      !one_chunk && !p.unpacked && p.k_offsets.empty() && p.k_stride == 1 && p.groups == 1 &&
      p.lhs_elements * element_bytes > block_bytes &&
      all_rows * ProductPlan::copied_row * element_bytes <= copy_bytes &&
      rows_in_cache(row_step * element_bytes, roomy) < std::min(Tile::most_rows(target, units), most_rows);
  const LargestTile largest =
      largest_tile(rows, spans, (copied ? ProductPlan::copied_row : row_step) * element_bytes, p.panels,
                   units, pools, target);
  const bool on = !pools && runs_on(w, largest, units);
  if (on) {
    w.end_rows = w.extents.back();
    w.extents[axes - 2] *= w.end_rows;
    w.lhs_steps[axes - 2] = row_step;
  }
  if (on || (largest.span_rows > 1 && !pools))
    for (Dims* list : {&w.extents, &w.lhs_steps, &w.rhs_steps}) list->pop_back();
  const TileSplit cut(w.extents.back(), largest.spans);
  const TileSize size{cut.rows, largest.span_rows, largest.panels};
  w.row_tiles = cut.tiles;
  w.larger_tiles = cut.larger;
  w.items = mlir::ShapedType::getNumElements(llvm::ArrayRef(w.extents).drop_back()) * w.row_tiles;
  w.column_tiles = p.groups * p.panels / size.panels;

  const Tile tile{dtype, size.rows(), units * size.panels, lanes};
  const bool row_follows_row =
      p.k_offsets.empty() && p.k_stride == 1 && row_step == p.k_extent && size.span_rows == 1;
  ProductPlan plan{
      .tile = tile,
      .size = size,
      .last_columns = static_cast<int>(p.columns - (p.panels / size.panels - 1) * tile.width()),
      .one_tile = p.panels == size.panels,
      .units = units,
      .panel = p.panel,
      .row_step = row_step,
      .span_step = w.lhs_steps.back(),
      .points = p.points,
      .k_class = stride_class(p.k_stride),
      .table = !p.k_offsets.empty(),
      .one_chunk = one_chunk,
      .copied = copied,
      .by_strip =
          p.unpacked || (rhs_bytes > private_cache_bytes && rhs_bytes > p.lhs_elements * element_bytes),
      .prefetch_rhs = size.panels == 1 && !p.unpacked &&
                      rhs_bytes > (w.items <= few_items ? first_wait_bytes : Tile::far_bytes),
      .prefetch_lhs = row_follows_row && w.column_tiles <= few_tiles &&
                      p.lhs_elements * element_bytes > private_cache_bytes,
      .prefetch_epilogue = end_reads_rows && p.k_extent <= short_sums && size.span_rows == 1 && !on &&
                           all_rows * p.columns * element_bytes > private_cache_bytes,
      .runs_on = on,
      .outer_count = w.extents.size() - 1,
      .lhs_operand = static_cast<int>(llvm::cast<mlir::BlockArgument>(p.lhs.base).getArgNumber()),
      .rhs_operand = static_cast<int>(p.rhs),
      .table_operand = operands,
      .scratch_operand = operands + !p.k_offsets.empty(),
      .packer = {}};
  if (p.unpacked)
    plan.packer =
        Packer{dtype, lanes, Packer::neighbours_of(p.unpacked->row_stride, p.unpacked->column_stride)};
  plan.packer ? cut_packing(p, plan, target, w) : cut_packed(p, plan, w);
  if (!one_chunk)
    w.scratch_bytes += w.block * w.columns * plan.item_elements() * std::max<std::int64_t>(4, element_bytes);
  return plan;
}

}  // namespace kiln::codegen
