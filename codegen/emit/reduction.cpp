// Kernels whose root is a reduction: which axes are kept and reduced, and along which of them lanes run.
#include "codegen/emit/reduction.h"

#include "codegen/emit/tile.h"
#include "codegen/target/choices.h"
#include "codegen/target/tuning.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

/// The kept or the reduced axes, merged where every access allows it.
struct AxisGroup {
  Dims extents;
  llvm::SmallVector<Dims> strides;  // per access

  void add_axis(std::int64_t extent, llvm::ArrayRef<std::int64_t> access_strides) {
    strides.resize(access_strides.size());
    extents.push_back(extent);
    for (std::size_t s = 0; s < access_strides.size(); ++s) strides[s].push_back(access_strides[s]);
  }
  void collapse(std::size_t accesses) {
    strides.resize(accesses);
    ir::collapse_axes(extents, strides);
  }
};

/// The number of levels for `extent` elements: a factor of 1024 each.
int levels_for(std::int64_t extent) {
  const unsigned bits = llvm::Log2_64_Ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)));
  return static_cast<int>(std::max(llvm::divideCeil(bits, unsigned{block_bits}), 1u));
}
/// The accesses of a reduction: leaves of `before`, leaves of `after` except the root, outputs. Their strides
/// are over the axes of the operand; accesses over the result have 0 along the reduced axes.
struct ReductionAccesses {
  std::vector<StridedAccess> all;  // without strides
  std::vector<Dims> strides;
  std::vector<std::size_t> after_access;  // per leaf of `after`
  std::size_t first_output;

  ReductionAccesses(const ScalarExpr& before, const ScalarExpr& after, llvm::ArrayRef<Output> outputs,
                    int arguments, llvm::ArrayRef<bool> reduced) {
    const auto over_operand = [&](const Dims& result_strides) {
      Dims strides;
      std::size_t next = 0;
      for (const bool is_reduced : reduced) strides.push_back(is_reduced ? 0 : result_strides[next++]);
      return strides;
    };
    for (const Leaf& leaf : before.leaves()) {
      if (leaf.kind == Leaf::Kind::iota) {
        all.push_back({.dtype = leaf.dtype, .operand = -1, .strides = {}, .read = false});
        strides.emplace_back(reduced.size(), 0)[static_cast<std::size_t>(leaf.axis)] = 1;
        continue;
      }
      if (leaf.kind != Leaf::Kind::memory) fail_internal("a reduction reads a value that is not in memory");
      all.push_back({leaf.dtype, static_cast<int>(leaf.argument), {}, leaf.view.offset, false});
      strides.push_back(leaf.view.strides);
    }
    for (const Leaf& leaf : after.leaves()) {
      after_access.push_back(all.size());
      if (leaf.kind == Leaf::Kind::root) continue;
      if (leaf.kind != Leaf::Kind::memory)
        fail_internal("the epilogue of a reduction reads a value that is not in memory");
      all.push_back({leaf.dtype, static_cast<int>(leaf.argument), {}, leaf.view.offset});
      strides.push_back(over_operand(leaf.view.strides));
    }
    first_output = all.size();
    for (auto [i, out] : llvm::enumerate(outputs)) {
      all.push_back({dtype_of_value(out.value), arguments + static_cast<int>(i), {}, out.view.offset, false});
      strides.push_back(over_operand(out.view.strides));
    }
  }
};

/// The kept and the reduced axes.
struct Axes {
  AxisGroup kept, inner;

  Axes(llvm::ArrayRef<std::int64_t> shape, llvm::ArrayRef<bool> reduced, llvm::ArrayRef<Dims> strides) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      llvm::SmallVector<std::int64_t> s;
      for (const Dims& all : strides) s.push_back(all[axis]);
      (reduced[axis] ? inner : kept).add_axis(shape[axis], s);
    }
    kept.collapse(strides.size());
    inner.collapse(strides.size());
    if (inner.extents.size() > 1)
      fail_internal("a reduction over axes that cannot be merged reached code generation");
  }
};

/// Whether the unit stride is along a kept axis, as in means over images with the channels last.
bool kept_axis_is_contiguous(llvm::ArrayRef<std::int64_t> steps, llvm::ArrayRef<StridedAccess> accesses,
                             const Dims& kept_extents, int lanes) {
  bool gathered = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (stride_class(accesses[i].strides.back()) == 2) return false;
    gathered |= stride_class(steps[i]) == 2;
  }
  return gathered && kept_extents.back() >= lanes;
}

/// Whether chains are read faster one by one than by lanes along a kept axis: there is one result, or lanes
/// would gather elements that are contiguous along chains.
bool chains_are_contiguous(llvm::ArrayRef<std::int64_t> steps, llvm::ArrayRef<StridedAccess> accesses,
                           const Dims& kept_extents) {
  if (kept_extents.empty()) return true;
  bool any = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const int across = stride_class(accesses[i].strides.back());
    if (across == 1 && steps[i] != 1) return false;
    any |= across == 2 && steps[i] == 1;
  }
  return any;
}

