// Convolutions with the channels first: lanes run along the lines of the result. Few output channels would
// leave most lanes empty, and between arrays with the channels first more of them would need two transposes.
// A tile is a part of some lines for all channels, or for a block of them. The weight is broadcast, the input
// is loaded as registers: A and B of the contraction have changed roles.
#include "codegen/cpu/convolution/line_convolution.h"

#include "codegen/emit/contraction.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"
#include "codegen/target/choices.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;
using Value = mlir::Value;

constexpr ParamNames line_convolution_names{
    "line_points",          "line_parts", "part_points", "line_tiles", "larger_tiles",  "channel_tiles",
    "larger_channel_tiles", "lhs_offset", "groups",      "lhs_group",  "group_channels"};
/// The parameters of each outer axis follow.
constexpr ParamNames line_convolution_axis_names{"extent", "lhs_stride"};
using LineConvolutionParams = KernelParams<line_convolution_names>;
using LineConvolutionAxisParams = KernelParams<line_convolution_axis_names>;

/// Everything that the code depends on, with its epilogue: equal plans, equal code.
struct LineConvolutionPlan {
  DType dtype;
  int lanes;
  TileRows channels, lines;  // of a tile
  bool all_channels;         // of a group, in one tile
  bool has_groups;
  int vectors;  // registers of a line in a tile
  int tail;     // points in the last tile of a line; 0: it is full
  std::int64_t k_extent, panel, line_stride;
  // The epilogue's axes: the channel axis (none if there is one channel), whether the last axis is the lines
  // (else the channels), and the number of other axes.
  std::optional<std::size_t> channel_axis;
  bool has_lines;
  std::size_t outer_count;
  FactorOperands operands;
  int table_operand;
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"dtype", &LineConvolutionPlan::dtype}, PlanField{"lanes", &LineConvolutionPlan::lanes},
        PlanField{"channels", &LineConvolutionPlan::channels},
        PlanField{"lines", &LineConvolutionPlan::lines},
        PlanField{"all_channels", &LineConvolutionPlan::all_channels},
        PlanField{"has_groups", &LineConvolutionPlan::has_groups},
        PlanField{"vectors", &LineConvolutionPlan::vectors}, PlanField{"tail", &LineConvolutionPlan::tail},
        PlanField{"k_extent", &LineConvolutionPlan::k_extent},
        PlanField{"panel", &LineConvolutionPlan::panel},
        PlanField{"line_stride", &LineConvolutionPlan::line_stride},
        PlanField{"channel_axis", &LineConvolutionPlan::channel_axis},
        PlanField{"has_lines", &LineConvolutionPlan::has_lines},
        PlanField{"outer_count", &LineConvolutionPlan::outer_count},
        PlanField{"operands", &LineConvolutionPlan::operands},
        PlanField{"table_operand", &LineConvolutionPlan::table_operand});
  }
};

class LineConvolutionEmitter {
 public:
  LineConvolutionEmitter(KernelBuilder& e, const LineConvolutionPlan& plan, Epilogue& epilogue,
                         const KernelArgs& args)
      : e(e), plan_(plan), epilogue_(epilogue), args_(args), params_(e, args.params) {}

  /// A task is a part of a tile of lines; the last axis varies fastest.
  void run() {
    const Value lhs =
        e.element(e.buffer(args_.buffers, plan_.operands.lhs), params_["lhs_offset"], plan_.dtype);
    const Value weights = e.buffer(args_.buffers, plan_.operands.rhs);
    k_offsets_ = e.buffer(args_.buffers, plan_.table_operand);
    const Value tiles = params_["line_tiles"], parts = params_["line_parts"];
    llvm::SmallVector<Value> extents;
    for (std::size_t i = 0; i < plan_.outer_count; ++i)
      extents.push_back(params_.group<LineConvolutionAxisParams>(i)["extent"]);
    e.loop(args_.begin, args_.end, e.index(1), [&](Value task) {
      const Value of_lines = e.div(task, parts);
      Value first = lhs, outer = e.div(of_lines, tiles);
      weights_ = weights;
      if (plan_.has_groups) {
        const Value group = e.rem(outer, params_["groups"]);
        outer = e.div(outer, params_["groups"]);
        first = e.element(first, e.mul(group, params_["lhs_group"]), plan_.dtype);
        weights_ = e.element(weights, e.mul(group, e.index(plan_.k_extent * plan_.panel)), plan_.dtype);
        group_channel_ = e.mul(group, params_["group_channels"]);
      }
      outer_index_ = e.coordinates(outer, extents);
      for (std::size_t i = 0; i < plan_.outer_count; ++i)
        first = e.element(first,
                          e.mul(outer_index_[i], params_.group<LineConvolutionAxisParams>(i)["lhs_stride"]),
                          plan_.dtype);
      const Value from = e.mul(e.rem(task, parts), params_["part_points"]);
      plan_.lines.emit(e, e.rem(of_lines, tiles), params_["larger_tiles"], [&](Value line, int lines) {
        first_line_ = line;
        lhs_ = e.element(first, e.mul(line, e.index(plan_.line_stride)), plan_.dtype);
        along_lines(lines, from);
      });
    });
  }

