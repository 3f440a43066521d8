// Packs of right operands: panels of neighbouring columns, so that a tile reads its columns with whole
// vectors.
#include "codegen/body.h"
#include "codegen/launch.h"
#include "codegen/tile.h"
#include "codegen/window_order.h"

namespace kiln::codegen {

std::vector<std::int64_t> window_offsets(std::int64_t channels, llvm::ArrayRef<std::int64_t> kernel,
                                         std::int64_t channel_stride,
                                         llvm::ArrayRef<std::int64_t> tap_strides) {
  constexpr std::int64_t block = 16;
  std::vector<std::int64_t> offsets;
  std::int64_t taps = 1;
  for (std::int64_t k : kernel) taps *= k;
  for (std::int64_t first = 0; first < channels; first += block)
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::int64_t offset = 0, rest = tap;
      for (std::size_t i = kernel.size(); i-- > 0; rest /= kernel[i])
        offset += rest % kernel[i] * tap_strides[i];
      for (std::int64_t c = first; c < std::min(first + block, channels); ++c)
        offsets.push_back(offset + c * channel_stride);
    }
  return offsets;
}

Launch launch_pack(ir::PackOp pack, const Target& target) {
  if (pack.getKind() == ir::PackKind::winograd) return launch_winograd_pack(pack, target);
  auto from = ir::ranked(pack.getX()).getShape(), to = ir::ranked(pack.getResult()).getShape();
  DType dtype = dtype_of_value(pack.getResult());
  std::int64_t panel = to[to.size() - 1], k_extent = to[to.size() - 2], panels = to[to.size() - 3];
  std::int64_t outer = 1;
  for (std::int64_t d : to.drop_back(3)) outer *= d;

  // Element (b, k, n) of the operand lies at b * outer_stride + k * k_stride (or the table's entry) + n *
  // n_stride.
  std::int64_t n, n_stride, k_stride = 0, outer_stride;
  Launch launch{{"pack", "", pack.getLoc(), {}}, {}};
  if (pack.getKind() == ir::PackKind::convolution) {
    n = from[0] / static_cast<std::int64_t>(pack.getGroups());
    n_stride = k_extent;
    outer_stride = n * n_stride;
    Dims kernel(from.begin() + 2, from.end()), tap_strides(kernel.size());
    std::int64_t step = 1;
    for (std::size_t i = kernel.size(); i-- > 0; step *= kernel[i]) tap_strides[i] = step;
    launch.table = window_offsets(from[1], kernel, step, tap_strides);
  } else {
    bool transposed = pack.getKind() == ir::PackKind::transposed;
    n = from[from.size() - (transposed ? 2 : 1)];
    n_stride = transposed ? k_extent : 1;
    k_stride = transposed ? 1 : n;
    outer_stride = n * k_extent;
  }
  const int lanes = Tile::lanes_of(target, dtype, panel);
  const bool table = !launch.table.empty(), rows = stride_class(n_stride) == 1;
  launch.request.key = fmt::format("pack {} lanes={} n-stride={} table={}", name_of(dtype), lanes,
                                   stride_class(n_stride), table);
  enum Param : std::int64_t { N, K, panel_count, panel_width, column_stride, row_stride, batch_stride };
  launch.params = {n, k_extent, panels, panel, n_stride, k_stride, outer_stride};
  launch.extent = outer * panels;
  launch.grain = grain_for(k_extent * panel, 1);

  launch.request.emit = [=](Emit& e, mlir::Value buffers, mlir::Value params, mlir::Value begin,
                            mlir::Value end) {
    mlir::Value columns = e.param(params, N), k_value = e.param(params, K),
                count = e.param(params, panel_count);
    mlir::Value width = e.param(params, panel_width), n_step = e.param(params, column_stride),
                k_step = e.param(params, row_stride);
    mlir::Value source = e.buffer(buffers, 0), target_base = e.buffer(buffers, 1);
    mlir::Value offsets = table ? e.buffer(buffers, 2) : mlir::Value();
    e.loop(begin, end, e.index(1), [&](mlir::Value unit) {
      mlir::Value which = e.rem(unit, count), batch = e.div(unit, count);
      mlir::Value in = e.element(source, e.mul(batch, e.param(params, batch_stride)), dtype);
      mlir::Value out = e.element(target_base, e.mul(unit, e.mul(k_value, width)), dtype);
      struct Column {
        mlir::Value left, in, out, mask;
      };
      const auto column_of = [&](mlir::Value j) -> Column {
        mlir::Value column = e.add(e.mul(which, width), j), left = e.sub(columns, column);
        return {left, e.element(in, e.mul(column, n_step), dtype), e.element(out, j, dtype),
                lanes == 1 ? mlir::Value() : e.mask_below(left, lanes)};
      };
      const auto put = [&](const Column& column, mlir::Value k) {
        mlir::Value to_address = e.element(column.out, e.mul(k, width), dtype);
        mlir::Value k_offset =
            table ? e.load_scalar(e.element(offsets, k, DType::i64), DType::i64) : e.mul(k, k_step);
        mlir::Value at = e.element(column.in, k_offset, dtype);
        if (lanes == 1) {
          e.store(e.number(dtype, 0, 1), to_address, dtype, 1);
          e.when(e.less(e.index(0), column.left),
                 [&] { e.store(e.load_scalar(at, dtype), to_address, dtype, 1); });
        } else if (rows) {
          e.store(e.load(at, dtype, lanes, column.mask), to_address, dtype, lanes);
        } else {
          e.store(e.gather(at, e.lane_offsets(n_step, lanes), dtype, lanes, column.mask), to_address, dtype,
                  lanes);
        }
      };
      const auto over_columns = [&](const Emit::Body& body) {
        e.loop(e.index(0), width, e.index(lanes), body);
      };
      const auto over_k = [&](const Emit::Body& body) { e.loop(e.index(0), k_value, e.index(1), body); };
      // As the operand lies in memory.
      if (rows)
        over_k([&](mlir::Value k) { over_columns([&](mlir::Value j) { put(column_of(j), k); }); });
      else
        over_columns([&](mlir::Value j) {
          const Column column = column_of(j);
          over_k([&](mlir::Value k) { put(column, k); });
        });
    });
  };
  return launch;
}

Launch launch_fusion(ir::FusionOp fusion, const Target& target) {
  for (mlir::Operation& op : fusion.getBody().front()) {
    if (auto reduce = llvm::dyn_cast<ir::ReduceOp>(op)) return launch_reduce(fusion, reduce, target);
    if (auto dot = llvm::dyn_cast<ir::PackedDotOp>(op)) return launch_dot(fusion, dot, target);
    if (auto conv = llvm::dyn_cast<ir::PackedConvolutionOp>(op))
      return launch_convolution(fusion, conv, target);
    if (auto winograd = llvm::dyn_cast<ir::WinogradOp>(op)) return launch_winograd(fusion, winograd, target);
  }
  return launch_pointwise(fusion, target);
}

}  // namespace kiln::codegen
