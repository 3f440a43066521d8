// Convolution as a product: rows are output positions of one image and group, columns are output channels,
// and the contracted index walks the window through a table of offsets. Sums are turned in a small scratch
// tile, so that the end of the kernel runs along neighbouring output positions, as (n, c, spatial...) lies in
// memory.
#include "codegen/epilogue.h"
#include "codegen/launch.h"
#include "codegen/tile.h"
#include "codegen/window_order.h"
#include "runtime/fail.h"

namespace kiln::codegen {

Launch launch_convolution(ir::FusionOp fusion, ir::PackedConvolutionOp root, const Target& target) {
  auto result = ir::ranked(root.getResult()).getShape(), packed = ir::ranked(root.getW()).getShape();
  std::size_t rank = result.size(), spatial = rank - 2;
  llvm::SmallVector<std::size_t> rows;
  for (std::size_t i = 2; i < rank; ++i) rows.push_back(i);
  Epilogue epilogue(fusion, root.getResult(), {0}, rows, 1);

  DType dtype = dtype_of_value(root.getResult());
  std::int64_t panel = packed[3], k_extent = packed[2], panels = packed[1], groups = packed[0];
  std::int64_t channels_out = result[1] / groups;
  int lanes = target.lanes(size_of(dtype));
  if (panel % lanes != 0) lanes = 1;
  auto vectors = static_cast<int>(panel / lanes);
  int most = target.vector_bytes == 64 ? 4 : 2;
  while (vectors > most && vectors % 2 == 0) vectors /= 2;
  if (vectors > most) vectors = 1;
  // A power of two, since rows become lanes at the end.
  int tile_rows = vectors == 1   ? (target.vector_bytes == 64 ? 16 : 8)
                  : vectors == 2 ? (target.vector_bytes == 64 ? 8 : 4)
                                 : 4;
  if (target.vector_bytes == 0) tile_rows = 4;
  Tile tile{dtype, tile_rows, vectors, lanes};
  std::int64_t parts = panel / tile.width();
  std::int64_t m = 1;
  for (std::size_t axis : rows) m *= result[axis];
  std::int64_t row_tiles = (m + tile.rows - 1) / tile.rows;

  ir::View x = ir::view_of(root.getX()), w = ir::view_of(root.getW());
  auto x_argument = llvm::cast<mlir::BlockArgument>(x.base).getArgNumber();
  auto w_argument = llvm::cast<mlir::BlockArgument>(w.base).getArgNumber();
  if (!w.is_contiguous()) fail_internal("a packed operand is looked at through a window");
  std::int64_t channels_in = x.shape[1] / groups;
  int table_operand = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults());

  Launch launch{
      {name_of_location(fusion.getLoc()),
       fmt::format("convolution {} spatial={} rows={} vectors={} lanes={} parts={} x={} w={}", name_of(dtype),
                   spatial, tile.rows, vectors, lanes, parts > 1 ? 2 : 1, x_argument, w_argument) +
           epilogue.key(),
       fusion.getLoc(),
       {}},
      {}};
  enum Param : std::int64_t {
    K,
    M,
    O,
    row_tile_count,
    column_tile_count,
    group_count,
    panel_width,
    parts_of_panel,
    x_offset,
    x_image,
    x_group,
    w_group,
    first_spatial
  };
  launch.params = {k_extent,
                   m,
                   channels_out,
                   row_tiles,
                   panels * parts,
                   groups,
                   panel,
                   parts,
                   x.offset,
                   x.strides[0],
                   channels_in * x.strides[1],
                   panels * k_extent * panel};
  for (std::size_t i = 0; i < spatial; ++i) {
    launch.params.push_back(result[i + 2]);
    launch.params.push_back(root.getStride()[i] * x.strides[i + 2]);
  }
  auto epilogue_param = static_cast<std::int64_t>(launch.params.size());
  epilogue.append_params(launch.params);
  // Offsets of the contracted index within the input of one group.
  Dims tap_strides;
  for (std::size_t i = 0; i < spatial; ++i) tap_strides.push_back(root.getDilate()[i] * x.strides[i + 2]);
  launch.table = window_offsets(channels_in, root.getKernel(), x.strides[1], tap_strides);
  launch.extent =
      m == 0 || result[0] == 0 || result[1] == 0 ? 0 : result[0] * groups * panels * parts * row_tiles;
  launch.grain = grain_for(std::max<std::int64_t>(1, k_extent * tile.rows * vectors / 4), 1);

