// Products of few results by a packed B, over several chunks of k. Lanes are columns, and a tile has
// accumulators of some consecutive chunks, whose sums are added in the order of k.
#include "codegen/cpu/contraction/chunk_columns.h"

#include "codegen/emit/contraction.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/outer_axes.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"
#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

using Value = mlir::Value;
using Values = llvm::SmallVector<Value>;

constexpr ParamNames chunk_columns_names{"k_extent", "columns", "lhs_offset", "lhs_row_stride",
                                         "lhs_k_stride"};
/// The parameters of the batch's axes follow.
using ChunkColumnsParams = KernelParams<chunk_columns_names>;

/// Everything that the code depends on, with its epilogue: equal plans, equal code.
struct ChunkColumnsPlan {
  Tile tile;
  int chunks;  // side by side
  std::int64_t panel;
  DType rhs_dtype;   // in memory
  bool lhs_along_k;  // its elements at consecutive k are neighbours
  std::size_t batch_axes;
  FactorOperands operands;
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"tile", &ChunkColumnsPlan::tile}, PlanField{"chunks", &ChunkColumnsPlan::chunks},
        PlanField{"panel", &ChunkColumnsPlan::panel}, PlanField{"rhs_dtype", &ChunkColumnsPlan::rhs_dtype},
        PlanField{"lhs_along_k", &ChunkColumnsPlan::lhs_along_k},
        PlanField{"batch_axes", &ChunkColumnsPlan::batch_axes},
        PlanField{"operands", &ChunkColumnsPlan::operands});
  }
};

class ChunkColumnsEmitter {
 public:
  ChunkColumnsEmitter(KernelBuilder& e, const ChunkColumnsPlan& plan, Epilogue& epilogue,
                      const KernelArgs& args)
      : e(e),
        plan_(plan),
        tile_(plan.tile),
        epilogue_(epilogue),
        args_(args),
        params_(e, args.params),
        batch_(e, args.params, ChunkColumnsParams::size, plan.batch_axes) {}

  void run() {
    const Value lhs = e.element(e.buffer(args_.buffers, plan_.operands.lhs), params_["lhs_offset"],
                                tile_.dtype),
                rhs = e.buffer(args_.buffers, plan_.operands.rhs);
    lhs_k_stride_ = plan_.lhs_along_k ? e.index(1) : params_["lhs_k_stride"];
    lhs_row_stride_ = params_["lhs_row_stride"];
    e.loop(args_.begin, args_.end, e.index(1), [&](Value task) {
      const Values index = plan_.batch_axes > 0 ? batch_.index(e, task) : Values();
      lhs_ = e.element(lhs, batch_.lhs_offset(e, index), tile_.dtype);
      rhs_ = e.element(rhs, batch_.rhs_offset(e, index), plan_.rhs_dtype);
      const Values totals = sum();
      epilogue_.prepare(e, args_, batch_.end(), index);
      for (int v = 0; v < tile_.vectors; ++v) {
        const Value first = e.index(v * tile_.lanes),
                    mask = e.mask_below(e.sub(params_["columns"], first), tile_.lanes);
        for (int r = 0; r < tile_.rows; ++r)
          epilogue_.store(e, tile_.value(e, totals[number(r, v)]), e.index(r), first, tile_.lanes, mask);
      }
    });
  }

 private:
  std::size_t number(int r, int v) const { return static_cast<std::size_t>(r * tile_.vectors + v); }

  Values sum() {
    const Value zero = e.index(0), k_extent = params_["k_extent"], length = e.index(Tile::chunk);
    const Values none(tile_.registers(), tile_.initial_total(e));
    return Values(e.loop(
        zero, k_extent, e.index(plan_.chunks * Tile::chunk), none, [&](Value group, mlir::ValueRange totals) {
          const Value left = e.sub(k_extent, group),
                      whole = e.min(e.div(left, length), e.index(plan_.chunks));
          return add_group(group, whole,
                           e.select(e.less(whole, e.index(plan_.chunks)), e.rem(left, length), zero), totals);
        }));
  }

  /// The totals with a group of `whole` chunks and, if `rest` is not 0, a shorter one of `rest` values of k,
  /// which ends there. Missing chunks compute the first one.
  Values add_group(Value group, Value whole, Value rest, mlir::ValueRange totals) {
    const Value zero = e.index(0), length = e.index(Tile::chunk),
                end = e.select(e.less(zero, whole), length, rest);
    const Values zeros(tile_.registers() * static_cast<std::size_t>(plan_.chunks),
                       e.number(tile_.dtype, 0, tile_.lanes));
    const Values first = add(group, e.add(whole, e.index(1)), zero, rest, zeros),
                 all = add(group, whole, rest, end, first);
    Values next(totals);
    for (int c = 0; c < plan_.chunks; ++c) {
      const Value is_whole = e.less(e.index(c), whole),
                  is_there = c == 0 ? Value() : e.less(e.index(c), e.add(whole, e.min(rest, e.index(1))));
      for (std::size_t i = 0; i < next.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(c) * next.size() + i;
        const Value total = tile_.plus(e, next[i], e.select(is_whole, all[at], first[at]));
        next[i] = is_there ? e.select(is_there, total, next[i]) : total;
      }
    }
    return next;
  }