 private:
  /// The part of the lines from `from` on, one block of channels after the other, so that few lines are
  /// written at a time, while their inputs stay in L1.
  void along_lines(int lines, Value from) {
    if (plan_.all_channels) return along_lines(lines, from, e.index(0), plan_.channels.most);
    e.loop(e.index(0), params_["channel_tiles"], e.index(1), [&](Value number) {
      plan_.channels.emit(e, number, params_["larger_channel_tiles"],
                          [&](Value first, int channels) { along_lines(lines, from, first, channels); });
    });
  }
  void along_lines(int lines, Value from, Value first_channel, int channels) {
    const Value width = e.index(plan_.vectors * plan_.lanes), points = params_["line_points"],
                part = e.add(from, params_["part_points"]), whole = e.sub(points, e.rem(points, width));
    e.loop(from, e.min(part, whole), width, [&](Value point) {
      tile({point, lines, plan_.vectors, {}}, first_channel, channels);
    });
    if (plan_.tail == 0) return;
    e.when(e.less(points, e.add(part, e.index(1))), [&] {
      const int last = plan_.tail % plan_.lanes;
      tile({whole, lines, static_cast<int>(divideCeilSigned(plan_.tail, plan_.lanes)),
            last > 0 ? e.mask_below(last, plan_.lanes) : Value()},
           first_channel, channels);
    });
  }

  /// Some lines from `point` on. `mask` is the last register's.
  struct Points {
    Value point;
    int lines, vectors;
    Value mask;

    Value mask_of(int v) const { return v + 1 == vectors ? mask : Value(); }
  };

  void tile(const Points& points, Value first_channel, int channels) {
    const Tile sums_of{plan_.dtype, channels, points.lines * points.vectors, plan_.lanes};
    const Value weights = e.element(weights_, first_channel, plan_.dtype);
    const auto sums = sums_of.sum_over_chunks(e, plan_.k_extent, [&](Value from, Value to) {
      return sums_over(sums_of, points, weights, from, to);
    });
    std::size_t next = 0;
    for (int c = 0; c < channels; ++c) {
      Value channel = e.add(first_channel, e.index(c));
      if (plan_.has_groups) channel = e.add(group_channel_, channel);
      prepare(channel);
      for (int l = 0; l < points.lines; ++l)
        for (int v = 0; v < points.vectors; ++v)
          epilogue_.store(e, sums_of.value(e, sums[next++]),
                          plan_.has_lines ? e.add(first_line_, e.index(l)) : channel, at(points.point, v),
                          plan_.lanes, points.mask_of(v));
    }
  }

  llvm::SmallVector<Value> sums_over(const Tile& tile, const Points& points, Value weights, Value from,
                                     Value to) {
    return tile.emit(e, from, to, [&](Value k) {
      Tile::Operands operands;
      const Value here =
          e.element(lhs_, e.load_scalar(e.element(k_offsets_, k, DType::i64), DType::i64), plan_.dtype);
      for (int l = 0; l < points.lines; ++l)
        for (int v = 0; v < points.vectors; ++v) {
          const Value first = e.add(at(points.point, v), e.index(l * plan_.line_stride));
          operands.rhs.push_back(
              e.load(e.element(here, first, plan_.dtype), plan_.dtype, plan_.lanes, points.mask_of(v)));
        }
      operands.lhs_address = [this, weights, first = e.mul(k, e.index(plan_.panel))](int channel) {
        return e.element(weights, e.add(first, e.index(channel)), plan_.dtype);
      };
      return operands;
    });
  }

  Value at(Value point, int v) { return e.add(point, e.index(v * plan_.lanes)); }

  void prepare(Value channel) {
    auto index = outer_index_;
    if (plan_.channel_axis && plan_.has_lines)
      index.insert(index.begin() + static_cast<std::ptrdiff_t>(*plan_.channel_axis), channel);
    epilogue_.prepare(e, args_, LineConvolutionParams::end<LineConvolutionAxisParams>(plan_.outer_count),
                      index);
  }

  KernelBuilder& e;
  const LineConvolutionPlan& plan_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const LineConvolutionParams params_;
  Value k_offsets_;
  // Of the task.
  llvm::SmallVector<Value> outer_index_;
  Value lhs_, weights_, group_channel_, first_line_;
};

/// Registers per line, and lines, of a tile: at most `most` registers in all. Lines divide their `count`
/// registers.
struct LineTileSize {
  std::int64_t vectors = 1, lines = 1;
  LineTileSize(std::int64_t most, std::int64_t count, std::int64_t all_lines) {
    for (std::int64_t v = 1; v <= std::min(most, count); ++v) {
      const std::int64_t l = std::clamp<std::int64_t>(most / v, 1, std::max<std::int64_t>(all_lines, 1));
      if ((count % v == 0 || all_lines <= 1) && v * l >= vectors * lines) {
        vectors = v;
        lines = l;
      }
    }
  }
};

/// The epilogue's axes: which one is the channels, if any is, and whether the last one is the lines.
struct ResultAxes {
  std::optional<std::size_t> channels;
  bool has_lines;