/// Whether rows are so short that sharing a register is better than filling one each. Such rows have one
/// element, or a few registers that are contiguous in all arrays that vary along the row.
bool has_short_rows(const ScalarExpr& before, llvm::ArrayRef<std::int64_t> steps,
                    llvm::ArrayRef<StridedAccess> accesses, const Dims& kept_extents, std::int64_t extent,
                    int lanes) {
  // A partial result is one element. Longer rows of whole registers need no masks.
  constexpr std::int64_t max_elements = partials, max_in_whole_registers = 32;
  if (lanes == 1 || extent < 1 || extent > max_elements ||
      (extent > max_in_whole_registers && extent % lanes == 0) || kept_extents.empty() ||
      kept_extents.back() < lanes || !is_light(before))
    return false;
  bool any = extent == 1;
  for (auto [i, leaf] : llvm::enumerate(before.leaves())) {
    if (steps[i] == 0 || leaf.kind == Leaf::Kind::iota) continue;
    if (steps[i] != 1 || stride_class(accesses[i].strides.back()) != 2) return false;
    if (!is_floating(leaf.dtype) && size_of(leaf.dtype) < 4) return false;
    any = true;
  }
  return any;
}

/// Tile of results that reuse a reduced operand. Used if columns are contiguous, or if an operand too large
/// for L1 is invariant over rows or columns.
ResultTile tile_of(const ScalarExpr& before, llvm::ArrayRef<std::int64_t> steps,
                   llvm::ArrayRef<StridedAccess> accesses, const Dims& kept, std::int64_t extent,
                   const Machine& machine) {
  if (kept.empty() || extent <= partials || !is_light(before)) return {};
  bool same_in_columns = false, same_in_rows = false, neighbours = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] == 0 || accesses[i].operand < 0) continue;
    const bool is_long =
        extent * static_cast<std::int64_t>(size_of(accesses[i].dtype)) > choices::shared_row_bytes(machine);
    same_in_columns |= is_long && accesses[i].strides.back() == 0;
    same_in_rows |= is_long && is_shared_by_rows(accesses[i]);
    neighbours |= stride_class(steps[i]) == 2 && accesses[i].strides.back() == 1;
  }
  const auto part = [](std::int64_t all, int most) { return TileSplit(all, most).rows.most; };
  ResultTile tile;
  if (neighbours && kept.back() <= tuning::max_tile_results)
    tile.columns = static_cast<int>(kept.back());
  else if (same_in_columns)
    tile.columns = part(kept.back(), tuning::usual_tile_results);
  tile.covers_rows = kept.size() > 1 && kept.back() % tile.columns == 0;
  if (same_in_rows) tile.rows = part(kept[kept.size() - 2], tuning::max_tile_results / tile.columns);
  return tile.points() > 1 ? tile : ResultTile();  // one result: the same code for any number of columns
}

}  // namespace

