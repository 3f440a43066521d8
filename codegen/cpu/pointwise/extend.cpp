// An array continued beyond its ends: every element of the result is written once, row by row.
#include "codegen/cpu/kernels.h"
#include "codegen/emit/extension.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/scalar_expr.h"
#include "codegen/target/tuning.h"

#include <llvm/ADT/STLExtras.h>

namespace kiln::codegen {
namespace {

using Value = mlir::Value;

/// The contents of a row of the result, contiguous in memory.
enum class RowKind {
  copy,       // of a row of the operand
  line,       // of single elements along an extended axis
  registers,  // the same, where a register has all elements of a side, selected from one of the
              // operand
  blocks,     // an extended axis of blocks, each contiguous in the operand
};

std::string_view word_of(RowKind kind) {
  return kind == RowKind::copy        ? "copy"
         : kind == RowKind::line      ? "line"
         : kind == RowKind::registers ? "registers"
                                      : "blocks";
}

/// The built-in part of a line of registers: the lengths of its sides, and the number of the operand's
/// elements in a register (all of a shorter operand).
struct LineSides {
  std::int64_t low, held, high;
  static constexpr auto fields() {
    return std::tuple(PlanField{"low", &LineSides::low}, PlanField{"held", &LineSides::held},
                      PlanField{"high", &LineSides::high});
  }
};

/// Everything that the code depends on: equal plans, equal code.
struct ExtendPlan {
  DType dtype;
  ir::Extend how;
  int lanes;
  RowKind kind;
  std::optional<LineSides> sides;  // of rows that are registers
  std::vector<bool> is_extended;   // the outer axes
  static constexpr auto fields() {
    return std::tuple(PlanField{"dtype", &ExtendPlan::dtype}, PlanField{"how", &ExtendPlan::how},
                      PlanField{"lanes", &ExtendPlan::lanes}, PlanField{"kind", &ExtendPlan::kind},
                      PlanField{"sides", &ExtendPlan::sides},
                      PlanField{"is_extended", &ExtendPlan::is_extended});
  }
};

/// The loops over the result: axes outside of rows, merged where they are not extended, and rows.
struct ExtendRows {
  llvm::SmallVector<ExtendedAxis> outer;
  ExtendedAxis along;      // the extended axis of a line or of blocks
  std::int64_t block = 1;  // elements, of a copy the whole row
  std::int64_t count = 1;  // of rows
  RowKind kind = RowKind::copy;

  ExtendRows(ir::ExtendOp extend, int lanes) {
    const auto shape = extend.getType().getShape(), inner = ir::ranked(extend.getX()).getShape();
    std::size_t last = shape.size();
    while (last > 0 && shape[last - 1] == inner[last - 1]) block *= shape[--last];
    const auto axis = [&](std::size_t i) {
      return ExtendedAxis{shape[i], extend.getLow()[i], inner[i],
                          mlir::ShapedType::getNumElements(inner.drop_front(i + 1))};
    };
    if (last > 0 && block < tuning::min_copied_elements) {
      along = axis(--last);
      kind = block > 1                            ? RowKind::blocks
             : sides_fit_registers(extend, lanes) ? RowKind::registers
                                                  : RowKind::line;
    }
    for (std::size_t i = 0; i < last; ++i) {
      count *= shape[i];
      const ExtendedAxis next = axis(i);
      if (outer.empty() || outer.back().is_extended() || next.is_extended())
        outer.push_back(next);
      else
        outer.back() = {outer.back().extent * next.extent, 0, outer.back().inner * next.inner, next.stride};
    }
  }
  std::int64_t elements() const { return along.extent * block; }

 private:
  /// Small results share the code of all sizes.
  bool sides_fit_registers(ir::ExtendOp extend, int lanes) const {
    return lanes > 1 && along.inner > 0 && std::max(along.low, along.high()) < lanes &&
           (along.inner >= lanes || along.extent <= 2 * lanes) &&
           extend.getType().getNumElements() >= tuning::min_narrow_elements;
  }
};

constexpr ParamNames extend_names{"block", "low", "inner", "extent"};
constexpr ParamNames extend_axis_names{"extent", "low", "inner", "stride"};
using ExtendParams = KernelParams<extend_names>;
using ExtendAxisParams = KernelParams<extend_axis_names>;

/// The elements of one row.
class ExtendRowEmitter {
 public:
  ExtendRowEmitter(KernelBuilder& e, DType dtype, ir::Extend how, int lanes)
      : e(e), dtype_(dtype), reflects_(how == ir::Extend::reflect), lanes_(lanes) {}

  /// The index in an axis of `inner` elements of the one at `j`, which may be beyond its ends.
  Value source(Value j, Value inner) {
    const Value zero = e.index(0), last = e.sub(inner, e.index(1));
    if (!reflects_) return e.min(e.max(j, zero), last);
    const auto magnitude = [&](Value v) { return e.max(v, e.sub(zero, v)); };
    return e.sub(last, magnitude(e.sub(last, magnitude(j))));
  }

  void copy(Value to, Value from, Value count) { copy(to, from, count, lanes_); }

