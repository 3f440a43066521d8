// The division of a nest's points among threads.
#pragma once
#include "codegen/cuda/launch.h"
#include "codegen/cuda/team.h"
#include "codegen/emit/loop_nest.h"
#include "ir/dialect.h"

#include <optional>

namespace kiln::codegen {

/// The rows of a row fusion: a team of threads computes all kernels of a row, with barriers between them.
struct Rows {
  std::int64_t rows;
  unsigned threads;  ///< of the team

  /// Empty for a fusion that is in no row fusion.
  static std::optional<Rows> of(ir::FusionOp fusion);
};

/// The built-in part of a division's code: equal plans, equal loops.
struct DivisionPlan {
  bool short_numbers;               // LoopNest::has_short_numbers()
  std::optional<unsigned> threads;  // of a row's team
  bool rows_are_outermost;          // rows are an axis of the nest
  NestPlan nest;
  static constexpr auto fields() {
    return std::tuple(PlanField{"short_numbers", &DivisionPlan::short_numbers},
                      PlanField{"threads", &DivisionPlan::threads},
                      PlanField{"rows_are_outermost", &DivisionPlan::rows_are_outermost},
                      PlanField{"nest", &DivisionPlan::nest});
  }
};

/// The points of a nest, divided into the iterations of a kernel's outermost loop. An iteration is one point
/// or, in a row fusion, the points of a row.
class Division {
 public:
  Division(LoopNest nest, std::optional<Rows> rows);

  const LoopNest& nest() const { return nest_; }
  std::int64_t extent() const;
  DivisionPlan plan() const;
  /// Call it after all other parameters of the kernel: it notes their number.
  void append_params(std::vector<std::int64_t>& params);

  /// Emits the body at the points of the iterations [args.begin, args.end): at every `step`-th from `first`
  /// on.
  void emit(KernelBuilder& e, const KernelArgs& args, mlir::Value first, mlir::Value step,
            const LoopNest::PointBody& body) const;
  /// Emits the body at the point of an iteration, if iterations are points.
  void emit_single(KernelBuilder& e, const KernelArgs& args, const LoopNest::PointBody& body) const;
  /// Emits the body with a thread per point: the point of an iteration, or the points of a row's team in
  /// turn.
  void emit_by_threads(KernelBuilder& e, const KernelArgs& args, const LoopNest::PointBody& body) const;

  bool by_rows() const { return rows_.has_value(); }
  /// The number of threads of the team that has a row.
  unsigned threads() const { return rows_->threads; }
  /// The launch of that team: a block.
  void set(KernelRequest& request) const;

 private:
  /// Whether the rows are the nest's outermost axis: then the iteration is the index along it.
  bool rows_are_outermost() const { return nest_.rank() > 1 && nest_.outer_extent() == rows_->rows; }

  LoopNest nest_;
  std::optional<Rows> rows_;
  std::int64_t points_at_ = 0;  // parameter: points of a row
};

}  // namespace kiln::codegen