Reduction plan_reduction(ir::FusionOp fusion, const CpuTarget& target) {
  const auto outputs = outputs_of(fusion);
  const auto roots = llvm::to_vector(fusion.getBody().getOps<ir::ReduceOp>());
  auto kinds = llvm::map_to_vector(roots, [](ir::ReduceOp r) { return r.getKind(); });
  ir::ReduceOp root = roots.front();  // the others have its type and axes
  const llvm::ArrayRef<std::int64_t> shape = ir::ranked(root.getX()).getShape();
  llvm::SmallVector<bool> reduced(shape.size(), false);
  for (const std::int64_t axis : root.getAxes()) reduced[static_cast<std::size_t>(axis)] = true;

  ScalarExpr before(llvm::map_to_vector(roots, [](ir::ReduceOp r) -> mlir::Value { return r.getX(); }));
  ScalarExpr after(values_of(outputs),
                   llvm::map_to_vector(roots, [](ir::ReduceOp r) -> mlir::Value { return r.getResult(); }));
  ReductionAccesses accesses(before, after, outputs, static_cast<int>(fusion.getNumOperands()), reduced);
  const auto [kept, inner] = Axes(shape, reduced, accesses.strides);
  for (std::size_t s = 0; s < accesses.all.size(); ++s) accesses.all[s].strides = kept.strides[s];

  DType dtype = dtype_of_value(root.getX());
  int lanes = target.lanes(std::max(before.widest(), after.widest()));
  const bool interleaved64 = reduced.empty() || reduced.back();
  Dims steps;
  for (std::size_t i = 0; i < before.leaves().size(); ++i)
    steps.push_back(inner.extents.empty() ? 0 : inner.strides[i][0]);
  const std::int64_t extent = inner.extents.empty() ? 1 : inner.extents[0];
  const bool short_rows =
      interleaved64 && has_short_rows(before, steps, accesses.all, kept.extents, extent, lanes);
  const bool along_reduced =
      interleaved64 ? !short_rows && (kept.extents.empty() ||
                                      !kept_axis_is_contiguous(steps, accesses.all, kept.extents, lanes))
                    : chains_are_contiguous(steps, accesses.all, kept.extents);
  // max_nnan of a row with a NaN depends on the partial results that are omitted, and is irrelevant.
  const bool register_tree =
      short_rows || (interleaved64 && !along_reduced && extent > 0 && extent <= partials &&
                     !llvm::is_contained(kinds, ir::Reduce::max_nnan) && is_light(before));
  if (along_reduced) lanes = interleaved64 ? target.lanes(before.widest()) : 1;  // epilogues have one lane
  int registers = std::min(before.registers_at_once(), partials / lanes);
  if (along_reduced && lanes > 1) lanes *= registers;
  // Elements of a result are so far apart that their lines do not stay in L1: reduce a whole line of columns
  // at a time, if registers hold its tree.
  if (register_tree) registers = !short_rows && lanes * size_of(dtype) < tuning::cache_line_bytes ? 2 : 1;
  const ResultTile tile = along_reduced && lanes > 1
                              ? tile_of(before, steps, accesses.all, kept.extents, extent, *target.machine)
                              : ResultTile();
  const std::int64_t bytes = ir::bytes_of(root.getX());
  // Hardware prefetchers keep up with one stream from memory.
  const std::int64_t prefetch_bytes = along_reduced && interleaved64 && tile.points() == 1 &&
                                              choices::prefetches_stream(*target.machine, bytes) &&
                                              !choices::comes_from_memory(*target.machine, bytes)
                                          ? choices::stream_prefetch_bytes(*target.machine, bytes)
                                          : 0;
  return {.kinds = std::move(kinds),
          .dtype = dtype,
          .before = std::move(before),
          .after = std::move(after),
          .nest = LoopNest(kept.extents, std::move(accesses.all), along_reduced ? 1 : lanes, registers,
                           tile.rows),
          .extent = extent,
          .steps = std::move(steps),
          .lanes = lanes,
          .interleaved64 = interleaved64,
          .levels = levels_for(extent),
          .along_reduced = along_reduced,
          .register_tree = register_tree,
          .short_rows = short_rows,
          .tile = tile,
          .prefetch_bytes = prefetch_bytes,
          .after_access = std::move(accesses.after_access),
          .first_output = accesses.first_output};
}

bool is_light(const ScalarExpr& expr) {
  return expr.operations() - expr.constants() <= 4 && expr.registers_at_once() == 1;
}

std::optional<Reduction::Column> Reduction::column_of(std::size_t access) const {
  const StridedAccess& one = nest.accesses()[access];
  const bool stays = access >= steps.size() || steps[access] == 0;
  if (!short_rows || !stays || one.operand < 0 || access >= first_output) return std::nullopt;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StridedAccess& row = nest.accesses()[i];
    const std::int64_t number = one.offset - row.offset;
    if (has_columns(i) && row.operand == one.operand && row.dtype == one.dtype &&
        row.strides == one.strides && number >= 0 && number < extent)
      return Column{i, number};
  }
  return std::nullopt;
}

ReductionPlan Reduction::plan() const {
  ReducedLoops loops{.interleaved64 = interleaved64,
                     .along_reduced = along_reduced,
                     .levels = levels,
                     .lanes = lanes,
                     .tree_extent = register_tree ? std::optional(extent) : std::nullopt,
                     .short_rows = short_rows,
                     .prefetch_bytes = prefetch_bytes,
                     .leaves = {},
                     .columns = {}};
  for (auto [i, step] : llvm::enumerate(steps)) {
    ReducedLeaf leaf{.step = {}, .step_class = {}, .adjoins = false};
    if (register_tree || loads_between(i)) {
      leaf.step = step;
      leaf.adjoins = adjoins(i);
    } else if (along_reduced || is_index(i)) {
      leaf.step_class = stride_class(step);
    }
    loops.leaves.push_back(leaf);
  }
  for (std::size_t access = 0; access < first_output; ++access)
    if (const auto column = column_of(access))
      loops.columns.push_back({access, column->leaf, column->number});
  return {.kinds = {kinds.begin(), kinds.end()},
          .dtype = dtype,
          .tile = tile,
          .loops = std::move(loops),
          .nest = nest.plan(),
          .before = before.text(),
          .after = after.text()};
}

void append_params(std::vector<std::int64_t>& params, const Reduction& red) {
  red.nest.append_params(params);
  ReduceParams::append(params, {{"reduced_extent", red.extent}});
  for (const std::int64_t step : red.steps) ReduceLeafParams::append(params, {{"reduced_stride", step}});
}

}  // namespace kiln::codegen
