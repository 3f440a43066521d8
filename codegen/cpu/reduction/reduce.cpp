// Kernels whose root is a reduction: their launch.
#include "codegen/cpu/kernels.h"
#include "codegen/cpu/reduction/reduction.h"
#include "codegen/target/tuning.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Iterations of a thread's piece: whole tiles. Where they are columns, narrow pieces read every row of the
/// operand in small parts, which takes longer than all of it in order.
std::int64_t min_piece(const Reduction& red) {
  if (red.nest.rank() != 1) return 1;
  if (red.along_reduced) return red.tile.columns;
  constexpr std::int64_t columns_of_chains = 64;
  return red.interleaved64 ? tuning::partial_columns : columns_of_chains;
}

}  // namespace

Launch launch_reduce(ir::FusionOp fusion, const CpuTarget& target) {
  const Reduction red = plan_reduction(fusion, target);
  Launch launch{{name_of_location(fusion.getLoc()), plan_key("reduce", red.plan()), fusion.getLoc(), {}}, {}};
  launch.request.in_order = true;
  append_params(launch.params, red);
  launch.extent = red.nest.elements() == 0 ? 0 : red.nest.outer_extent();
  std::int64_t per_iteration =
      red.extent *
      std::max<std::int64_t>(1, red.nest.elements() / std::max<std::int64_t>(1, red.nest.outer_extent()));
  launch.grain = grain_for(launch.extent, per_iteration, min_piece(red));

  launch.request.emit = [red](KernelBuilder& e, const KernelArgs& args) { emit_reduction(e, red, args); };
  return launch;
}

}  // namespace kiln::codegen