  launch.request.emit = [=](Emit& e, mlir::Value buffers, mlir::Value params, mlir::Value begin,
                            mlir::Value end) {
    Epilogue finish = epilogue;
    mlir::Value k_value = e.param(params, K), positions = e.param(params, M), channels = e.param(params, O);
    mlir::Value tiles_m = e.param(params, row_tile_count), tiles_n = e.param(params, column_tile_count);
    mlir::Value panel_value = e.param(params, panel_width), parts_value = e.param(params, parts_of_panel);
    mlir::Value input = e.element(e.buffer(buffers, x_argument), e.param(params, x_offset), dtype);
    mlir::Value weights = e.buffer(buffers, w_argument), offsets = e.buffer(buffers, table_operand);
    mlir::Value scratch = mlir::LLVM::AllocaOp::create(e.b, e.loc, e.ptr(), e.memory_type(dtype),
                                                       e.index(tile.rows * tile.width()), 64);

    e.loop(begin, end, e.index(1), [&](mlir::Value unit) {
      mlir::Value row_tile = e.rem(unit, tiles_m), rest = e.div(unit, tiles_m);
      mlir::Value column_tile = e.rem(rest, tiles_n);
      rest = e.div(rest, tiles_n);
      mlir::Value group = e.rem(rest, e.param(params, group_count)),
                  image = e.div(rest, e.param(params, group_count));
      finish.prepare(e, buffers, params, epilogue_param, {image});

      mlir::Value which = parts > 1 ? e.div(column_tile, parts_value) : column_tile;
      mlir::Value part = parts > 1 ? e.rem(column_tile, parts_value) : e.index(0);
      mlir::Value first_column = e.add(e.mul(which, panel_value), e.mul(part, e.index(tile.width())));
      mlir::Value panel_base = e.element(weights, e.mul(group, e.param(params, w_group)), dtype);
      panel_base = e.element(panel_base, e.mul(which, e.mul(k_value, panel_value)), dtype);
      panel_base = e.element(panel_base, e.mul(part, e.index(tile.width())), dtype);

      mlir::Value base = e.element(input, e.mul(image, e.param(params, x_image)), dtype);
      base = e.element(base, e.mul(group, e.param(params, x_group)), dtype);
      mlir::Value first_row = e.mul(row_tile, e.index(tile.rows));
      llvm::SmallVector<mlir::Value> row_base;
      for (int r = 0; r < tile.rows; ++r) {
        // Positions behind the last one repeat it; they are not stored.
        mlir::Value position = e.min(e.add(first_row, e.index(r)), e.sub(positions, e.index(1)));
        mlir::Value offset = e.index(0);
        for (std::size_t i = spatial; i-- > 0;) {
          auto at = first_spatial + 2 * static_cast<std::int64_t>(i);
          mlir::Value extent = e.param(params, at);
          mlir::Value index = i == 0 ? position : e.rem(position, extent);
          if (i > 0) position = e.div(position, extent);
          offset = e.add(offset, e.mul(index, e.param(params, at + 1)));
        }
        row_base.push_back(e.element(base, offset, dtype));
      }
      mlir::Value tap;
      auto sums = tile.emit(
          e, k_value,
          [&](int r, mlir::Value) {
            return e.load_scalar(e.element(row_base[static_cast<std::size_t>(r)], tap, dtype), dtype);
          },
          [&](mlir::Value k) {
            tap = e.load_scalar(e.element(offsets, k, DType::i64), DType::i64);
            return e.element(panel_base, e.mul(k, panel_value), dtype);
          });

      for (int r = 0; r < tile.rows; ++r)
        for (int v = 0; v < vectors; ++v)
          e.store(sums[static_cast<std::size_t>(r * vectors + v)],
                  e.element(scratch, e.index(r * tile.width() + v * lanes), dtype), dtype, lanes);
      int row_lanes = target.vector_bytes == 0 ? 1 : tile.rows;
      mlir::Value columns = e.min(e.index(tile.width()), e.sub(channels, first_column));
      e.loop(e.index(0), columns, e.index(1), [&](mlir::Value j) {
        mlir::Value channel = e.add(e.mul(group, channels), e.add(first_column, j));
        mlir::Value turned = e.element(scratch, j, dtype);
        if (row_lanes > 1) {
          mlir::Value mask = e.mask_below(e.sub(positions, first_row), row_lanes);
          mlir::Value sum =
              e.gather(turned, e.lane_offsets(e.index(tile.width()), row_lanes), dtype, row_lanes);
          finish.store(e, sum, first_row, channel, /*along_columns=*/false, row_lanes, mask);
          return;
        }
        for (int r = 0; r < tile.rows; ++r) {
          mlir::Value row = e.add(first_row, e.index(r));
          e.when(e.less(row, positions), [&] {
            mlir::Value sum = e.load_scalar(e.element(turned, e.index(r * tile.width()), dtype), dtype);
            finish.store(e, sum, row, channel, /*along_columns=*/false, 1, {});
          });
        }
      });
    });
  };
  return launch;
}

}  // namespace kiln::codegen
