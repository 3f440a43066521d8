// Pointwise kernels: loops over a box with one expression per point. Copies and fills are expressions, too.
#include "codegen/cpu/kernels.h"
#include "codegen/emit/loop_nest.h"
#include "codegen/emit/pointwise_body.h"
#include "codegen/emit/scalar_expr.h"
#include "codegen/target/choices.h"
#include "codegen/target/tuning.h"
#include "passes/fuse_rows.h"

#include <llvm/Support/MathExtras.h>

#include <numeric>

namespace kiln::codegen {
namespace {

/// Merges axes where all accesses allow it. Rows as short as the registers that are computed at once are
/// merged even if they share elements; `multiple` as for join_repeats().
void collapse(Dims& extents, std::vector<StridedAccess>& accesses, int lanes, int registers,
              std::int64_t multiple = 0) {
  llvm::SmallVector<Dims> strides;
  for (StridedAccess& s : accesses) strides.push_back(s.strides);
  ir::collapse_axes(extents, strides);
  for (std::size_t i = 0; i < accesses.size(); ++i) accesses[i].strides = strides[i];
  join_repeats(extents, accesses, lanes, registers, multiple);
}

/// Lanes of a register, and unroll factors of the innermost loops: rows, and registers of a row.
struct Unroll {
  int lanes, rows = 1, registers = 1;
};

/// Whether the rows of the box share an operand, such as a bias.
bool rows_share_operands(const std::vector<StridedAccess>& accesses) {
  return llvm::any_of(accesses, [](const StridedAccess& s) {
    return s.operand >= 0 && s.read && s.strides.back() == 1 && is_shared_by_rows(s);
  });
}

/// For short expressions loop overhead is as large as the work: unroll, if rows are long enough that
/// remainders do not matter. If rows share operands, unroll over two rows to halve their loads. (A box of one
/// axis is bound by memory, or short.)
Unroll unroll_rows(const ScalarExpr& expr, llvm::ArrayRef<std::int64_t> axes,
                   const std::vector<StridedAccess>& accesses, int lanes) {
  constexpr int most = 4, operations_at_once = 16, min_turns = 8;
  const int registers = expr.registers_at_once();
  if (registers > 1 || axes.size() < 2 || axes.back() < min_turns * most * lanes)
    return {lanes, 1, registers};
  const auto operations = static_cast<int>(expr.operations());
  const int all = std::clamp(operations_at_once / std::max(operations, 1), 1, most);
  return all > 1 && rows_share_operands(accesses) ? Unroll{lanes, 2, all / 2} : Unroll{lanes, 1, all};
}

/// Where a function is applied to the result of another one, a processor does not see the next step of the
/// loop before it has issued both chains, and waits for one after the other. Several groups of registers then
/// go through each function together. Functions that keep single registers busy have longer chains.
int groups_at_once(const ScalarExpr& expr) {
  constexpr int most = 4;
  const int depth = expr.function_depth();
  if (depth < 2) return 1;
  const int groups = std::min(depth + 1, most);
  return expr.registers_at_once() > 1 ? groups : 2 * groups;
}

/// Points of the squares that cover the last two axes; the last squares overlap their predecessors.
std::int64_t covered_by_squares(const Dims& extents, std::int64_t side) {
  const auto covered = [&](std::int64_t extent) { return llvm::divideCeilSigned(extent, side) * side; };
  return covered(extents[extents.size() - 2]) * covered(extents.back());
}

/// For an operand that reads transposed: moves its contiguous axis inward and unrolls over as many rows as a
/// cache line has elements, so that whole lines are read. (Writing whole lines, too, gained nothing.)
/// Registers are not longer than rows, and half as long if this saves a twentieth of the points. If there is
/// one row more than a square has, so that another square would overlap it, squares twice as wide have all.
std::optional<Unroll> unroll_for_transposes(std::size_t operations, Dims& extents,
                                            std::vector<StridedAccess>& accesses, int lanes,
                                            std::size_t bytes, bool keep_outermost) {
  constexpr std::size_t max_operations = 4, min_masked_bytes = 4;
  constexpr int min_half = 8;
  int side = move_transposed_axis_inward(extents, accesses, lanes, keep_outermost);
  if (side == 0) return std::nullopt;
  const std::int64_t rows = extents[extents.size() - 2];
  if (rows > side && rows <= side + side / 8 && rows < lanes && extents.back() >= lanes &&
      extents.size() > 2 && bytes >= min_masked_bytes)
    return Unroll{lanes, static_cast<int>(rows)};
  if (side >= 2 * min_half &&
      21 * covered_by_squares(extents, side / 2) <= 20 * covered_by_squares(extents, side))
    side /= 2;
  const int line = static_cast<int>(tuning::cache_line_bytes / static_cast<std::int64_t>(bytes));
  return Unroll{side, operations > max_operations ? side : std::max(side, line)};
}

void set_geometry(Launch& launch, const LoopNest& nest, std::int64_t cost) {
  nest.append_params(launch.params);
  launch.extent = nest.outer_extent();
  std::int64_t inner = nest.elements() / std::max<std::int64_t>(1, launch.extent);
  // Threads divide a single axis at whole registers and cache lines, and between groups of points that share
  // elements. They divide the outer of two axes between blocks of unrolled rows.
  const std::int64_t multiple = nest.rank() == 1   ? std::lcm(std::int64_t{64}, nest.group())
                                : nest.rank() == 2 ? nest.rows()
                                                   : 1;
  launch.grain = grain_for(launch.extent, std::max<std::int64_t>(1, inner) * cost, multiple);
  if (nest.elements() == 0) launch.extent = 0;
}

/// Whether the only result is contiguous and too large for the caches. (Scalar code has no registers that it
/// could store so.)
bool writes_nontemporally(const LoopNest& nest, std::size_t first_output, const CpuTarget& target) {
  const StridedAccess& result = nest.accesses()[first_output];
  return target.isa != Isa::scalar && nest.lanes() > 1 && nest.accesses().size() == first_output + 1 &&
         nest.rank() == 1 && result.strides[0] == 1 && result.offset == 0 &&
         choices::stores_nontemporally(*target.machine,
                                       nest.elements() * static_cast<std::int64_t>(size_of(result.dtype)));
}

/// The plan of the code: equal plans, equal code.
struct PointwisePlan {
  NestPlan nest;
  bool nontemporal, software_prefetch;
  std::string expression;
  static constexpr auto fields() {
    return std::tuple(PlanField{"nest", &PointwisePlan::nest},
                      PlanField{"nontemporal", &PointwisePlan::nontemporal},
                      PlanField{"software_prefetch", &PointwisePlan::software_prefetch},
                      PlanField{"expression", &PointwisePlan::expression});
  }
};

struct Pointwise {
  PointwiseBody body;
  LoopNest nest;
  bool nontemporal, software_prefetch;

