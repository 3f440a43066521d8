#include "passes/arena.h"

#include "runtime/control.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace kiln::passes {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.begin <= b.end && b.begin <= a.end; }

/// Of all blocks that are live, by step.
std::vector<std::int64_t> live_sums(std::span<const Lifetime> blocks) {
  std::size_t steps = 0;
  for (const Lifetime& b : blocks) steps = std::max(steps, b.end + 1);
  std::vector<std::int64_t> sums(steps + 1, 0);
  for (const Lifetime& b : blocks) {
    sums[b.begin] += aligned_bytes(b.bytes);
    sums[b.end + 1] -= aligned_bytes(b.bytes);
  }
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  return sums;
}

using Order = std::vector<std::size_t>;

Order by_size(std::span<const Lifetime> blocks) {
  Order order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  return order;
}

/// Those of the fullest step first. A block counts for the fullest of its steps; each step's go by size.
Order by_live_sum(std::span<const Lifetime> blocks, const std::vector<std::int64_t>& live) {
  std::vector<std::int64_t> fullest(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto first = live.begin() + static_cast<std::ptrdiff_t>(blocks[i].begin),
               last = live.begin() + static_cast<std::ptrdiff_t>(blocks[i].end);
    fullest[i] = *std::max_element(first, last + 1);
  }
  Order order = by_size(blocks);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return fullest[a] > fullest[b]; });
  return order;
}

/// Each block in turn into the tightest gap that the placed ones which it meets leave, else behind them.
ArenaPlan place(std::span<const Lifetime> blocks, const Order& order) {
  ArenaPlan plan;
  plan.offsets.assign(blocks.size(), 0);
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

/// To the front of the order: the block that reaches highest. It found no room because others came before it.
void promote_highest(std::span<const Lifetime> blocks, const ArenaPlan& plan, Order& order) {
  const auto highest = std::find_if(order.begin(), order.end(), [&](std::size_t i) {
    return plan.offsets[i] + aligned_bytes(blocks[i].bytes) == plan.bytes;
  });
  std::rotate(order.begin(), highest, highest + 1);
}

}  // namespace

// Large blocks first: going through the program in order, small early blocks split the room of large late
// ones. Where that misses the lower bound, blocks that stick out get their turn earlier, a few times.
ArenaPlan plan_arena(std::span<const Lifetime> blocks) {
  constexpr int rounds = 8;
  const std::vector<std::int64_t> live = live_sums(blocks);
  const std::int64_t lower_bound = *std::max_element(live.begin(), live.end());
  ArenaPlan best{.bytes = std::numeric_limits<std::int64_t>::max(), .lower_bound = lower_bound};
  const auto improve = [&](Order order) {
    for (int round = 0; round < rounds && best.bytes > lower_bound; ++round) {
      ArenaPlan plan = place(blocks, order);
      if (plan.bytes > lower_bound) promote_highest(blocks, plan, order);
      if (plan.bytes < best.bytes) {
        best.offsets = std::move(plan.offsets);
        best.bytes = plan.bytes;
      }
    }
  };
  improve(by_size(blocks));
  if (best.bytes > lower_bound) improve(by_live_sum(blocks, live));
  return best;
}

}  // namespace kiln::passes
