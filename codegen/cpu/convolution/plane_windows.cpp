// Depthwise convolutions and reductions of windows with the channels first: lanes run along the lines of a
// plane (one channel of one image). The lines that a block of results reads are copied into scratch memory
// that stays in L1, with their padding, and with the columns of a stride side by side. Every tap is then a
// load of neighbours without a mask. Short lines are not copied: their inputs are one or two registers, from
// which taps select lanes. A tile is some lines of the result; each input is loaded once for all of them.
#include "codegen/cpu/convolution/plane_windows_plan.h"
#include "codegen/cpu/kernels.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/reduction_body.h"
#include "codegen/math/math.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;
using Value = mlir::Value;

constexpr ParamNames plane_windows_names{
    "channels", "in_height",    "in_width",       "points",      "tiles",    "larger_tiles", "block_tiles",
    "blocks",   "image_stride", "channel_stride", "line_stride", "x_offset", "pad_top",      "copied_lines"};
/// The parameters of each outer axis of the epilogue follow.
constexpr ParamNames plane_windows_axis_names{"extent"};
using PlaneWindowsParams = KernelParams<plane_windows_names>;
using PlaneWindowsAxisParams = KernelParams<plane_windows_axis_names>;

class PlaneWindowsEmitter {
 public:
  PlaneWindowsEmitter(KernelBuilder& e, const PlaneWindowsPlan& plan, Epilogue& epilogue,
                      const KernelArgs& args)
      : e(e), plan_(plan), epilogue_(epilogue), args_(args), params_(e, args.params) {}

  /// A task is a block of consecutive tiles of a plane.
  void run() {
    const Value x = e.element(e.buffer(args_.buffers, plan_.x_operand), params_["x_offset"], plan_.dtype);
    const Value weights = plan_.reduces ? Value() : e.buffer(args_.buffers, plan_.w_operand);
    if (!plan_.plane) {
      copied_ = e.buffer(args_.buffers, plan_.scratch_operand);
      // Memory beside the inputs of a line stays zero.
      clear(copied_, e.mul(params_["copied_lines"], e.index(plan_.line_pitch())));
    }
    llvm::SmallVector<Value> extents;
    for (std::size_t i = 0; i < plan_.outer_count; ++i)
      extents.push_back(params_.group<PlaneWindowsAxisParams>(i)["extent"]);
    const Value blocks = params_["blocks"], channels = params_["channels"];
    e.loop(args_.begin, args_.end, e.index(1), [&](Value task) {
      const Value plane = e.div(task, blocks), channel = e.rem(plane, channels);
      epilogue_.prepare(e, args_, PlaneWindowsParams::end<PlaneWindowsAxisParams>(plan_.outer_count),
                        e.coordinates(plane, extents));
      if (weights) weights_ = e.element(weights, e.mul(channel, e.index(plan_.taps())), plan_.dtype);
      factors_.clear();
      if (plan_.keeps_weights(e.target.registers()))
        for (std::int64_t t = 0; t < plan_.taps(); ++t) factors_.push_back(factor(t));
      const Value from = e.mul(e.rem(task, blocks), params_["block_tiles"]),
                  to = e.min(e.add(from, params_["block_tiles"]), params_["tiles"]);
      first_line_ = first_line_of(from);
      plane_ = e.element(x,
                         e.add(e.mul(e.div(plane, channels), params_["image_stride"]),
                               e.mul(channel, params_["channel_stride"])),
                         plan_.dtype);
      if (!plan_.plane) copy_lines(first_line_of(to));
      e.loop(from, to, e.index(1), [&](Value tile) {
        plan_.lines.emit(e, tile, params_["larger_tiles"],
                         [&](Value line, int lines) { tiles(line, lines); });
      });
    });
  }

 private:
  Value at(Value base, Value index) { return e.element(base, index, plan_.copied_type()); }
  Value first_line_of(Value tile) {
    return e.add(e.mul(tile, e.index(plan_.lines.most - 1)), e.min(tile, params_["larger_tiles"]));
  }
  Value factor(std::int64_t tap) {
    return e.splat(e.load_scalar(e.element(weights_, e.index(tap), plan_.dtype), plan_.dtype), plan_.lanes);
  }

  /// The contribution of a position in the padding.
  Value padding() {
    return plan_.reduces ? identity_of(e, *plan_.reduces, plan_.copied_type(), plan_.lanes)
                         : e.number(plan_.copied_type(), 0, plan_.lanes);
  }

  /// Sets `count` elements, whole vectors, to the padding.
  void clear(Value first, Value count) {
    e.loop(e.index(0), count, e.index(plan_.lanes),
           [&](Value i) { e.store(padding(), at(first, i), plan_.copied_type(), plan_.lanes); });
  }

