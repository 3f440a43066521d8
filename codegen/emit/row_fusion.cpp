// Fuses the steps of row fusions.
#include "codegen/emit/row_fusion.h"

#include "codegen/emit/launch.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/target/choices.h"
#include "codegen/target/tuning.h"

#include <llvm/ADT/STLExtras.h>

namespace kiln::codegen {
namespace {

using Steps = llvm::MutableArrayRef<PlannedStep>;

bool same_row_fusion(const PlannedStep& a, const PlannedStep& b) {
  return a.row_fusion && b.row_fusion && a.row_fusion[0] == b.row_fusion[0] &&
         a.request->gpu.threads == b.request->gpu.threads;
}

/// The number of rows that the outermost loops of all steps can be divided into; 1: none. Each of these loops
/// runs over the leading axes of the kernel's results, in their order (launch_pointwise() keeps it so).
std::int64_t common_rows(Steps steps) {
  const std::int64_t marked = steps.front().row_fusion[1];
  std::int64_t rows = marked;
  for (const PlannedStep& s : steps) rows = std::min(rows, s.step.extent);
  const bool divides = marked % rows == 0 &&
                       llvm::all_of(steps, [&](const PlannedStep& s) { return s.step.extent % rows == 0; });
  return divides ? rows : 1;
}

/// An operand whose next row block is prefetched, and the position of the parameter with the byte distance.
struct NextBlock {
  int operand;
  std::size_t distance_at;
  static constexpr auto fields() {
    return std::tuple(PlanField{"operand", &NextBlock::operand},
                      PlanField{"distance_at", &NextBlock::distance_at});
  }
};

/// A kernel of a row fusion: the positions of its operands and parameters among all kernels' ones, and the
/// iterations of its loop per row: row i is [i * per_row, (i + 1) * per_row).
struct RowFusionPart {
  std::string kernel;  // its key
  std::int64_t operands_at, params_at, per_row;
  std::vector<NextBlock> next_blocks = {};
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"kernel", &RowFusionPart::kernel}, PlanField{"operands_at", &RowFusionPart::operands_at},
        PlanField{"params_at", &RowFusionPart::params_at}, PlanField{"per_row", &RowFusionPart::per_row},
        PlanField{"next_blocks", &RowFusionPart::next_blocks});
  }
};

/// The plan of a row fusion's code: equal plans, equal code. The parameter at `block_at`, after the
/// parameters of all kernels, is the number of rows of a block.
struct RowFusionPlan {
  std::int64_t block_at;
  std::vector<RowFusionPart> parts;
  static constexpr auto fields() {
    return std::tuple(PlanField{"block_at", &RowFusionPlan::block_at},
                      PlanField{"parts", &RowFusionPlan::parts});
  }
};

/// The computations of all kernels, as far as they fit: "max_sub_exp_sum_div".
std::string joined_words(llvm::ArrayRef<KernelRequest> kernels) {
  std::string all;
  for (const KernelRequest& k : kernels)
    if (all.size() + k.words.size() < max_words_length) all += (all.empty() ? "" : "_") + k.words;
  return all;
}

/// The fused kernel is a loop over row blocks whose body is the kernels' code in sequence.
KernelRequest request_of(RowFusionPlan plan, std::vector<KernelRequest> kernels, mlir::Location location) {
  std::string key = plan_key("row fusion", plan);
  const GpuLaunch gpu = kernels.front().gpu;
  const bool in_order = llvm::any_of(kernels, [](const KernelRequest& k) { return k.in_order; });
  const bool flushes = llvm::any_of(kernels, [](const KernelRequest& k) { return k.flushes_subnormals; });
  std::string words = joined_words(kernels), features;
  for (const KernelRequest& k : kernels)
    if (!k.features.empty()) features += (features.empty() ? "" : ",") + k.features;
  auto emit = [plan = std::move(plan), kernels = std::move(kernels)](KernelBuilder& e,
                                                                     const KernelArgs& args) {
    const mlir::Value block = e.param(args.params, plan.block_at, "block_rows");
    e.loop(args.begin, args.end, block, [&](mlir::Value from) {
      const mlir::Value to = e.min(e.add(from, block), args.end);
      for (const auto& [p, kernel] : llvm::zip_equal(plan.parts, kernels)) {
        const mlir::Value per_row = e.index(p.per_row);
        KernelBuilder own(e, kernel.location);
        for (const NextBlock& next : p.next_blocks)
          own.next_block_distance[next.operand] =
              e.param(args.params, static_cast<std::int64_t>(next.distance_at), "next_block_distance");
        KernelArgs part;
        part.end = e.mul(to, per_row);
        part.begin = e.mul(from, per_row);
        part.params = e.element(args.params, e.index(p.params_at), DType::i64);
        part.buffers = e.element(args.buffers, e.index(p.operands_at), DType::i64);
        if (&p != &plan.parts.front() && kernel.barrier) kernel.barrier(e);
        kernel.emit(own, part);
      }
    });
  };
  KernelRequest request{
      name_of_location(location), std::move(key), location, std::move(emit), in_order, {}, gpu};
  request.features = std::move(features);
  request.flushes_subnormals = flushes;
  request.words = std::move(words);
  return request;
}

