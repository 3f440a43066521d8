// Depthwise convolutions (a group for each channel) with the channels last. Lanes run along the channels; a
// tile is some consecutive results of a line. Each input column of a row of taps is loaded once and
// multiplied with the taps of all results that use it: without reuse across lanes the kernel is bound by
// loads, not by FMAs. A tile is computed for all channels before the next tile, in the order of memory.
#include "codegen/cpu/convolution/depthwise.h"

#include "codegen/emit/contraction.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"
#include "codegen/target/tuning.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

#include <map>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;
using Value = mlir::Value;

/// Longer rows of taps are processed tap by tap.
constexpr std::int64_t max_depthwise_taps = 8;
constexpr std::int64_t max_depthwise_vectors = 4;

constexpr ParamNames depthwise_names{"channels", "row_tiles", "larger_tiles", "lhs_offset"};
/// The parameters of each outer axis follow.
constexpr ParamNames depthwise_axis_names{"extent", "lhs_stride"};
using DepthwiseParams = KernelParams<depthwise_names>;
using DepthwiseAxisParams = KernelParams<depthwise_axis_names>;

/// Everything that the code depends on, with its epilogue: equal plans, equal code.
struct DepthwisePlan {
  DType dtype;
  int lanes;
  TileRows rows;
  int vectors;                  // registers of channels at once
  int tail;                     // channels in the last register; 0: it is full
  std::int64_t k_extent, taps;  // of the window; of an iteration
  std::int64_t row_stride, tap_stride, panel;
  std::size_t outer_count;  // axes outside of the one that tiles divide
  FactorOperands operands;
  int table_operand;
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"dtype", &DepthwisePlan::dtype}, PlanField{"lanes", &DepthwisePlan::lanes},
        PlanField{"rows", &DepthwisePlan::rows}, PlanField{"vectors", &DepthwisePlan::vectors},
        PlanField{"tail", &DepthwisePlan::tail}, PlanField{"k_extent", &DepthwisePlan::k_extent},
        PlanField{"taps", &DepthwisePlan::taps}, PlanField{"row_stride", &DepthwisePlan::row_stride},
        PlanField{"tap_stride", &DepthwisePlan::tap_stride}, PlanField{"panel", &DepthwisePlan::panel},
        PlanField{"outer_count", &DepthwisePlan::outer_count},
        PlanField{"operands", &DepthwisePlan::operands},
        PlanField{"table_operand", &DepthwisePlan::table_operand});
  }
};

class DepthwiseEmitter {
 public:
  DepthwiseEmitter(KernelBuilder& e, const DepthwisePlan& plan, Epilogue& epilogue, const KernelArgs& args)
      : e(e), plan_(plan), epilogue_(epilogue), args_(args), params_(e, args.params) {}

  /// A task is a tile; the last axis varies fastest.
  void run() {
    const Value lhs =
        e.element(e.buffer(args_.buffers, plan_.operands.lhs), params_["lhs_offset"], plan_.dtype);
    rhs_ = e.buffer(args_.buffers, plan_.operands.rhs);
    k_offsets_ = e.buffer(args_.buffers, plan_.table_operand);
    const Value tiles = params_["row_tiles"];
    e.loop(args_.begin, args_.end, e.index(1), [&](Value task) {
      const Value first = at_outer(e.div(task, tiles), lhs);
      plan_.rows.emit(e, e.rem(task, tiles), params_["larger_tiles"], [&](Value row, int rows) {
        first_row_ = row;
        lhs_ = e.element(first, e.mul(row, e.index(plan_.row_stride)), plan_.dtype);
        all_columns(rows);
      });
    });
  }

 private:
  /// Address of the input at index `number` of the outer axes.
  Value at_outer(Value number, Value lhs) {
    llvm::SmallVector<Value> extents;
    for (std::size_t i = 0; i < plan_.outer_count; ++i)
      extents.push_back(params_.group<DepthwiseAxisParams>(i)["extent"]);
    const auto index = e.coordinates(number, extents);
    for (std::size_t i = 0; i < plan_.outer_count; ++i)
      lhs = e.element(lhs, e.mul(index[i], params_.group<DepthwiseAxisParams>(i)["lhs_stride"]), plan_.dtype);
    epilogue_.prepare(e, args_, DepthwiseParams::end<DepthwiseAxisParams>(plan_.outer_count), index);
    return lhs;
  }

  void all_columns(int rows) {
    const Value all = params_["channels"], lanes = e.index(plan_.lanes),
                together = e.index(plan_.vectors * plan_.lanes);
    const Value whole = e.sub(all, e.rem(all, lanes)), by_several = e.sub(all, e.rem(all, together));
    e.loop(e.index(0), by_several, together, [&](Value column) { tile(column, rows, plan_.vectors, {}); });
    if (plan_.vectors > 1) e.loop(by_several, whole, lanes, [&](Value column) { tile(column, rows, 1, {}); });
    if (plan_.tail > 0) tile(whole, rows, 1, e.mask_below(plan_.tail, plan_.lanes));
  }