  /// `sums` and the products at [from, to) of each of the first `count` chunks.
  Values add(Value group, Value count, Value from, Value to, const Values& sums) {
    llvm::SmallVector<Value> lhs, rhs;
    for (int c = 0; c < plan_.chunks; ++c) {
      const Value start = e.select(e.less(e.index(c), count), e.index(c * Tile::chunk), e.index(0)),
                  first = e.add(group, start);
      lhs.push_back(e.element(lhs_, e.mul(first, lhs_k_stride_), tile_.dtype));
      rhs.push_back(e.element(rhs_, e.mul(first, e.index(plan_.panel)), plan_.rhs_dtype));
    }
    return Values(e.loop(from, to, e.index(1), sums, [&](Value k, mlir::ValueRange before) {
      Values next(before);
      for (int c = 0; c < plan_.chunks; ++c) {
        Values columns;
        const auto chunk = static_cast<std::size_t>(c);
        const Value row = e.element(rhs[chunk], e.mul(k, e.index(plan_.panel)), plan_.rhs_dtype),
                    own = e.element(lhs[chunk], e.mul(k, lhs_k_stride_), tile_.dtype);
        for (int v = 0; v < tile_.vectors; ++v)
          columns.push_back(tile_.load_columns(e, e.element(row, e.index(v * tile_.lanes), plan_.rhs_dtype),
                                               plan_.rhs_dtype));
        for (int r = 0; r < tile_.rows; ++r) {
          const Value a = e.splat(
              e.load_scalar(e.element(own, e.mul(e.index(r), lhs_row_stride_), tile_.dtype), tile_.dtype),
              tile_.lanes);
          for (int v = 0; v < tile_.vectors; ++v) {
            Value& sum = next[chunk * tile_.registers() + number(r, v)];
            sum = tile_.multiply_add(e, a, columns[static_cast<std::size_t>(v)], sum);
          }
        }
      }
      return next;
    }));
  }

  KernelBuilder& e;
  const ChunkColumnsPlan& plan_;
  const Tile& tile_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const ChunkColumnsParams params_;
  const OuterAxes batch_;
  Value lhs_k_stride_, lhs_row_stride_;
  // Of the product.
  Value lhs_, rhs_;
};

}  // namespace

std::optional<Launch> launch_chunk_columns(ir::FusionOp fusion, mlir::Value root, const Contraction& p,
                                           const CpuTarget& target) {
  const DType dtype = dtype_of_value(root);
  const int lanes = Tile::lanes_of(target, dtype, p.panel);
  if (p.unpacked || lanes == 1 || p.panels != 1 || p.k_extent <= Tile::chunk) return std::nullopt;
  const Dims extra_strides[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, extra_strides, /*fixed_in_rows=*/1);
  const llvm::ArrayRef<std::int64_t> batch = llvm::ArrayRef(epilogue.extents()).drop_back();
  const std::int64_t rows = epilogue.extents().back(), vectors = llvm::divideCeilSigned(p.columns, lanes);
  const std::int64_t registers = rows * vectors;
  if (registers == 0 || registers > tuning::min_accumulators / 2) return std::nullopt;
  const std::int64_t chunks =
      std::min(tuning::min_accumulators / registers, llvm::divideCeilSigned(p.k_extent, Tile::chunk));
  const ChunkColumnsPlan plan{.tile = {dtype, static_cast<int>(rows), static_cast<int>(vectors), lanes,
                                       p.byte_products(target, lanes)},
                              .chunks = static_cast<int>(chunks),
                              .panel = p.panel,
                              .rhs_dtype = p.rhs_dtype,
                              .lhs_along_k = p.k_stride == 1,
                              .batch_axes = batch.size(),
                              .operands = FactorOperands::of(p.lhs, p.rhs)};
  Launch launch = planned_launch<ChunkColumnsEmitter>(fusion, "chunk columns", plan, epilogue);
  launch.request.features = plan.tile.features(target);
  ChunkColumnsParams::append(launch.params, {{"k_extent", p.k_extent},
                                             {"columns", p.columns},
                                             {"lhs_offset", p.lhs.offset},
                                             {"lhs_row_stride", epilogue.extra_strides(0).back()},
                                             {"lhs_k_stride", p.k_stride}});
  OuterAxes::append(launch.params, epilogue);
  epilogue.append_params(launch.params);
  launch.extent = mlir::ShapedType::getNumElements(batch);
  launch.grain = grain_for(launch.extent, registers * Tile::cost_of_register(p.k_extent));
  return launch;
}

}  // namespace kiln::codegen
