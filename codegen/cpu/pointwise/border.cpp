// The border of a pad, filled with one number in one kernel for all sides.
#include "codegen/cpu/kernels.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/scalar_expr.h"

#include <llvm/ADT/STLExtras.h>

namespace kiln::codegen {
namespace {

using Value = mlir::Value;

double number_of(mlir::TypedAttr value) {
  if (auto f = llvm::dyn_cast<mlir::FloatAttr>(value)) return f.getValueAsDouble();
  return static_cast<double>(llvm::cast<mlir::IntegerAttr>(value).getValue().getSExtValue());
}

/// The loops over a padded array: the axes outside of the last padded one are merged outer axes; a row,
/// contiguous in memory, is the rest.
struct BorderRows {
  struct Axis {
    std::int64_t extent, low, inner;
    bool is_padded() const { return inner != extent; }
  };
  llvm::SmallVector<Axis> outer;
  std::int64_t count = 1, elements = 1;  // rows, and elements of one
  std::int64_t head = 0, tail = 0;       // border elements of an inner row before and after the operand's

  explicit BorderRows(ir::PadOp pad) {
    const auto shape = ir::ranked(pad.getResult()).getShape(), inner = ir::ranked(pad.getX()).getShape();
    std::size_t last = shape.size();
    while (last > 0 && shape[last - 1] == inner[last - 1]) elements *= shape[--last];
    if (last-- == 0) return;
    head = pad.getLow()[last] * elements;
    tail = pad.getHigh()[last] * elements;
    elements *= shape[last];
    for (std::size_t i = 0; i < last; ++i) {
      count *= shape[i];
      const Axis axis{shape[i], pad.getLow()[i], inner[i]};
      if (outer.empty() || outer.back().is_padded() || axis.is_padded())
        outer.push_back(axis);
      else
        outer.back() = {outer.back().extent * shape[i], 0, outer.back().inner * shape[i]};
    }
  }
};

constexpr ParamNames border_names{"row_elements", "head", "tail"};
constexpr ParamNames border_axis_names{"extent", "low", "inner_extent"};
using BorderParams = KernelParams<border_names>;
using BorderAxisParams = KernelParams<border_axis_names>;

/// Everything that the code depends on: equal plans, equal code.
struct BorderPlan {
  DType dtype;
  int lanes;
  double value;
  std::vector<bool> padded_axes;  // which of the outer axes are
  static constexpr auto fields() {
    return std::tuple(PlanField{"dtype", &BorderPlan::dtype}, PlanField{"lanes", &BorderPlan::lanes},
                      PlanField{"value", &BorderPlan::value},
                      PlanField{"padded_axes", &BorderPlan::padded_axes});
  }
};

}  // namespace

Launch launch_border(ir::PadOp pad, const CpuTarget& target) {
  const BorderRows rows(pad);
  const DType dtype = dtype_of_value(pad.getResult());
  BorderPlan plan{dtype, target.lanes(size_of(dtype)),
                  number_of(llvm::cast<mlir::TypedAttr>(pad.getValueAttr()))};
  for (const BorderRows::Axis& axis : rows.outer) plan.padded_axes.push_back(axis.is_padded());
  Launch launch{{name_of_location(pad.getLoc()), plan_key("border", plan), pad.getLoc(), {}}, {}};
  launch.request.words = "border";
  BorderParams::append(launch.params,
                       {{"row_elements", rows.elements}, {"head", rows.head}, {"tail", rows.tail}});
  for (const BorderRows::Axis& axis : rows.outer)
    BorderAxisParams::append(launch.params,
                             {{"extent", axis.extent}, {"low", axis.low}, {"inner_extent", axis.inner}});
  const std::int64_t border =
      ir::ranked(pad.getResult()).getNumElements() - ir::ranked(pad.getX()).getNumElements();
  launch.extent = border == 0 ? 0 : rows.count;
  // Lines that no cache holds yet take their time.
  constexpr std::int64_t cost = 3;
  launch.grain = grain_for(rows.count, cost * border / std::max<std::int64_t>(rows.count, 1));

  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    const auto& [dtype, lanes, number, axes] = plan;
    const BorderParams params(e, args.params);
    const Value zero = e.index(0), step = e.index(lanes), length = params["row_elements"];
    const auto fill = [&](Value row, Value from, Value to) {
      const auto whole = e.whole_steps(from, to, step);
      e.loop(from, whole, step, [&](Value i) {
        e.store(e.number(dtype, number, lanes), e.element(row, i, dtype), dtype, lanes);
      });
      e.loop(whole, to, e.index(1),
             [&](Value i) { e.store(e.number(dtype, number, 1), e.element(row, i, dtype), dtype, 1); });
    };
    e.loop(args.begin, args.end, e.index(1), [&](Value r) {
      const Value row = e.element(e.buffer(args.buffers, 0), e.mul(r, length), dtype);
      const auto fill_sides = [&] {
        fill(row, zero, params["head"]);
        fill(row, e.sub(length, params["tail"]), length);
      };
      Value rest = r, is_inner;
      for (std::size_t i = axes.size(); i-- > 0;) {
        const auto axis = params.group<BorderAxisParams>(i);
        const Value extent = axis["extent"];
        if (axes[i]) {  // indices before the operand's are large unsigned numbers
          const Value inside =
              mlir::arith::CmpIOp::create(e.b, e.loc, mlir::arith::CmpIPredicate::ult,
                                          e.sub(e.rem(rest, extent), axis["low"]), axis["inner_extent"]);
          is_inner =
              is_inner ? mlir::arith::AndIOp::create(e.b, e.loc, is_inner, inside).getResult() : inside;
        }
        rest = e.div(rest, extent);
      }
      if (is_inner)
        e.when(is_inner, fill_sides, [&] { fill(row, zero, length); });
      else
        fill_sides();
    });
  };
  return launch;
}

}  // namespace kiln::codegen