  /// Copies the lines of a plane that the results from the block's first line to `end` read.
  void copy_lines(Value end) {
    const Value step = e.index(plan_.down.stride),
                before = e.sub(e.mul(first_line_, step), params_["pad_top"]),
                count = e.add(e.mul(e.sub(e.sub(end, first_line_), e.index(1)), step),
                              e.index(plan_.down.reach()));
    e.loop(e.index(0), count, e.index(1), [&](Value i) {
      const Value line = e.add(before, i), to = at(copied_, e.mul(i, e.index(plan_.line_pitch())));
      e.when(
          is_inside(line), [&] { copy_line(address_of(line), to); },
          [&] { clear(to, e.index(plan_.line_pitch())); });
    });
  }
  Value is_inside(Value line) {  // negative indices are large unsigned numbers
    return mlir::arith::CmpIOp::create(e.b, e.loc, mlir::arith::CmpIPredicate::ult, line,
                                       params_["in_height"]);
  }
  Value address_of(Value line) { return e.element(plane_, e.mul(line, params_["line_stride"]), plan_.dtype); }

  void copy_line(Value from, Value to) {
    const std::int64_t stride = plan_.across.stride, step = stride * plan_.lanes;
    const Value width = params_["in_width"], whole = e.sub(width, e.rem(width, e.index(step)));
    const auto copy = [&](Value column, std::int64_t count) {
      Value inputs = load(e.element(from, column, plan_.dtype), count);
      const Value place = at(to, e.add(e.index(plan_.copied->left / stride), e.div(column, e.index(stride))));
      for (std::int64_t part = 0; part < stride; ++part)
        e.store(every(inputs, part), at(place, e.index(part * plan_.copied->pitch)), plan_.copied_type(),
                plan_.lanes);
    };
    e.loop(e.index(0), whole, e.index(step), [&](Value column) { copy(column, step); });
    if (plan_.copied->tail > 0) copy(whole, plan_.copied->tail);
  }
  /// The first `count` elements, and padding: a vector for each column of a stride.
  Value load(Value first, std::int64_t count) {
    llvm::SmallVector<Value> parts;
    for (std::int64_t i = 0; i < plan_.across.stride; ++i, count -= plan_.lanes) {
      if (count <= 0) {
        parts.push_back(padding());
        continue;
      }
      const Value mask = count < plan_.lanes ? e.mask_below(static_cast<int>(count), plan_.lanes) : Value();
      const Value inputs =
          e.load(e.element(first, e.index(i * plan_.lanes), plan_.dtype), plan_.dtype, plan_.lanes, mask);
      parts.push_back(mask && plan_.reduces ? e.select(mask, inputs, padding()) : inputs);
    }
    return parts.size() == 1 ? parts[0] : e.join(parts);
  }
  Value every(Value inputs, std::int64_t part) {
    if (plan_.across.stride == 1) return inputs;
    llvm::SmallVector<std::int32_t> from;
    for (std::int64_t lane = 0; lane < plan_.lanes; ++lane)
      from.push_back(static_cast<std::int32_t>(lane * plan_.across.stride + part));
    return e.shuffle(inputs, inputs, from);
  }

  /// All results of `lines` lines.
  void tiles(Value line, int lines) {
    const Value points = params_["points"], width = e.index(plan_.vectors * plan_.lanes),
                whole = e.sub(points, e.rem(points, width));
    e.loop(e.index(0), whole, width, [&](Value point) { tile(line, lines, point, plan_.vectors, {}); });
    if (plan_.tail == 0) return;
    const int last = plan_.tail % plan_.lanes;
    tile(line, lines, whole, static_cast<int>(divideCeilSigned(plan_.tail, plan_.lanes)),
         last > 0 ? e.mask_below(last, plan_.lanes) : Value());
  }

  /// `mask` is the last vector's.
  void tile(Value first_line, int lines, Value point, int vectors, Value mask) {
    const Tile sums_of{plan_.dtype, lines, vectors, plan_.lanes};
    // A reduction starts from the first tap.
    llvm::SmallVector<Value> sums(sums_of.registers(),
                                  plan_.reduces ? Value() : e.number(plan_.dtype, 0, plan_.lanes));
    Value first;
    if (!plan_.plane)
      first = at(copied_,
                 e.add(e.mul(e.sub(first_line, first_line_), e.index(plan_.down.stride * plan_.line_pitch())),
                       point));
    // In the order of the lines, so that each result takes its taps in order.
    const std::int64_t count = (lines - 1) * plan_.down.stride + plan_.down.reach();
    for (std::int64_t i = 0; i < count; ++i)
      add_line(sums_of, i, sums, plan_.plane ? inputs_of(i) : copied_inputs(i, first));
    for (int l = 0; l < lines; ++l)
      for (int v = 0; v < vectors; ++v)
        epilogue_.store(e, sums_of.value(e, sums[static_cast<std::size_t>(l * vectors + v)]),
                        e.add(first_line, e.index(l)), e.add(point, e.index(v * plan_.lanes)), plan_.lanes,
                        v + 1 == vectors ? mask : Value());
  }

