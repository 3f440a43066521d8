// A topological order of groups, kept while groups merge and split.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace kiln::passes {

/// A topological order of groups of operations, kept up to date while groups merge. The order bounds the
/// search for a path between two groups to the groups between them. Source: Pearce and Kelly, "A dynamic
/// topological sort algorithm for directed acyclic graphs" (2006).
class GroupOrder {
 public:
  using Group = std::size_t;
  /// The direct successors (or predecessors) of a group.
  struct Neighbours {
    /// Calls its second argument for each, repetitions allowed.
    std::function<void(Group, llvm::function_ref<void(Group)>)> visit;
    /// A lower bound of the number of these calls.
    std::function<std::size_t(Group)> count;
  };

  /// Groups 0 to `count` - 1, in that order.
  GroupOrder(std::size_t count, Neighbours successors, Neighbours predecessors);

  /// Whether a path leads from one group to the other through a third.
  bool has_path_through_another(Group a, Group b) const;

  /// Group `from` becomes part of `into`. No path leads from one to the other through a third. Called before
  /// the neighbours reflect the merge.
  void merge(Group from, Group into);

  /// Groups that were part of `group` are groups again, each after the preceding one and all after `group`.
  void split(Group group, llvm::ArrayRef<Group> after);

 private:
  /// The groups between two: either all that depend on the first, or all that the second depends on,
  /// whichever the search had found first.
  struct Between {
    bool follow_first;
    llvm::SmallVector<Group, 8> groups;
  };
  /// Nothing where a path exists.
  std::optional<Between> search(Group first, Group second) const;
  void remove(Group g);
  void insert_after(Group place, llvm::ArrayRef<Group> groups);
  void number_again();

  static constexpr std::size_t head_ = 0;  // of the list; group g is item g + 1
  struct Item {
    std::size_t previous, next;
    std::int64_t number;
  };
  std::vector<Item> items_;
  Neighbours successors_, predecessors_;
};

}  // namespace kiln::passes
