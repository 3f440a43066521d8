// Emits nests by threads, or rows by teams.
#include "codegen/cuda/division.h"

#include "passes/fuse_rows.h"

#include <llvm/ADT/bit.h>

#include <algorithm>

namespace kiln::codegen {

std::optional<Rows> Rows::of(ir::FusionOp fusion) {
  const auto marked = fusion->getAttrOfType<mlir::DenseI64ArrayAttr>(passes::row_fusion_attr);
  if (!marked) return std::nullopt;
  // Threads have 16 elements of a row each, as far as a block has threads.
  constexpr std::int64_t bytes_of_thread = 64;
  const std::int64_t rows = marked[1], bytes = marked[2];
  const auto threads = llvm::bit_floor(static_cast<std::uint64_t>(bytes / bytes_of_thread));
  return Rows{rows, static_cast<unsigned>(std::clamp<std::uint64_t>(threads, Team::warp, Team::most))};
}

Division::Division(LoopNest nest, std::optional<Rows> rows) : nest_(std::move(nest)), rows_(rows) {}

void Division::set(KernelRequest& request) const {
  request.gpu = block_per_row(rows_->threads);
  request.barrier = [threads = rows_->threads](KernelBuilder& e) { Team(e, threads).barrier(); };
}

std::int64_t Division::extent() const {
  if (nest_.elements() == 0) return 0;
  return rows_ ? rows_->rows : nest_.elements();
}

DivisionPlan Division::plan() const {
  DivisionPlan plan{nest_.has_short_numbers(), {}, rows_ && rows_are_outermost(), nest_.plan()};
  if (rows_) plan.threads = rows_->threads;
  return plan;
}

void Division::append_params(std::vector<std::int64_t>& params) {
  points_at_ = static_cast<std::int64_t>(params.size());
  if (rows_) params.push_back(nest_.elements() / rows_->rows);
}

void Division::emit(KernelBuilder& e, const KernelArgs& args, mlir::Value first, mlir::Value step,
                    const LoopNest::PointBody& body) const {
  const mlir::Value points = e.param(args.params, points_at_, "row_points");
  if (!rows_are_outermost())
    return e.loop(e.add(e.mul(args.begin, points), first), e.mul(args.end, points), step,
                  [&](mlir::Value number) { nest_.emit_point(e, args, {}, number, body); });
  e.loop(args.begin, args.end, e.index(1), [&](mlir::Value row) {
    e.loop(first, points, step, [&](mlir::Value number) { nest_.emit_point(e, args, row, number, body); });
  });
}

void Division::emit_single(KernelBuilder& e, const KernelArgs& args, const LoopNest::PointBody& body) const {
  nest_.emit_point(e, args, {}, args.begin, body);
}

void Division::emit_by_threads(KernelBuilder& e, const KernelArgs& args,
                               const LoopNest::PointBody& body) const {
  if (!by_rows()) return emit_single(e, args, body);
  Team team(e, threads());
  emit(e, args, team.thread(), e.index(team.threads()), body);
}

}  // namespace kiln::codegen