  /// The inputs of a register of results at a tap of a line.
  using Inputs = std::function<Value(std::int64_t tap, int v)>;

  /// The inputs of copied line `i` of a tile, whose first line begins at `first`.
  Inputs copied_inputs(std::int64_t i, Value first) {
    return [=, this](std::int64_t tap, int v) {
      const std::int64_t column = plan_.copied->shift + tap * plan_.across.dilate,
                         stride = plan_.across.stride,
                         place = i * plan_.line_pitch() + column % stride * plan_.copied->pitch +
                                 column / stride + v * plan_.lanes;
      return e.load(at(first, e.index(place)), plan_.copied_type(), plan_.lanes);
    };
  }

  /// The inputs of line `i` of a plane that is not copied: masked loads of neighbours, or lanes of the line's
  /// registers.
  Inputs inputs_of(std::int64_t i) {
    const std::int64_t line = i - plan_.plane->pad_top;
    if (line < 0 || line >= plan_.plane->height)
      return [none = padding()](std::int64_t, int) { return none; };
    const auto load = [this, from = address_of(e.index(line))](std::int64_t column,
                                                               llvm::ArrayRef<bool> lanes) {
      const bool all = llvm::all_of(lanes, [](bool is_column) { return is_column; });
      const Value mask = all ? Value() : e.mask_of(lanes),
                  inputs =
                      e.load(e.element(from, e.index(column), plan_.dtype), plan_.dtype, plan_.lanes, mask);
      return mask && plan_.reduces ? e.select(mask, inputs, padding()) : inputs;
    };
    const auto columns_from = [this](std::int64_t first, std::int64_t step) {
      llvm::SmallVector<bool> are_columns;
      for (std::int64_t lane = 0; lane < plan_.lanes; ++lane)
        are_columns.push_back(first + lane * step >= 0 && first + lane * step < plan_.plane->width);
      return are_columns;
    };
    const std::int64_t stride = plan_.across.stride;
    if (stride == 1)
      return [=, this](std::int64_t tap, int) {
        const std::int64_t column = tap * plan_.across.dilate - plan_.plane->pad_left;
        return load(column, columns_from(column, 1));
      };
    llvm::SmallVector<Value, 2> parts;
    for (std::int64_t column = 0; column < plan_.plane->width; column += plan_.lanes)
      parts.push_back(load(column, columns_from(column, 1)));
    return [=, this](std::int64_t tap, int) {
      const std::int64_t column = tap * plan_.across.dilate - plan_.plane->pad_left;
      const auto are_columns = columns_from(column, stride);
      const bool is_one = parts.size() == 1;
      llvm::SmallVector<std::int32_t> lanes;
      for (auto [lane, is_column] : llvm::enumerate(are_columns))
        lanes.push_back(is_column
                            ? static_cast<std::int32_t>(column + static_cast<std::int64_t>(lane) * stride)
                        : is_one ? plan_.lanes
                                 : 0);
      const Value selected = e.shuffle(parts[0], is_one ? padding() : parts[1], lanes);
      return is_one ? selected : e.select(e.mask_of(are_columns), selected, padding());
    };
  }

