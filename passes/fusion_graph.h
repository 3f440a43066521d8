// The graph of groups that kernels are formed from.
#pragma once
#include "passes/group_order.h"
#include "passes/target_model.h"
#include "passes/view_analysis.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kiln::passes {

/// Operations that become one operation of the schedule: a kernel, or a single operation that no kernel
/// contains.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation*> ops;      ///< in program order
  llvm::SmallVector<mlir::Operation*> results;  ///< members with users outside the group
  std::vector<std::string> missed;              ///< missed-fusion remarks: an operation and the reason
};

/// The operations of a block that kernels compute, numbered in program order, and their groups. Initially
/// each is a group alone, of its number. Rules (fusion_groups.cpp) merge groups where nothing stands against
/// it.
class FusionGraph {
 public:
  /// Results that a kernel may have.
  static constexpr std::size_t max_results = 8;

  using Members = llvm::SmallVector<std::size_t, 4>;
  struct Edge {
    std::size_t node;  // at the other end
    bool direct;       // reads element by element or window by window, through no other view operation
  };
  struct Node {
    mlir::Operation* op;
    llvm::SmallVector<Edge, 2> consumers, producers;
    /// A reduction or a contraction.
    bool is_root() const;
  };

  FusionGraph(mlir::Block& block, const ViewAnalysis& view_analysis, const TargetModel& target);
  FusionGraph(const FusionGraph&) = delete;

  std::size_t size() const { return nodes_.size(); }
  const Node& node(std::size_t i) const { return nodes_[i]; }
  mlir::Operation* op(std::size_t i) const { return nodes_[i].op; }
  /// The number of `op`. None for a view operation that is no buffer, for one that all users rematerialize,
  /// and for null.
  std::optional<std::size_t> number_of(mlir::Operation* op) const;
  std::size_t group_of(std::size_t node) const { return group_of_[node]; }
  const Members& members(std::size_t group) const { return groups_[group].members; }
  bool has_root(std::size_t group) const;
  /// Members with users outside the set: results of the kernel.
  Members escaping(const Members& set) const;

  /// The reason why two groups cannot merge, or null. `generates_iota`: for the operations of b.
  const char* reason_against(std::size_t a, std::size_t b, const Members& both,
                             bool generates_iota = false) const;
  void merge(std::size_t from, std::size_t into);
  /// Members of the group that are not in `kept` are groups alone again.
  void split(std::size_t group, const Members& kept);
  /// A missed-fusion remark: why `node` did not join the group.
  void remark(std::size_t group, std::size_t node, llvm::StringRef why);

  /// The groups in the form and order that form_groups() returns.
  std::vector<FusionGroup> schedule() const;

 private:
  struct Group {
    Members members;
    std::vector<std::pair<std::size_t, std::string>> missed;  // a node that did not join, and why
  };

  /// Whether the operation belongs to a group: no view that is none of a buffer, and not rematerialized by
  /// all of its users.
  bool is_node(mlir::Operation* op) const;
  /// Whether `v` is one point of each pooling window of a contraction whose kernel holds whole windows in
  /// registers.
  bool is_point_of_window(mlir::Value v, const TargetModel& target);

  using Visit = llvm::function_ref<void(std::size_t)>;
  /// Calls `visit` for each group that uses a value of group `g`.
  void each_consumer(std::size_t g, Visit visit) const;
  /// Calls `visit` for each group that produces an operand of group `g`.
  void each_producer(std::size_t g, Visit visit) const;
  /// The number of edges that each_consumer() and each_producer() visit.
  std::size_t consumer_edges(std::size_t g) const;
  std::size_t producer_edges(std::size_t g) const;
  /// Whether one group reads a value of the other through a view.
  bool view_between(std::size_t a, std::size_t b) const;
  /// The number of distinct views of values outside the set that the set reads.
  std::size_t operand_count(const Members& set) const;
  FusionGroup exported(std::size_t g) const;

  const ViewAnalysis& view_analysis_;
  // By contraction: whether its kernel holds whole pooling windows in registers.
  llvm::DenseMap<mlir::Operation*, bool> holds_windows_;
  std::vector<Node> nodes_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;
  std::optional<GroupOrder> order_;  // reads neighbours from this object
  llvm::DenseMap<mlir::Operation*, std::size_t> index_;
};

}  // namespace kiln::passes
