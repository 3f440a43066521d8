// Incremental topological order: a bidirectional search bounded by the order.
#include "passes/group_order.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallSet.h>

#include <utility>

namespace kiln::passes {
namespace {
constexpr std::int64_t gap = std::int64_t{1} << 24;
}

GroupOrder::GroupOrder(std::size_t count, Neighbours successors, Neighbours predecessors)
    : items_(count + 1), successors_(std::move(successors)), predecessors_(std::move(predecessors)) {
  for (std::size_t i = 0; i <= count; ++i)
    items_[i] = {i == 0 ? count : i - 1, i == count ? 0 : i + 1, static_cast<std::int64_t>(i) * gap};
}

bool GroupOrder::has_path_through_another(Group a, Group b) const {
  if (items_[a + 1].number > items_[b + 1].number) std::swap(a, b);
  return !search(a, b);
}

std::optional<GroupOrder::Between> GroupOrder::search(Group first, Group second) const {
  // One side of a bidirectional search. The side that has looked at fewer edges steps next, so a value with
  // many users costs no more than the search from the other end.
  struct Side {
    Group start, goal;
    const Neighbours& neighbours;
    llvm::SmallVector<Group, 8> found = {};
    llvm::SmallSet<Group, 16> seen = {};
    std::size_t visited = 0;                      // number of the groups in `found` that were visited
    Group next = start;                           // to visit
    std::size_t edges = neighbours.count(start);  // looked at when it is visited
  };
  Side sides[] = {{first, second, successors_}, {second, first, predecessors_}};
  const std::int64_t from = items_[first + 1].number, to = items_[second + 1].number;
  const auto visit = [&](Side& side, Group g) {
    bool reached = false;
    side.neighbours.visit(g, [&](Group next) {
      if (next == side.goal) {
        reached |= g != side.start;
        return;
      }
      const std::int64_t number = items_[next + 1].number;
      if (from < number && number < to && side.seen.insert(next).second) side.found.push_back(next);
    });
    return reached;
  };
  while (true) {
    Side& side = sides[0].edges <= sides[1].edges ? sides[0] : sides[1];
    if (visit(side, side.next)) return std::nullopt;
    if (side.visited == side.found.size()) return Between{&side == &sides[0], std::move(side.found)};
    side.next = side.found[side.visited++];
    side.edges += side.neighbours.count(side.next);
  }
}

void GroupOrder::merge(Group from, Group into) {
  const bool is_first = items_[from + 1].number < items_[into + 1].number;
  const Group first = is_first ? from : into, second = is_first ? into : from;
  Between between = *search(first, second);
  llvm::sort(between.groups, [&](Group a, Group b) { return items_[a + 1].number < items_[b + 1].number; });
  for (const Group g : between.groups) remove(g);
  // Either the groups that follow the first move after the second, where the merged group is, or the groups
  // that the second follows move before the first.
  const Group place = between.follow_first ? second : first;
  if (between.follow_first)
    insert_after(second + 1, between.groups);
  else
    insert_after(items_[first + 1].previous, between.groups);
  if (place != into) {
    remove(into);
    insert_after(place + 1, {into});
  }
  remove(from);
}

void GroupOrder::split(Group group, llvm::ArrayRef<Group> after) { insert_after(group + 1, after); }

void GroupOrder::remove(Group g) {
  const Item& item = items_[g + 1];
  items_[item.previous].next = item.next;
  items_[item.next].previous = item.previous;
}

void GroupOrder::insert_after(std::size_t place, llvm::ArrayRef<Group> groups) {
  const auto count = static_cast<std::int64_t>(groups.size());
  const auto room = [&] {
    const std::size_t next = items_[place].next;
    return next == head_ ? gap * (count + 1) : items_[next].number - items_[place].number;
  };
  if (room() <= count) number_again();
  const std::int64_t step = room() / (count + 1);
  for (const Group g : groups) {
    const std::size_t next = items_[place].next;
    items_[g + 1] = {place, next, items_[place].number + step};
    items_[place].next = items_[next].previous = g + 1;
    place = g + 1;
  }
}

void GroupOrder::number_again() {
  std::int64_t number = 0;
  for (std::size_t i = items_[head_].next; i != head_; i = items_[i].next) items_[i].number = number += gap;
}

}  // namespace kiln::passes