PlannedStep fuse(Steps steps, std::int64_t rows, const Machine& machine) {
  const auto fusion = steps.front().row_fusion;
  const std::int64_t row_bytes = fusion[2] * (fusion[1] / rows);
  std::int64_t block = std::clamp<std::int64_t>(choices::row_block_bytes(machine) / row_bytes, 1, rows);
  // Lanes that run along rows leave none over.
  if (block >= tuning::row_block_multiple) block -= block % tuning::row_block_multiple;
  PlannedStep fused_step;
  RowFusionPlan plan;
  std::vector<KernelRequest> kernels;
  llvm::SmallVector<mlir::Location> locations;
  std::int64_t cost = 0;  // of a row, in element operations
  for (PlannedStep& s : steps) {
    const std::int64_t per_row = s.step.extent / rows;
    cost += tuning::min_task_cost * per_row / std::max<std::int64_t>(s.step.grain, 1);
    locations.push_back(s.request->location);
    plan.parts.push_back({s.request->key, static_cast<std::int64_t>(fused_step.step.operands.size()),
                          static_cast<std::int64_t>(fused_step.step.params.size()), per_row});
    kernels.push_back(std::move(*s.request));
    llvm::append_range(fused_step.step.operands, s.step.operands);
    llvm::append_range(fused_step.operand_bytes, s.operand_bytes);
    llvm::append_range(fused_step.operations, s.operations);
    llvm::append_range(fused_step.step.params, s.step.params);
    for (std::string& line : s.step.locations)
      if (!llvm::is_contained(fused_step.step.locations, line))
        fused_step.step.locations.push_back(std::move(line));
  }
  plan.block_at = static_cast<std::int64_t>(fused_step.step.params.size());
  fused_step.step.params.push_back(block);
  for (auto [s, part] : llvm::zip(steps, plan.parts)) {
    if (!s.next_row_blocks) continue;
    for (std::int64_t i = 0; i < s.next_row_blocks.size(); i += 2) {
      part.next_blocks.push_back({static_cast<int>(s.next_row_blocks[i]), fused_step.step.params.size()});
      fused_step.step.params.push_back(block * s.next_row_blocks[i + 1] * (fusion[1] / rows));
    }
  }
  fused_step.request =
      request_of(std::move(plan), std::move(kernels), mlir::FusedLoc::get(fusion.getContext(), locations));
  fused_step.step.name = fused_step.request->name;
  fused_step.step.extent = rows;
  fused_step.step.grain = grain_for(rows, cost, block);
  return fused_step;
}

}  // namespace

std::vector<PlannedStep> fuse_rows(std::vector<PlannedStep> steps, const Machine& machine) {
  std::vector<PlannedStep> result;
  for (Steps rest = steps; !rest.empty();) {
    std::size_t count = 1;
    while (count < rest.size() && same_row_fusion(rest.front(), rest[count])) ++count;
    const Steps fused = rest.take_front(count);
    rest = rest.drop_front(count);
    if (const std::int64_t rows = count > 1 ? common_rows(fused) : 1; rows > 1)
      result.push_back(fuse(fused, rows, machine));
    else
      for (PlannedStep& s : fused) result.push_back(std::move(s));
  }
  return result;
}

}  // namespace kiln::codegen
