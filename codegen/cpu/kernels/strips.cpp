#include "codegen/cpu/kernels/strips.h"

#include "codegen/cpu/kernels/launch.h"

#include <llvm/ADT/STLExtras.h>

namespace kiln::codegen {
namespace {

using Steps = llvm::MutableArrayRef<PlannedStep>;

/// What rows take at a time should be no more than this, a first cache.
constexpr std::int64_t strip_bytes = 32 * 1024;

bool same_strip(const PlannedStep& a, const PlannedStep& b) {
  return a.strip && b.strip && a.strip[0] == b.strip[0];
}

/// Rows that all loops of a strip can be cut into; 1: none. The loop of each kernel of a strip goes through
/// the leading axes of its results, in their order (launch_pointwise() keeps it so).
std::int64_t rows_of(Steps steps) {
  const std::int64_t marked = steps.front().strip[1];
  std::int64_t rows = marked;
  for (const PlannedStep& s : steps) rows = std::min(rows, s.step.extent);
  const bool cut = marked % rows == 0 &&
                   llvm::all_of(steps, [&](const PlannedStep& s) { return s.step.extent % rows == 0; });
  return cut ? rows : 1;
}

/// A kernel in a strip: where its operands and parameters begin among those of all, and the indices of its
/// own loop that a row is: row i is [i * per_row, (i + 1) * per_row).
struct Part {
  KernelRequest request;
  std::int64_t operands_at, params_at, per_row;
  /// Operands whose next rows it asks for, and the parameters of the strip that say how far those are.
  llvm::SmallVector<std::pair<int, std::int64_t>> next_rows = {};
};

/// Behind the parameters of all parts, one says how many rows pass at a time.
KernelRequest request_of(std::vector<Part> parts, std::int64_t block_at, mlir::Location location) {
  std::string key = fmt::format("strip {}", block_at);
  for (const Part& p : parts) {
    key += fmt::format(" [{} {} {}: {}", p.operands_at, p.params_at, p.per_row, p.request.key);
    for (auto [operand, distance_at] : p.next_rows) key += fmt::format(" next {} {}", operand, distance_at);
    key += "]";
  }
  const bool in_order = llvm::any_of(parts, [](const Part& p) { return p.request.in_order; });
  auto emit = [parts = std::move(parts), block_at](KernelBuilder& e, const KernelArgs& args) {
    const mlir::Value block = e.param(args.params, block_at, "block_rows");
    e.loop(args.begin, args.end, block, [&](mlir::Value from) {
      const mlir::Value to = e.min(e.add(from, block), args.end);
      for (const Part& p : parts) {
        const mlir::Value per_row = e.index(p.per_row);
        KernelBuilder own(e, p.request.location);
        for (auto [operand, distance_at] : p.next_rows)
          own.next_block_distance[operand] = e.param(args.params, distance_at, "next_block_distance");
        KernelArgs part;
        part.end = e.mul(to, per_row);
        part.begin = e.mul(from, per_row);
        part.params = e.element(args.params, e.index(p.params_at), DType::i64);
        part.buffers = e.element(args.buffers, e.index(p.operands_at), DType::i64);
        p.request.emit(own, part);
      }
    });
  };
  return {name_of_location(location), std::move(key), location, std::move(emit), in_order};
}

PlannedStep join(Steps steps, std::int64_t rows) {
  const auto strip = steps.front().strip;
  const std::int64_t row_bytes = strip[2] * (strip[1] / rows);
  const std::int64_t block = std::clamp<std::int64_t>(strip_bytes / row_bytes, 1, rows);
  PlannedStep joined;
  std::vector<Part> parts;
  llvm::SmallVector<mlir::Location> locations;
  std::int64_t cost = 0;  // of a row, in parts of what is worth a thread
  for (PlannedStep& s : steps) {
    const std::int64_t per_row = s.step.extent / rows;
    cost += least_task_cost * per_row / std::max<std::int64_t>(s.step.grain, 1);
    locations.push_back(s.request->location);
    parts.push_back({std::move(*s.request), static_cast<std::int64_t>(joined.step.operands.size()),
                     static_cast<std::int64_t>(joined.step.params.size()), per_row});
    llvm::append_range(joined.step.operands, s.step.operands);
    llvm::append_range(joined.step.params, s.step.params);
    for (std::string& line : s.step.locations)
      if (!llvm::is_contained(joined.step.locations, line)) joined.step.locations.push_back(std::move(line));
  }
  const auto block_at = static_cast<std::int64_t>(joined.step.params.size());
  joined.step.params.push_back(block);
  for (auto [s, part] : llvm::zip(steps, parts)) {
    if (!s.next_rows) continue;
    for (std::int64_t i = 0; i < s.next_rows.size(); i += 2) {
      part.next_rows.emplace_back(static_cast<int>(s.next_rows[i]), joined.step.params.size());
      joined.step.params.push_back(block * s.next_rows[i + 1] * (strip[1] / rows));
    }
  }
  joined.request = request_of(std::move(parts), block_at, mlir::FusedLoc::get(strip.getContext(), locations));
  joined.step.name = joined.request->name;
  joined.step.extent = rows;
  joined.step.grain = grain_for(rows, cost, block);
  return joined;
}

}  // namespace

std::vector<PlannedStep> join_strips(std::vector<PlannedStep> steps) {
  std::vector<PlannedStep> result;
  for (Steps rest = steps; !rest.empty();) {
    std::size_t count = 1;
    while (count < rest.size() && same_strip(rest.front(), rest[count])) ++count;
    const Steps strip = rest.take_front(count);
    rest = rest.drop_front(count);
    if (const std::int64_t rows = count > 1 ? rows_of(strip) : 1; rows > 1)
      result.push_back(join(strip, rows));
    else
      for (PlannedStep& s : strip) result.push_back(std::move(s));
  }
  return result;
}

}  // namespace kiln::codegen