  /// A line whose first and last register are selected from the first and the last of the operand, or from
  /// its only one. The lengths of the sides are built in, and that of the operand if it is shorter than a
  /// register.
  void registers(Value to, Value from, const LineSides& sides, ir::Extend how, Value inner, Value extent) {
    const auto mask = [&](std::int64_t count) {
      return count < lanes_ ? e.mask_below(static_cast<int>(count), lanes_) : Value();
    };
    const bool is_one = sides.held < lanes_;
    const Value lanes = e.index(lanes_), last = is_one ? e.index(0) : e.sub(inner, lanes);
    // The line of an operand of one register has the sides of a longer one.
    const ExtendedAxis line{sides.low + sides.held + sides.high, sides.low, sides.held};
    llvm::SmallVector<std::int32_t> sources(
        static_cast<std::size_t>(std::max<std::int64_t>(line.extent, lanes_)));
    for (const AxisPart& part : parts_of(line, how))
      for (std::int64_t i = 0; i < part.count; ++i)
        sources[static_cast<std::size_t>(part.to + i)] = static_cast<std::int32_t>(part.from + i * part.step);
    const auto elements_at = [&](Value source) {
      return e.load(element(from, source), dtype_, lanes_, mask(sides.held));
    };
    const auto side = [&](Value i, Value elements, llvm::ArrayRef<std::int32_t> sources) {
      e.store(e.shuffle(elements, elements, sources), element(to, i), dtype_, lanes_, mask(line.extent));
    };
    const auto count = static_cast<std::size_t>(lanes_);
    const Value first_elements = elements_at(e.index(0)),
                last_elements = is_one ? first_elements : elements_at(last);
    side(e.index(0), first_elements, llvm::ArrayRef(sources).take_front(count));
    if (line.extent <= lanes_) return;
    const Value end = e.sub(extent, lanes);
    if (!is_one)
      e.loop(lanes, end, lanes, [&](Value i) {
        const Value source = e.min(e.sub(i, e.index(sides.low)), last);
        store(e.load(element(from, source), dtype_, lanes_), to, e.add(source, e.index(sides.low)), lanes_);
      });
    side(end, last_elements, llvm::ArrayRef(sources).take_back(count));
  }

  /// The `count` elements on one side of a line. A reflection has the elements from `nearest` on in
  /// descending order of addresses; an edge repeats the one at `nearest`.
  void side_of_line(Value to, Value nearest, Value count) {
    if (!reflects_) {
      const Value edge = e.load_scalar(nearest, dtype_);
      return chunks(count, [&](Value i, int lanes) { store(e.splat(edge, lanes), to, i, lanes); });
    }
    chunks(count, [&](Value i, int lanes) {
      // Lane 0 of the result is the last lane in memory.
      const Value from = element(nearest, e.sub(e.index(1 - lanes), i));
      const Value elements = e.load(from, dtype_, lanes);
      store(lanes == 1 ? elements : reversed(elements, lanes), to, i, lanes);
    });
  }

 private:
  /// Registers of `lanes` elements; the last one overlaps its predecessor. Fewer elements than that use
  /// narrower ones. No store is masked: without mask registers, some processors take a dozen cycles for one.
  void copy(Value to, Value from, Value count, int lanes) {
    const Value width = e.index(lanes);
    const auto move = [&](Value i) { store(e.load(element(from, i), dtype_, lanes), to, i, lanes); };
    if (lanes == 1) return e.loop(e.index(0), count, width, move);
    e.when(
        e.less(count, width), [&] { copy(to, from, count, lanes / 2); },
        [&] {
          const Value last = e.sub(count, width);
          e.loop(e.index(0), last, width, move);
          move(last);
        });
  }

  /// Whole registers of `count` elements, then the others one by one: mostly there are one to three.
  void chunks(Value count, llvm::function_ref<void(Value i, int lanes)> chunk) {
    const Value width = e.index(lanes_), whole = e.mul(e.div(count, width), width);
    if (lanes_ > 1) e.loop(e.index(0), whole, width, [&](Value i) { chunk(i, lanes_); });
    e.loop(lanes_ > 1 ? whole : e.index(0), count, e.index(1), [&](Value i) { chunk(i, 1); });
  }

  Value reversed(Value v, int lanes) {
    llvm::SmallVector<std::int32_t> order;
    for (std::int32_t lane = lanes; lane-- > 0;) order.push_back(lane);
    return e.shuffle(v, v, order);
  }
  Value element(Value base, Value i) { return e.element(base, i, dtype_); }
  void store(Value v, Value to, Value i, int lanes) { e.store(v, element(to, i), dtype_, lanes); }