  /// `rows` results of `vectors` registers of channels.
  void tile(Value column, int rows, int vectors, Value mask) {
    const Tile sums_of{plan_.dtype, rows, vectors, plan_.lanes};
    llvm::SmallVector<Value> columns;
    for (int v = 0; v < vectors; ++v) columns.push_back(e.add(column, e.index(v * plan_.lanes)));
    const auto sums = sums_of.sum_over_chunks(
        e, plan_.k_extent, [&](Value from, Value to) { return sums_over(sums_of, columns, mask, from, to); });
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v)
        epilogue_.store(e, sums_of.value(e, sums[static_cast<std::size_t>(r * vectors + v)]),
                        e.add(first_row_, e.index(r)), columns[static_cast<std::size_t>(v)], plan_.lanes,
                        mask);
  }

  /// The sums over the taps [from, to).
  llvm::SmallVector<Value> sums_over(const Tile& tile, llvm::ArrayRef<Value> columns, Value mask, Value from,
                                     Value to) {
    llvm::SmallVector<Value> panels;
    for (const Value column : columns) {
      const Value panel = e.index(plan_.panel);
      const Value at =
          e.add(e.mul(e.div(column, panel), e.index(plan_.k_extent * plan_.panel)), e.rem(column, panel));
      panels.push_back(e.element(rhs_, at, plan_.dtype));
    }
    llvm::SmallVector<Value> sums(tile.registers(), e.number(plan_.dtype, 0, plan_.lanes));
    return e.loop(from, to, e.index(plan_.taps), sums, [&](Value k, mlir::ValueRange carried) {
      llvm::SmallVector<Value> next(carried);
      add_row(tile, columns, panels, mask, k, next);
      return next;
    });
  }

  /// Adds the row of taps from k on. Columns are in the order of memory, so each result adds its taps in
  /// order.
  void add_row(const Tile& tile, llvm::ArrayRef<Value> columns, llvm::ArrayRef<Value> panels, Value mask,
               Value k, llvm::MutableArrayRef<Value> sums) {
    struct Use {
      int row;
      std::int64_t tap;
    };
    const std::int64_t direction = plan_.tap_stride < 0 ? -1 : 1;
    std::map<std::int64_t, llvm::SmallVector<Use>> uses;  // by distance from the first column
    for (int r = 0; r < tile.rows; ++r)
      for (std::int64_t t = 0; t < plan_.taps; ++t)
        uses[direction * (r * plan_.row_stride + t * plan_.tap_stride)].push_back({r, t});
    const Value lhs =
        e.element(lhs_, e.load_scalar(e.element(k_offsets_, k, DType::i64), DType::i64), plan_.dtype);
    for (auto [v, column] : llvm::enumerate(columns)) {
      llvm::SmallVector<Value> factors;
      for (std::int64_t t = 0; t < plan_.taps; ++t) {
        const Value at = e.mul(e.add(k, e.index(t)), e.index(plan_.panel));
        factors.push_back(e.load(e.element(panels[v], at, plan_.dtype), plan_.dtype, plan_.lanes));
      }
      const Value here = e.element(lhs, column, plan_.dtype);
      for (const auto& [distance, used_by] : uses) {
        const Value x = e.load(e.element(here, e.index(direction * distance), plan_.dtype), plan_.dtype,
                               plan_.lanes, mask);
        for (const Use& use : used_by) {
          Value& sum = sums[static_cast<std::size_t>(use.row) * columns.size() + v];
          sum = tile.multiply_add(e, x, factors[static_cast<std::size_t>(use.tap)], sum);
        }
      }
    }
  }

  KernelBuilder& e;
  const DepthwisePlan& plan_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const DepthwiseParams params_;
  Value rhs_, k_offsets_;
  // Of the task.
  Value lhs_, first_row_;
};

}  // namespace

Launch launch_depthwise(ir::FusionOp fusion, mlir::Value root, const Depthwise& d, const CpuTarget& target) {
  const Dims extra_strides[] = {d.lhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, extra_strides);
  const Dims &extents = epilogue.extents(), &strides = epilogue.extra_strides(0);
  const DType dtype = dtype_of_value(root);
  const auto k_extent = static_cast<std::int64_t>(d.offsets.size());
  // A row of taps must not cross the end of a chunk.
  const std::int64_t taps = k_extent <= Tile::chunk && d.row_taps <= max_depthwise_taps ? d.row_taps : 1;
  const std::int64_t m = extents.back();
  // Rows whose accumulators fit in registers, beside the taps and an input.
  const int max_rows = std::max(1, target.registers() - static_cast<int>(taps) - 2);
  const TileSplit split(m, max_rows);
  const int lanes = Tile::lanes_of(target, dtype, d.panel);
  const std::int64_t registers = divideCeilSigned(d.channels, lanes);
  const auto vectors = static_cast<int>(std::max<std::int64_t>(
      std::min({tuning::min_accumulators / split.rows.most, max_depthwise_vectors, registers}), 1));
  const DepthwisePlan plan{
      .dtype = dtype,
      .lanes = lanes,
      .rows = split.rows,
      .vectors = vectors,
      .tail = static_cast<int>(d.channels % lanes),
      .k_extent = k_extent,
      .taps = taps,
      .row_stride = strides.back(),
      .tap_stride = d.tap_stride,
      .panel = d.panel,
      .outer_count = extents.size() - 1,
      .operands = FactorOperands::of(d.lhs, d.rhs),
      .table_operand = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults())};
  Launch launch = planned_launch<DepthwiseEmitter>(fusion, "depthwise", plan, epilogue);
  DepthwiseParams::append(launch.params, {{"channels", d.channels},
                                          {"row_tiles", split.tiles},
                                          {"larger_tiles", split.larger},
                                          {"lhs_offset", d.lhs.offset}});
  launch.extent = d.channels == 0 ? 0 : split.tiles;
  for (std::size_t i = 0; i < plan.outer_count; ++i) {
    DepthwiseAxisParams::append(launch.params, {{"extent", extents[i]}, {"lhs_stride", strides[i]}});
    launch.extent *= extents[i];
  }
  epilogue.append_params(launch.params);
  launch.table = d.offsets;
  launch.grain = grain_for(launch.extent, split.rows.most * registers * Tile::cost_of_register(k_extent));
  return launch;
}

}  // namespace kiln::codegen
