// Matrix products: packed_dot with its epilogue. Work is numbered (batch, column tile, row tile), row tiles
// running fastest so that a panel of the right operand stays in the nearest cache.
#include "codegen/epilogue.h"
#include "codegen/launch.h"
#include "codegen/tile.h"
#include "runtime/fail.h"

namespace kiln::codegen {
namespace {

/// Rows of a tile: as many sums as the registers hold beside one row of the right operand and the left
/// operand's scalar.
int rows_of_tile(std::int64_t m, int vectors, const Target& target) {
  int registers = target.vector_bytes == 64 ? 32 : 16;
  int rows = std::max(1, (registers - vectors - 2) / vectors);
  for (int fewer : {1, 2, 4})
    if (m <= fewer) rows = std::min(rows, fewer);
  return std::min(rows, 8);
}

/// Vectors of a tile: the whole panel when there are registers for it.
int vectors_of_tile(std::int64_t panel, int lanes, const Target& target) {
  auto vectors = static_cast<int>(panel / lanes);
  int most = target.vector_bytes == 64 ? 4 : target.vector_bytes == 32 ? 2 : 4;
  while (vectors > most && vectors % 2 == 0) vectors /= 2;
  return vectors > most ? 1 : vectors;
}

}  // namespace

Launch launch_dot(ir::FusionOp fusion, ir::PackedDotOp root, const Target& target) {
  auto result = ir::ranked(root.getResult()).getShape(), packed = ir::ranked(root.getRhs()).getShape();
  std::size_t rank = result.size(), m_axis = rank - 2, n_axis = rank - 1;
  llvm::SmallVector<std::size_t> outer;
  for (std::size_t i = 0; i + 2 < rank; ++i) outer.push_back(i);
  Epilogue epilogue(fusion, root.getResult(), outer, {m_axis}, n_axis);

  DType dtype = dtype_of_value(root.getResult());
  std::int64_t panel = packed[packed.size() - 1], k_extent = packed[packed.size() - 2],
               panels = packed[packed.size() - 3];
  std::int64_t m = result[m_axis], n = result[n_axis];
  int lanes = target.lanes(size_of(dtype));
  if (panel % lanes != 0) lanes = 1;
  int vectors = vectors_of_tile(panel, lanes, target);
  Tile tile{dtype, rows_of_tile(m, vectors, target), vectors, lanes};
  std::int64_t parts = panel / tile.width(), row_tiles = (m + tile.rows - 1) / tile.rows;

  ir::View lhs = ir::view_of(root.getLhs()), rhs = ir::view_of(root.getRhs());
  auto lhs_argument = llvm::cast<mlir::BlockArgument>(lhs.base).getArgNumber();
  auto rhs_argument = llvm::cast<mlir::BlockArgument>(rhs.base).getArgNumber();
  if (!rhs.is_contiguous()) fail_internal("a packed operand is looked at through a window");
  bool transposed = root.getTransposeLhs();

  Launch launch{{name_of_location(fusion.getLoc()),
                 fmt::format("dot {} rows={} vectors={} lanes={} parts={} lhs={} rhs={} k-stride={}",
                             name_of(dtype), tile.rows, vectors, lanes, parts > 1 ? 2 : 1, lhs_argument,
                             rhs_argument, stride_class(lhs.strides[transposed ? m_axis : n_axis])) +
                     epilogue.key(),
                 fusion.getLoc(),
                 {}},
                {}};
  enum Param : std::int64_t {
    K,
    M,
    N,
    row_tile_count,
    column_tile_count,
    panel_width,
    parts_of_panel,
    lhs_offset,
    lhs_row,
    lhs_k,
    rhs_batch,
    first_outer
  };
  launch.params = {k_extent,
                   m,
                   n,
                   row_tiles,
                   panels * parts,
                   panel,
                   parts,
                   lhs.offset,
                   lhs.strides[transposed ? n_axis : m_axis],
                   lhs.strides[transposed ? m_axis : n_axis],
                   panels * k_extent * panel};
  for (std::size_t i : outer) {
    launch.params.push_back(result[i]);
    launch.params.push_back(lhs.strides[i]);
  }
  auto epilogue_param = static_cast<std::int64_t>(launch.params.size());
  epilogue.append_params(launch.params);
  std::int64_t batches = 1;
  for (std::size_t i : outer) batches *= result[i];
  launch.extent = m == 0 || n == 0 ? 0 : batches * panels * parts * row_tiles;
  launch.grain = grain_for(std::max<std::int64_t>(1, k_extent * tile.rows * vectors / 4), 1);

  auto outer_count = outer.size();
  launch.request.emit = [=](Emit& e, mlir::Value buffers, mlir::Value params, mlir::Value begin,
                            mlir::Value end) {
    Epilogue finish = epilogue;
    mlir::Value k_value = e.param(params, K), rows_value = e.param(params, M), columns = e.param(params, N);
    mlir::Value tiles_m = e.param(params, row_tile_count), tiles_n = e.param(params, column_tile_count);
    mlir::Value panel_value = e.param(params, panel_width), parts_value = e.param(params, parts_of_panel);
    mlir::Value row_stride = e.param(params, lhs_row), k_stride = e.param(params, lhs_k);
    mlir::Value left = e.element(e.buffer(buffers, lhs_argument), e.param(params, lhs_offset), dtype);
    mlir::Value right = e.buffer(buffers, rhs_argument);

    e.loop(begin, end, e.index(1), [&](mlir::Value unit) {
      mlir::Value row_tile = e.rem(unit, tiles_m), rest = e.div(unit, tiles_m);
      mlir::Value column_tile = e.rem(rest, tiles_n), batch = e.div(rest, tiles_n);
      llvm::SmallVector<mlir::Value> index(outer_count);
      mlir::Value lhs_base = left;
      mlir::Value left_over = batch;
      for (std::size_t i = outer_count; i-- > 0;) {
        auto at = first_outer + 2 * static_cast<std::int64_t>(i);
        mlir::Value extent = e.param(params, at);
        index[i] = e.rem(left_over, extent);
        left_over = e.div(left_over, extent);
        lhs_base = e.element(lhs_base, e.mul(index[i], e.param(params, at + 1)), dtype);
      }
      finish.prepare(e, buffers, params, epilogue_param, index);

      // The panel, and which part of its columns.
      mlir::Value which = parts > 1 ? e.div(column_tile, parts_value) : column_tile;
      mlir::Value part = parts > 1 ? e.rem(column_tile, parts_value) : e.index(0);
      mlir::Value first_column = e.add(e.mul(which, panel_value), e.mul(part, e.index(tile.width())));
      mlir::Value panel_base = e.element(right, e.mul(batch, e.param(params, rhs_batch)), dtype);
      panel_base = e.element(panel_base, e.mul(which, e.mul(k_value, panel_value)), dtype);
      panel_base = e.element(panel_base, e.mul(part, e.index(tile.width())), dtype);

      // Rows below the last one are computed again in its place and not stored.
      mlir::Value first_row = e.mul(row_tile, e.index(tile.rows));
      llvm::SmallVector<mlir::Value> row_base;
      for (int r = 0; r < tile.rows; ++r) {
        mlir::Value row = e.min(e.add(first_row, e.index(r)), e.sub(rows_value, e.index(1)));
        row_base.push_back(e.element(lhs_base, e.mul(row, row_stride), dtype));
      }
      auto sums = tile.emit(
          e, k_value,
          [&](int r, mlir::Value k) {
            mlir::Value at = stride_class(launch.params[lhs_k]) == 1 ? k : e.mul(k, k_stride);
            return e.load_scalar(e.element(row_base[static_cast<std::size_t>(r)], at, dtype), dtype);
          },
          [&](mlir::Value k) { return e.element(panel_base, e.mul(k, panel_value), dtype); });

      for (int r = 0; r < tile.rows; ++r) {
        mlir::Value row = e.add(first_row, e.index(r));
        auto store_row = [&] {
          for (int v = 0; v < vectors; ++v) {
            mlir::Value column = e.add(first_column, e.index(v * lanes)),
                        left_columns = e.sub(columns, column);
            mlir::Value sum = sums[static_cast<std::size_t>(r * vectors + v)];
            e.when(e.less(e.index(0), left_columns), [&] {
              mlir::Value mask = lanes == 1 ? mlir::Value() : e.mask_below(left_columns, lanes);
              finish.store(e, sum, row, column, /*along_columns=*/true, lanes, mask);
            });
          }
        };
        if (r == 0)
          store_row();
        else
          e.when(e.less(row, rows_value), store_row);
      }
    });
  };
  return launch;
}

}  // namespace kiln::codegen
