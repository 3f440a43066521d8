// Gradients of the weights of depthwise convolutions, channels last. Lanes run along the channels; a task is
// a block of them. The places are read once, in the order of memory: line by line, and in a line register by
// register, with the sums of some taps in registers along the line. Between lines the sums are in scratch
// memory, as are the totals over chunks of places.
#include "codegen/cpu/convolution/depthwise_weights.h"

#include "codegen/emit/contraction.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"
#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;
using Value = mlir::Value;

constexpr ParamNames depthwise_weights_names{"channels",    "block_registers", "places",
                                             "line_places", "place_stride",    "larger_tiles",
                                             "tap_tiles",   "lhs_offset",      "rows"};
/// The parameters of each axis of places outside of a line, and of each outer axis of the taps, follow.
constexpr ParamNames place_names{"extent", "lhs_stride"};
constexpr ParamNames tap_names{"extent"};
using DepthwiseWeightsParams = KernelParams<depthwise_weights_names>;
using PlaceAxis = KernelParams<place_names>;
using TapAxis = KernelParams<tap_names>;

/// Everything that the code depends on, with its epilogue: equal plans, equal code.
struct DepthwiseWeightsPlan {
  DType dtype;
  int lanes;
  TileRows taps;  // of a tile, whose sums are in registers
  int tail;       // channels in the last register; 0: it is full
  std::size_t place_axes, tap_axes;
  FactorOperands operands;
  int table_operand;

  /// The innermost contraction of one tap and register.
  Tile tile() const { return {dtype, 1, 1, lanes}; }
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"dtype", &DepthwiseWeightsPlan::dtype}, PlanField{"lanes", &DepthwiseWeightsPlan::lanes},
        PlanField{"taps", &DepthwiseWeightsPlan::taps}, PlanField{"tail", &DepthwiseWeightsPlan::tail},
        PlanField{"place_axes", &DepthwiseWeightsPlan::place_axes},
        PlanField{"tap_axes", &DepthwiseWeightsPlan::tap_axes},
        PlanField{"operands", &DepthwiseWeightsPlan::operands},
        PlanField{"table_operand", &DepthwiseWeightsPlan::table_operand});
  }
};

class DepthwiseWeightsEmitter {
 public:
  DepthwiseWeightsEmitter(KernelBuilder& e, const DepthwiseWeightsPlan& plan, Epilogue& epilogue,
                          const KernelArgs& args)
      : e(e), plan_(plan), epilogue_(epilogue), args_(args), params_(e, args.params) {}

  void run() {
    lhs_ = e.element(e.buffer(args_.buffers, plan_.operands.lhs), params_["lhs_offset"], plan_.dtype);
    rhs_ = e.buffer(args_.buffers, plan_.operands.rhs);
    taps_ = e.buffer(args_.buffers, plan_.table_operand);
    sums_ = e.buffer(args_.buffers, plan_.table_operand + 1);
    const Value lanes = e.index(plan_.lanes);
    channels_ = params_["channels"];
    whole_ = e.sub(channels_, e.rem(channels_, lanes));
    block_ = e.mul(params_["block_registers"], lanes);
    elements_ = e.mul(block_, tap_count());
    totals_ = e.element(sums_, elements_, sum_.wide());
    e.loop(args_.begin, args_.end, e.index(1), [&](Value task) {
      first_ = e.mul(task, block_);
      end_ = e.min(e.add(first_, block_), channels_);
      compute();
      store();
    });
  }

 private:
  Value tap_count() {
    Value count = params_["rows"];
    for (std::size_t i = 0; i < plan_.tap_axes; ++i) count = e.mul(count, tap_axis(i)["extent"]);
    return count;
  }
  PlaceAxis place_axis(std::size_t i) { return params_.group<PlaceAxis>(i); }
  TapAxis tap_axis(std::size_t i) {
    return TapAxis(e, args_.params,
                   DepthwiseWeightsParams::end<PlaceAxis>(plan_.place_axes) +
                       static_cast<std::int64_t>(i) * TapAxis::size);
  }
  std::int64_t first_epilogue() const {
    return DepthwiseWeightsParams::end<PlaceAxis>(plan_.place_axes) +
           static_cast<std::int64_t>(plan_.tap_axes) * TapAxis::size;
  }

