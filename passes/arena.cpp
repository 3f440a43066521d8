#include "passes/arena.h"

#include "runtime/control.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace kiln::passes {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.begin <= b.end && b.begin <= a.end; }

std::int64_t largest_live_sum(std::span<const Lifetime> blocks) {
  std::size_t steps = 0;
  for (const Lifetime& b : blocks) steps = std::max(steps, b.end + 1);
  std::vector<std::int64_t> change(steps + 1, 0);
  for (const Lifetime& b : blocks) {
    change[b.begin] += aligned_bytes(b.bytes);
    change[b.end + 1] -= aligned_bytes(b.bytes);
  }
  std::int64_t live = 0, largest = 0;
  for (std::int64_t c : change) largest = std::max(largest, live += c);
  return largest;
}

}  // namespace

// Greedy by size: large blocks are placed first, each into the tightest gap that the placed ones which it
// meets leave, else behind them. On networks this comes out at the lower bound or within a few percent of it;
// going through the program in order does not, because small early blocks then split the room of large late
// ones.
ArenaPlan plan_arena(std::span<const Lifetime> blocks) {
  ArenaPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  plan.lower_bound = largest_live_sum(blocks);
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });

  std::vector<std::size_t> placed;  // by offset
  for (std::size_t i : order) {
    std::int64_t need = aligned_bytes(blocks[i].bytes);
    if (need == 0) continue;
    std::int64_t end_so_far = 0, best = -1, best_gap = std::numeric_limits<std::int64_t>::max();
    for (std::size_t j : placed) {
      if (!meet(blocks[i], blocks[j])) continue;
      std::int64_t gap = plan.offsets[j] - end_so_far;
      if (gap >= need && gap < best_gap) {
        best = end_so_far;
        best_gap = gap;
      }
      end_so_far = std::max(end_so_far, plan.offsets[j] + aligned_bytes(blocks[j].bytes));
    }
    plan.offsets[i] = best >= 0 ? best : end_so_far;
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + need);
    auto by_offset = [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, by_offset), i);
  }
  return plan;
}

}  // namespace kiln::passes