  PointwisePlan plan() const { return {nest.plan(), nontemporal, software_prefetch, body.expr.text()}; }
};

class PointwiseLoops {
 public:
  using Value = mlir::Value;

  PointwiseLoops(KernelBuilder& e, const Pointwise& kernel, const KernelArgs& args)
      : e(e), kernel_(kernel), args_(args), body_(e, kernel.body, kernel.nest, args) {}

  void run() {
    if (!kernel_.nontemporal) return loops(false);
    const StridedAccess& result = kernel_.nest.accesses()[kernel_.body.first_output];
    e.when(
        e.is_line_aligned(e.element(e.buffer(args_.buffers, result.operand), args_.begin, result.dtype)),
        [&] {
          loops(true);
          e.fence_nontemporal_stores();
        },
        [&] { loops(false); });
  }

 private:
  void loops(bool nontemporal) {
    kernel_.nest.emit_blocks(e, args_, [&](llvm::MutableArrayRef<LoopPoint> rows) {
      // All rows are loaded before the first is stored, so that a shared operand is loaded once.
      const auto results = body_.values(rows, kernel_.software_prefetch);
      for (auto [at, values] : llvm::zip(rows, results))
        for (auto [i, value] : llvm::enumerate(values)) {
          const std::size_t output = kernel_.body.first_output + i;
          nontemporal ? at.store_nontemporal(output, value) : at.store(output, value);
        }
    });
  }