  /// Calls `body` with the first channel of each register of the block, and the mask of the last one.
  void each_register(llvm::function_ref<void(Value channel, Value mask)> body) {
    e.loop(first_, e.min(end_, whole_), e.index(plan_.lanes), [&](Value channel) { body(channel, {}); });
    if (plan_.tail > 0)
      e.when(e.less(whole_, end_), [&] { body(whole_, e.mask_below(plan_.tail, plan_.lanes)); });
  }
  /// Where the sums of a tap are, for a register of the block.
  Value place_of(Value array, Value tap, Value channel) {
    return e.element(array, e.add(e.mul(tap, block_), e.sub(channel, first_)), sum_.wide());
  }
  void fill(Value array, Value value) {
    e.loop(e.index(0), elements_, e.index(plan_.lanes),
           [&](Value i) { e.store(value, e.element(array, i, sum_.wide()), sum_.wide(), plan_.lanes); });
  }

  void compute() {
    const Value places = params_["places"], length = e.index(Tile::chunk), zero = e.index(0);
    fill(totals_, sum_.initial_total(e));
    e.loop(zero, places, length, [&](Value from) {
      fill(sums_, e.number(plan_.dtype, 0, plan_.lanes));
      over_chunk(from, e.min(e.add(from, length), places));
      e.loop(zero, elements_, e.index(plan_.lanes), [&](Value i) {
        const Value total = e.element(totals_, i, sum_.wide());
        const Value sum = e.load(e.element(sums_, i, sum_.wide()), sum_.wide(), plan_.lanes);
        e.store(sum_.plus(e, e.load(total, sum_.wide(), plan_.lanes), sum), total, sum_.wide(), plan_.lanes);
      });
    });
  }

  /// Adds the places [from, to), line by line.
  void over_chunk(Value from, Value to) {
    const Value length = params_["line_places"], one = e.index(1);
    llvm::SmallVector<Value> extents;
    for (std::size_t i = 0; i < plan_.place_axes; ++i) extents.push_back(place_axis(i)["extent"]);
    e.loop(e.div(from, length), e.div(e.add(to, e.sub(length, one)), length), one, [&](Value line) {
      const Value first = e.mul(line, length);
      Value x = lhs_;
      for (auto [i, index] : llvm::enumerate(e.coordinates(line, extents)))
        x = e.element(x, e.mul(index, place_axis(i)["lhs_stride"]), plan_.dtype);
      const Value g = e.element(rhs_, e.mul(first, channels_), plan_.dtype);
      const Value begin = e.max(e.index(0), e.sub(from, first)), end = e.min(length, e.sub(to, first));
      each_register([&](Value channel, Value mask) {
        const Value x_here = e.element(x, channel, plan_.dtype), g_here = e.element(g, channel, plan_.dtype);
        e.loop(e.index(0), params_["tap_tiles"], one, [&](Value tile) {
          plan_.taps.emit(e, tile, params_["larger_tiles"], [&](Value tap, int taps) {
            add_line(x_here, g_here, begin, end, channel, mask, tap, taps);
          });
        });
      });
    });
  }

  /// Adds the places [begin, end) of a line to the sums of `taps` taps from `first_tap` on.
  void add_line(Value x, Value g, Value begin, Value end, Value channel, Value mask, Value first_tap,
                int taps) {
    llvm::SmallVector<Value> places, from, sums;
    for (int t = 0; t < taps; ++t) {
      const Value tap = e.add(first_tap, e.index(t));
      const Value offset = e.load_scalar(e.element(taps_, tap, DType::i64), DType::i64);
      from.push_back(e.element(x, offset, plan_.dtype));
      places.push_back(place_of(sums_, tap, channel));
      sums.push_back(e.load(places.back(), sum_.wide(), plan_.lanes));
    }
    const Value stride = params_["place_stride"];
    const mlir::ValueRange added =
        e.loop(begin, end, e.index(1), sums, [&](Value place, mlir::ValueRange carried) {
          const Value head =
              e.load(e.element(g, e.mul(place, channels_), plan_.dtype), plan_.dtype, plan_.lanes, mask);
          const Value at = e.mul(place, stride);
          llvm::SmallVector<Value> next;
          for (auto [start, sum] : llvm::zip(from, carried))
            next.push_back(sum_.multiply_add(
                e, e.load(e.element(start, at, plan_.dtype), plan_.dtype, plan_.lanes, mask), head, sum));
          return next;
        });
    for (auto [place, sum] : llvm::zip(places, added)) e.store(sum, place, sum_.wide(), plan_.lanes);
  }

