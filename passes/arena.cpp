// Offsets of blocks in the arena: greedy by several orders, checked against a lower bound.
#include "passes/arena.h"

#include "runtime/control.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace kiln::passes {
namespace {

/// The sum of the sizes of live blocks, by step.
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

using PlacementOrder = std::vector<std::size_t>;

PlacementOrder by_size(std::span<const Lifetime> blocks) {
  PlacementOrder order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  return order;
}

/// The maximum of any range of a list, in constant time: row k holds the maxima of 2^k numbers from each
/// place on.
class RangeMaxima {
 public:
  explicit RangeMaxima(std::vector<std::int64_t> list) : rows_{std::move(list)} {
    for (std::size_t half = 1; 2 * half <= rows_[0].size(); half *= 2) {
      const std::vector<std::int64_t>& halves = rows_.back();
      std::vector<std::int64_t> row(halves.size() - half);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::max(halves[i], halves[i + half]);
      rows_.push_back(std::move(row));
    }
  }
  std::int64_t of(std::size_t first, std::size_t last) const {
    const std::size_t k = static_cast<std::size_t>(std::bit_width(last - first + 1)) - 1;
    return std::max(rows_[k][first], rows_[k][last + 1 - (std::size_t{1} << k)]);
  }

 private:
  std::vector<std::vector<std::int64_t>> rows_;
};

/// Orders blocks by their fullest step, fullest step first; within a step by size.
PlacementOrder by_live_sum(std::span<const Lifetime> blocks, const std::vector<std::int64_t>& live) {
  const RangeMaxima maxima(live);
  std::vector<std::int64_t> fullest;
  for (const Lifetime& b : blocks) fullest.push_back(maxima.of(b.begin, b.end));
  PlacementOrder order = by_size(blocks);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return fullest[a] > fullest[b]; });
  return order;
}

struct Range {
  std::int64_t begin, end;
};

/// Disjoint ranges of memory, in order; adjacent ones are merged.
class Ranges {
 public:
  void add(Range added) {
    const auto first = std::ranges::lower_bound(list_, added.begin, {}, &Range::end);
    auto last = first;
    for (; last != list_.end() && last->begin <= added.end; ++last)
      added = {std::min(added.begin, last->begin), std::max(added.end, last->end)};
    if (first == last) {
      list_.insert(first, added);
    } else {
      *first = added;
      list_.erase(first + 1, last);
    }
  }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  std::vector<Range> list_;
};

/// The memory of placed blocks by step, in a segment tree: node n covers the steps of nodes 2n and 2n + 1.
/// Insertions and queries visit a few nodes of each level.
class Taken {
 public:
  explicit Taken(std::size_t steps) : leaves_(std::bit_ceil(steps)), nodes_(2 * leaves_) {}

  void add(const Lifetime& life, Range range) {
    each_covered(life, [&](Node& node) { node.throughout.add(range); });
    each_crossed(life, [&](Node& node) { node.sometime.add(range); });
  }

  /// The ranges taken in any step of `life`, by offset.
  std::span<const Range> during(const Lifetime& life) {
    found_.clear();
    each_covered(
        life, [&](Node& node) { found_.insert(found_.end(), node.sometime.begin(), node.sometime.end()); });
    const auto all_of = [&](Node& node) {
      found_.insert(found_.end(), node.throughout.begin(), node.throughout.end());
    };
    each_covered(life, all_of);
    each_crossed(life, all_of);
    std::ranges::sort(found_, {}, &Range::begin);
    return found_;
  }

 private:
  struct Node {
    Ranges throughout;  ///< taken in all of its steps, by blocks not recorded at a node above
    Ranges sometime;    ///< taken by blocks that begin or end in it
  };

  /// The minimal set of nodes that covers the life.
  template <class F>
  void each_covered(const Lifetime& life, F f) {
    std::size_t l = life.begin + leaves_, r = life.end + 1 + leaves_;
    for (; l < r; l /= 2, r /= 2) {
      if (l % 2 == 1) f(nodes_[l++]);
      if (r % 2 == 1) f(nodes_[--r]);
    }
  }
  /// The nodes that contain its first or last step.
  template <class F>
  void each_crossed(const Lifetime& life, F f) {
    std::size_t l = life.begin + leaves_, r = life.end + leaves_;
    for (; l != r; l /= 2, r /= 2) {
      f(nodes_[l]);
      f(nodes_[r]);
    }
    for (; l > 0; l /= 2) f(nodes_[l]);
  }

  std::size_t leaves_;
  std::vector<Node> nodes_;
  std::vector<Range> found_;
};

/// Best fit: places each block in the smallest gap between placed blocks of overlapping life, else after
/// them. The end of the saved part ends a gap.
ArenaPlan place(std::span<const Lifetime> blocks, const PlacementOrder& order, std::size_t steps,
                std::int64_t saved_bytes) {
  ArenaPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  Taken taken(steps);
  const auto put = [&](std::size_t i, std::int64_t offset) {
    const std::int64_t end = offset + aligned_bytes(blocks[i].bytes);
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, end - saved_bytes);
    taken.add(blocks[i], {offset, end});
  };
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].offset && blocks[i].bytes > 0) put(i, *blocks[i].offset);
  for (std::size_t i : order) {
    std::int64_t need = aligned_bytes(blocks[i].bytes);
    if (need == 0 || blocks[i].offset) continue;
    std::int64_t end_so_far = 0, best = -1, best_gap = std::numeric_limits<std::int64_t>::max();
    const auto try_gap = [&](std::int64_t end) {
      const std::int64_t gap = end - end_so_far;
      if (gap >= need && gap < best_gap) {
        best = end_so_far;
        best_gap = gap;
      }
    };
    const auto end_gap = [&](std::int64_t end) {
      if (end_so_far < saved_bytes && end >= saved_bytes) {
        try_gap(saved_bytes);
        end_so_far = saved_bytes;
      }
      try_gap(end);
    };
    for (const Range& range : taken.during(blocks[i])) {
      end_gap(range.begin);
      end_so_far = std::max(end_so_far, range.end);
    }
    end_gap(saved_bytes);
    put(i, best >= 0 ? best : end_so_far);
  }
  return plan;
}

/// Moves the block with the highest end to the front of the order: it found no gap because others were placed
/// before it.
void promote_highest(std::span<const Lifetime> blocks, const ArenaPlan& plan, std::int64_t saved_bytes,
                     PlacementOrder& order) {
  const auto highest = std::find_if(order.begin(), order.end(), [&](std::size_t i) {
    return plan.offsets[i] + aligned_bytes(blocks[i].bytes) == saved_bytes + plan.bytes;
  });
  std::rotate(order.begin(), highest, highest + 1);
}

}  // namespace

// Large blocks first: in program order, small early blocks would split the gaps of large later ones. If that
// misses the lower bound, blocks at the top are placed earlier, a few times.
ArenaPlan plan_arena(std::span<const Lifetime> blocks, std::int64_t saved_bytes) {
  constexpr int rounds = 8;
  const std::vector<std::int64_t> live = live_sums(blocks);
  const std::int64_t lower_bound =
      std::max<std::int64_t>(*std::max_element(live.begin(), live.end()) - saved_bytes, 0);
  ArenaPlan best{.bytes = std::numeric_limits<std::int64_t>::max(), .lower_bound = lower_bound};
  const auto improve = [&](PlacementOrder order) {
    for (int round = 0; round < rounds && best.bytes > lower_bound; ++round) {
      ArenaPlan plan = place(blocks, order, live.size(), saved_bytes);
      if (plan.bytes > lower_bound) promote_highest(blocks, plan, saved_bytes, order);
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