  /// Adds the products of input line `i` of a tile, or combines it with the results.
  void add_line(const Tile& tile, std::int64_t i, llvm::MutableArrayRef<Value> sums, const Inputs& input) {
    struct Use {
      int line;
      std::int64_t tap;
    };
    llvm::SmallVector<Use> uses;
    for (int l = 0; l < tile.rows; ++l)
      for (std::int64_t t = 0; t < plan_.down.taps; ++t)
        if (l * plan_.down.stride + t * plan_.down.dilate == i) uses.push_back({l, t});
    if (uses.empty()) return;
    const auto result = [&](const Use& use, int v) -> Value& {
      return sums[static_cast<std::size_t>(use.line * tile.vectors + v)];
    };
    llvm::SmallVector<Value> reduced(static_cast<std::size_t>(tile.vectors));  // of the line's taps
    for (std::int64_t t = 0; t < plan_.across.taps; ++t) {
      llvm::SmallVector<Value> inputs;
      for (int v = 0; v < tile.vectors; ++v) inputs.push_back(input(t, v));
      if (plan_.reduces) {
        for (auto [so_far, input] : llvm::zip(reduced, inputs)) so_far = combined(so_far, input);
        continue;
      }
      for (const Use& use : uses) {
        const std::int64_t number = use.tap * plan_.across.taps + t;
        const Value weight = factors_.empty() ? factor(number) : factors_[static_cast<std::size_t>(number)];
        for (int v = 0; v < tile.vectors; ++v) {
          Value& sum = result(use, v);
          sum = tile.multiply_add(e, inputs[static_cast<std::size_t>(v)], weight, sum);
        }
      }
    }
    if (!plan_.reduces) return;
    for (const Use& use : uses)
      for (int v = 0; v < tile.vectors; ++v) {
        Value& of_window = result(use, v);
        of_window = combined(of_window, reduced[static_cast<std::size_t>(v)]);
      }
  }
  /// `x` combined with the preceding value, if there is one.
  Value combined(Value before, Value x) {
    if (!before) return x;
    const auto combine = ir::combiner(*plan_.reduces);
    return emit_binary(e.b, e.loc, combine, plan_.copied_type(), before, x, e.target.isa);
  }

  KernelBuilder& e;
  const PlaneWindowsPlan& plan_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const PlaneWindowsParams params_;
  Value copied_;
  // Of the task.
  Value plane_, first_line_, weights_;
  llvm::SmallVector<Value> factors_;  // of all taps, if they stay in registers
};

}  // namespace

Launch launch_plane_windows(ir::FusionOp fusion, mlir::Operation* root, const CpuTarget& target) {
  const PlaneWindows w(root);
  const auto shape = ir::ranked(root->getResult(0)).getShape();
  const std::size_t rank = shape.size();
  // Lines are the epilogue's rows, and planes its outer axes.
  Dims of_planes(rank - 1, 0);
  of_planes[0] = w.x.shape[1];
  of_planes[1] = 1;
  const Dims extra_strides[] = {of_planes};
  const Epilogue epilogue(fusion, root->getResult(0), rank - 1, extra_strides, /*fixed_in_rows=*/0);

  const DType dtype = dtype_of_value(root->getResult(0));
  PlaneWindowsPlan plan{
      .dtype = dtype,
      .reduces = w.reduces,
      .lanes = target.lanes(size_of(dtype)),
      .vectors = 1,
      .tail = 0,
      .lines = {1, true},
      .down = w.has_lines() ? w.axis(0) : WindowAxis(),
      .across = w.axis(w.has_lines() ? 1 : 0),
      .copied = {},
      .plane = {},
      .outer_count = epilogue.extents().size() - 1,
      .x_operand = w.x_operand,
      .w_operand = w.w_operand,
      .scratch_operand = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults())};
  const ResultPlane result{w.has_lines() ? shape[2] : 1, shape.back()};
  const TileSplit split = divide_plane(plan, w, result, target);
  const PlaneBlocks blocks(plan, result, split.tiles, *target.machine);

  Launch launch = planned_launch<PlaneWindowsEmitter>(fusion, "plane windows", plan, epilogue);
  PlaneWindowsParams::append(launch.params, {{"channels", w.x.shape[1]},
                                             {"in_height", w.height()},
                                             {"in_width", w.width()},
                                             {"points", result.points},
                                             {"tiles", split.tiles},
                                             {"larger_tiles", split.larger},
                                             {"block_tiles", blocks.tiles},
                                             {"blocks", blocks.count},
                                             {"image_stride", w.x.strides[0]},
                                             {"channel_stride", w.x.strides[1]},
                                             {"line_stride", w.has_lines() ? w.x.strides[2] : 0},
                                             {"x_offset", w.x.offset},
                                             {"pad_top", w.pad_top()},
                                             {"copied_lines", blocks.copied_lines}});
  for (std::size_t i = 0; i < plan.outer_count; ++i)
    PlaneWindowsAxisParams::append(launch.params, {{"extent", epilogue.extents()[i]}});
  epilogue.append_params(launch.params);
  launch.scratch_bytes = blocks.copied_bytes;
  launch.extent = result.points == 0 ? 0 : shape[0] * shape[1] * blocks.count;
  launch.grain =
      grain_for(launch.extent, blocks.tiles * split.rows.most * divideCeilSigned(result.points, plan.lanes) *
                                   Tile::cost_of_register(plan.taps()));
  return launch;
}

}  // namespace kiln::codegen