  void store() {
    llvm::SmallVector<Value> extents;
    Value outer = e.index(1);
    for (std::size_t i = 0; i < plan_.tap_axes; ++i) {
      extents.push_back(tap_axis(i)["extent"]);
      outer = e.mul(outer, extents.back());
    }
    const Value zero = e.index(0), one = e.index(1), rows = params_["rows"];
    e.loop(zero, outer, one, [&](Value number) {
      epilogue_.prepare(e, args_, first_epilogue(), e.coordinates(number, extents));
      e.loop(zero, rows, one, [&](Value row) {
        const Value tap = e.add(e.mul(number, rows), row);
        each_register([&](Value channel, Value mask) {
          const Value total = e.load(place_of(totals_, tap, channel), sum_.wide(), plan_.lanes);
          epilogue_.store(e, sum_.value(e, total), row, channel, plan_.lanes, mask);
        });
      });
    });
  }

  KernelBuilder& e;
  const DepthwiseWeightsPlan& plan_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const DepthwiseWeightsParams params_;
  const Tile sum_ = plan_.tile();
  Value lhs_, rhs_, taps_, sums_, totals_;
  Value channels_, whole_;  // all; the channels in whole registers
  Value block_, elements_;  // channels of a task; sums of one
  Value first_, end_;       // channels of the task
};

}  // namespace

Launch launch_depthwise_weights(ir::FusionOp fusion, mlir::Value root, const DepthwiseWeights& d,
                                const CpuTarget& target) {
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, {});
  const Dims& extents = epilogue.extents();
  const DType dtype = dtype_of_value(root);
  const int lanes = target.lanes(size_of(dtype));
  const auto taps = static_cast<std::int64_t>(d.taps.size());
  // Beside the sums are one register of each operand.
  const TileSplit split(taps, target.registers() - 3);
  const std::int64_t registers = divideCeilSigned(d.channels, lanes),
                     line_registers = divideCeilSigned(tuning::cache_line_bytes,
                                                       lanes * static_cast<std::int64_t>(size_of(dtype))),
                     block = std::max(line_registers, divideCeilSigned(registers, tuning::min_tasks));
  const auto operands = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults());
  const DepthwiseWeightsPlan plan{.dtype = dtype,
                                  .lanes = lanes,
                                  .taps = split.rows,
                                  .tail = static_cast<int>(d.channels % lanes),
                                  .place_axes = d.places.size() - 1,
                                  .tap_axes = extents.size() - 1,
                                  .operands = FactorOperands::of(d.lhs, d.rhs),
                                  .table_operand = operands};
  Launch launch = planned_launch<DepthwiseWeightsEmitter>(fusion, "depthwise weights", plan, epilogue);
  const std::int64_t places = mlir::ShapedType::getNumElements(d.places);
  DepthwiseWeightsParams::append(launch.params, {{"channels", d.channels},
                                                 {"block_registers", block},
                                                 {"places", places},
                                                 {"line_places", d.places.back()},
                                                 {"place_stride", d.place_strides.back()},
                                                 {"larger_tiles", split.larger},
                                                 {"tap_tiles", split.tiles},
                                                 {"lhs_offset", d.lhs.offset},
                                                 {"rows", extents.back()}});
  for (std::size_t i = 0; i < plan.place_axes; ++i)
    PlaceAxis::append(launch.params, {{"extent", d.places[i]}, {"lhs_stride", d.place_strides[i]}});
  for (std::size_t i = 0; i < plan.tap_axes; ++i) TapAxis::append(launch.params, {{"extent", extents[i]}});
  epilogue.append_params(launch.params);
  launch.table = d.taps;
  launch.extent = taps == 0 ? 0 : divideCeilSigned(registers, block);
  launch.grain = grain_for(launch.extent, block * taps * Tile::cost_of_register(places));
  launch.scratch_bytes = 2 * taps * block * lanes * static_cast<std::int64_t>(size_of(plan.tile().wide()));
  return launch;
}

}  // namespace kiln::codegen