  KernelBuilder& e;
  const Pointwise& kernel_;
  const KernelArgs& args_;
  PointwiseEmitter body_;
};

/// Makes one outermost loop of the axes whose points are `rows`, as reductions have it, so that a block may
/// be some of them.
void join_rows(LoopNest& nest, std::int64_t rows) {
  std::int64_t points = 1;
  for (std::size_t axis = 0; axis + 1 < nest.rank() && points < rows; ++axis) {
    points *= nest.extents()[axis];
    if (points == rows) nest.join_outermost(axis + 1);
  }
}

/// The loops of a fusion, unrolled.
LoopNest make_lane_nest(ir::FusionOp fusion, const ScalarExpr& expr, Dims extents,
                        std::vector<StridedAccess> accesses, const CpuTarget& target) {
  const int lanes = target.lanes(expr.widest());
  // Kernels of a row fusion have the same outermost loop, and blocks begin at any of its rows.
  const auto row_fusion = fusion->getAttrOfType<mlir::DenseI64ArrayAttr>(passes::row_fusion_attr);
  const bool in_row_fusion = row_fusion != nullptr;
  const std::int64_t row_points =
      in_row_fusion ? mlir::ShapedType::getNumElements(extents) / row_fusion[1] : 0;
  collapse(extents, accesses, lanes, expr.registers_at_once(), row_points);
  const auto transposing =
      expr.registers_at_once() == 1
          ? unroll_for_transposes(expr.operations(), extents, accesses, lanes, expr.widest(), in_row_fusion)
          : std::nullopt;
  const Unroll unroll = transposing ? *transposing : unroll_rows(expr, extents, accesses, lanes);
  LoopNest nest(std::move(extents), std::move(accesses), unroll.lanes, unroll.registers, unroll.rows);
  nest.allow_overlaps();
  if (!transposing) nest.take_groups(groups_at_once(expr));
  if (in_row_fusion && !transposing) join_rows(nest, row_fusion[1]);
  return nest;
}

}  // namespace

Launch launch_pointwise(ir::FusionOp fusion, const CpuTarget& target) {
  PointwiseFusion pointwise(fusion);
  const ScalarExpr& expr = pointwise.body.expr;
  const LoopNest nest =
      make_lane_nest(fusion, expr, std::move(pointwise.extents), std::move(pointwise.accesses), target);
  // Prefetch large contiguous arrays, which stream from memory (rows may be in L1 by row fusion), and the
  // operands of functions, whose computation hides the latency. An operand and the result share the caches,
  // half each.
  const bool software_prefetch =
      (expr.registers_at_once() > 1 || nest.rank() == 1) &&
      choices::prefetches_stream(*target.machine,
                                 nest.elements() * static_cast<std::int64_t>(expr.widest()) / 2);
  const Pointwise kernel{.body = pointwise.body,
                         .nest = nest,
                         .nontemporal = writes_nontemporally(nest, pointwise.body.first_output, target),
                         .software_prefetch = software_prefetch};
  Launch launch{
      {name_of_location(fusion.getLoc()), plan_key("pointwise", kernel.plan()), fusion.getLoc(), {}}, {}};
  launch.request.in_order = true;
  launch.uses_random = kernel.body.uses_random();
  set_geometry(launch, nest, 1 + static_cast<std::int64_t>(expr.text().size() / 40));
  kernel.body.append_params(launch.params);
  launch.request.emit = [kernel](KernelBuilder& e, const KernelArgs& args) {
    PointwiseLoops(e, kernel, args).run();
  };
  return launch;
}

Launch launch_copy(const StridedBox& box, DType dtype, const CpuTarget& target, mlir::Location loc) {
  std::vector<StridedAccess> accesses{{dtype, 0, box.from_strides, box.from_offset},
                                      {dtype, 1, box.to_strides, box.to_offset, false}};
  Dims extents = box.shape;
  const int lanes = target.lanes(size_of(dtype));
  collapse(extents, accesses, lanes, 1);
  const Unroll unroll =
      unroll_for_transposes(0, extents, accesses, lanes, size_of(dtype), false).value_or(Unroll{lanes});
  LoopNest nest(std::move(extents), std::move(accesses), unroll.lanes, unroll.registers, unroll.rows);
  nest.allow_overlaps();
  Launch launch{{name_of_location(loc), plan_key("copy", nest.plan()), loc, {}}, {}};
  launch.request.words = "copy";
  set_geometry(launch, nest, 1);
  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    nest.emit_blocks(e, args, [&](llvm::MutableArrayRef<LoopPoint> rows) {
      for (LoopPoint& at : rows) at.store(1, at.load(0));
    });
  };
  return launch;
}

}  // namespace kiln::codegen