  /// `marks`: 1 for the channels, else 0.
  explicit ResultAxes(const Dims& marks) {
    const auto* mark = llvm::find(marks, 1);
    if (mark != marks.end()) channels = static_cast<std::size_t>(mark - marks.begin());
    has_lines = channels != marks.size() - 1;
  }
};

/// The tiles of channels, of lines, and of a line.
struct LineTiles {
  TileSplit channels, lines;
  std::int64_t vectors;  // registers of a line

  /// Besides the accumulators, a register for each register of inputs, and one for the weight. A weight is
  /// loaded for two registers of inputs at least.
  static LineTiles of(std::int64_t channel_count, std::int64_t line_count, std::int64_t registers,
                      const CpuTarget& target) {
    const int free_registers = target.registers() - 1;
    const TileSplit channels(channel_count, std::max(free_registers / 2 - 1, 1));
    const std::int64_t most = std::max(free_registers / (channels.rows.most + 1), 1);
    const LineTileSize size(most, registers, line_count);
    return {channels, TileSplit(line_count, static_cast<int>(size.lines)), size.vectors};
  }
};

/// Without the number of outer axes.
LineConvolutionPlan line_convolution_plan_of(ir::FusionOp fusion, const LineConvolution& c, DType dtype,
                                             int lanes, std::int64_t line, const LineTiles& tiles,
                                             const ResultAxes& axes, std::int64_t line_stride) {
  return {.dtype = dtype,
          .lanes = lanes,
          .channels = tiles.channels.rows,
          .lines = tiles.lines.rows,
          .all_channels = tiles.channels.tiles == 1,
          .has_groups = c.groups > 1,
          .vectors = static_cast<int>(tiles.vectors),
          .tail = static_cast<int>(line % (tiles.vectors * lanes)),
          .k_extent = static_cast<std::int64_t>(c.offsets.size()),
          .panel = c.panel,
          .line_stride = axes.has_lines ? line_stride : 0,
          .channel_axis = axes.channels,
          .has_lines = axes.has_lines,
          .outer_count = 0,
          .operands = FactorOperands::of(c.lhs, c.rhs),
          .table_operand = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults())};
}

}  // namespace

Launch launch_line_convolution(ir::FusionOp fusion, mlir::Value root, const LineConvolution& c,
                               const CpuTarget& target) {
  const auto shape = ir::ranked(root).getShape();
  Dims of_channel(shape.size() - 1, 0);  // keeps the channel axis separate, and marks it
  of_channel[1] = 1;
  const Dims extra_strides[] = {c.lhs_strides, of_channel};
  const Epilogue epilogue(fusion, root, shape.size() - 1, extra_strides);
  const Dims &extents = epilogue.extents(), &strides = epilogue.extra_strides(0);
  const ResultAxes axes(epilogue.extra_strides(1));

  const DType dtype = dtype_of_value(root);
  const int lanes = target.lanes(size_of(dtype));
  const std::int64_t line = shape.back();
  const LineTiles tiles =
      LineTiles::of(c.channels, axes.has_lines ? extents.back() : 1, divideCeilSigned(line, lanes), target);
  LineConvolutionPlan plan =
      line_convolution_plan_of(fusion, c, dtype, lanes, line, tiles, axes, strides.back());
  // The inputs of a part of a line stay in L1, beside the arrays that stream through it.
  const std::int64_t width = tiles.vectors * lanes, bytes = std::max<std::int64_t>(c.input_lines, 1) * width *
                                                            static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t part = width * std::max<std::int64_t>(choices::lines_bytes(*target.machine) / bytes, 1),
                     parts = divideCeilSigned(line, part);
  std::vector<std::int64_t> params;
  LineConvolutionParams::append(params, {{"line_points", line},
                                         {"line_parts", parts},
                                         {"part_points", part},
                                         {"line_tiles", tiles.lines.tiles},
                                         {"larger_tiles", tiles.lines.larger},
                                         {"channel_tiles", tiles.channels.tiles},
                                         {"larger_channel_tiles", tiles.channels.larger},
                                         {"lhs_offset", c.lhs.offset},
                                         {"groups", c.groups},
                                         {"lhs_group", c.lhs_group},
                                         {"group_channels", c.channels}});
  std::int64_t tasks = line == 0 || c.channels == 0 ? 0 : tiles.lines.tiles * parts * c.groups;
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) {
    if (i == axes.channels) continue;
    LineConvolutionAxisParams::append(params, {{"extent", extents[i]}, {"lhs_stride", strides[i]}});
    tasks *= extents[i];
    ++plan.outer_count;
  }
  epilogue.append_params(params);
  Launch launch = planned_launch<LineConvolutionEmitter>(fusion, "line convolution", plan, epilogue);
  launch.params = std::move(params);
  launch.extent = tasks;
  launch.table = c.offsets;
  launch.grain =
      grain_for(tasks, tiles.lines.rows.most * c.channels * divideCeilSigned(std::min(part, line), lanes) *
                           Tile::cost_of_register(plan.k_extent));
  return launch;
}

}  // namespace kiln::codegen