  KernelBuilder& e;
  DType dtype_;
  bool reflects_;
  int lanes_;
};

/// The rows of a kernel, one after the other.
class ExtensionEmitter {
 public:
  ExtensionEmitter(KernelBuilder& e, const ExtendPlan& extension, const KernelArgs& args)
      : e(e),
        extension_(extension),
        args_(args),
        params_(e, args.params),
        row_(e, extension.dtype, extension.how, extension.lanes),
        zero_(e.index(0)),
        one_(e.index(1)),
        block_(params_["block"]),
        low_(params_["low"]),
        inner_(params_["inner"]),
        extent_(params_["extent"]),
        length_(e.mul(extent_, block_)),
        inner_length_(e.mul(inner_, block_)),
        behind_(e.add(low_, inner_)) {}

  void run() {
    const Value x = e.buffer(args_.buffers, 0), y = e.buffer(args_.buffers, 1);
    const std::size_t rank = extension_.is_extended.size();
    const auto axis = [&](std::size_t i) { return params_.group<ExtendAxisParams>(i); };
    llvm::SmallVector<Value> extents;
    for (std::size_t i = 0; i < rank; ++i) extents.push_back(axis(i)["extent"]);
    // The index of a row along each axis counts up like the digits of a number: a division costs more than
    // the elements of a short row.
    e.loop(args_.begin, args_.end, one_, e.coordinates(args_.begin, extents),
           [&](Value r, mlir::ValueRange index) {
             Value from = zero_;
             llvm::SmallVector<Value> next(index);
             Value step = one_;
             for (std::size_t i = rank; i-- > 0;) {
               const Value source = extension_.is_extended[i]
                                        ? row_.source(e.sub(index[i], axis(i)["low"]), axis(i)["inner"])
                                        : index[i];
               from = e.add(from, e.mul(source, axis(i)["stride"]));
               const Value moved = e.add(index[i], step);
               const Value goes_on = e.less(moved, extents[i]);
               next[i] = e.select(goes_on, moved, zero_);
               step = e.select(goes_on, zero_, step);
             }
             write(at(y, e.mul(r, length_)), at(x, from));
             return next;
           });
  }

 private:
  Value at(Value base, Value i) { return e.element(base, i, extension_.dtype); }

  /// The row at `to`, whose operand's elements begin at `from`.
  void write(Value to, Value from) {
    if (extension_.kind == RowKind::copy) return row_.copy(to, from, block_);
    if (extension_.kind == RowKind::registers)
      return row_.registers(to, from, *extension_.sides, extension_.how, inner_, extent_);
    row_.copy(at(to, e.mul(low_, block_)), from, inner_length_);
    extension_.kind == RowKind::line ? write_sides_of_line(to, from) : write_sides_of_blocks(to, from);
  }

  void write_sides_of_line(Value to, Value from) {
    const bool reflects = extension_.how == ir::Extend::reflect;
    row_.side_of_line(to, reflects ? at(from, low_) : from, low_);
    row_.side_of_line(at(to, behind_), at(from, e.sub(inner_, e.index(reflects ? 2 : 1))),
                      e.sub(extent_, behind_));
  }

  void write_sides_of_blocks(Value to, Value from) {
    const auto side = [&](Value first, Value end) {
      e.loop(first, end, one_, [&](Value i) {
        row_.copy(at(to, e.mul(i, block_)), at(from, e.mul(row_.source(e.sub(i, low_), inner_), block_)),
                  block_);
      });
    };
    side(zero_, low_);
    side(behind_, extent_);
  }

  KernelBuilder& e;
  const ExtendPlan& extension_;
  const KernelArgs& args_;
  ExtendParams params_;
  ExtendRowEmitter row_;
  Value zero_, one_, block_, low_, inner_, extent_, length_, inner_length_, behind_;
};

}  // namespace

Launch launch_extend(ir::ExtendOp extend, const CpuTarget& target) {
  const DType dtype = dtype_of_value(extend.getResult());
  const int lanes = target.lanes(size_of(dtype));
  const ExtendRows rows(extend, lanes);
  ExtendPlan extension{.dtype = dtype,
                       .how = extend.getKind(),
                       .lanes = lanes,
                       .kind = rows.kind,
                       .sides = {},
                       .is_extended = {}};
  if (rows.kind == RowKind::registers)
    extension.sides = {rows.along.low, std::min<std::int64_t>(rows.along.inner, lanes), rows.along.high()};
  for (const ExtendedAxis& axis : rows.outer) extension.is_extended.push_back(axis.is_extended());
  Launch launch{{name_of_location(extend.getLoc()), plan_key("extend", extension), extend.getLoc(), {}}, {}};
  ExtendParams::append(launch.params, {{"block", rows.block},
                                       {"low", rows.along.low},
                                       {"inner", rows.along.inner},
                                       {"extent", rows.along.extent}});
  for (const ExtendedAxis& axis : rows.outer)
    ExtendAxisParams::append(
        launch.params,
        {{"extent", axis.extent}, {"low", axis.low}, {"inner", axis.inner}, {"stride", axis.stride}});
  launch.extent = extend.getType().getNumElements() == 0 ? 0 : rows.count;
  launch.grain = grain_for(rows.count, rows.elements());
  launch.request.emit = [extension](KernelBuilder& e, const KernelArgs& args) {
    ExtensionEmitter(e, extension, args).run();
  };
  return launch;
}

}  // namespace kiln::codegen
