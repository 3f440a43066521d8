// The rules of fusion: roots take epilogues and producers, then pointwise operations join.
#include "passes/fusion_groups.h"

#include <llvm/ADT/SmallSet.h>

#include <cassert>
#include <queue>

namespace kiln::passes {
namespace {

// Reductions of a kernel: each has partial results in registers.
constexpr std::size_t max_reductions = 4;

/// Whether a kernel without a root may compute it for other members.
bool is_elementwise(mlir::Operation* op) {
  return ir::is_pointwise(op) || llvm::isa<ir::RandomUniformOp, ir::GatherOp>(op);
}

std::int64_t elements_of(mlir::Operation* op) { return ir::ranked(op->getResult(0)).getNumElements(); }

class FusionPlanner {
 public:
  FusionPlanner(FusionGraph& graph, const ViewAnalysis& view_analysis, const TargetModel& target)
      : graph_(graph), view_analysis_(view_analysis), target_(target) {}

  /// Pointwise users join a root as its epilogue, the last root first: the sum of two contractions becomes
  /// the epilogue of the later one.
  void grow_epilogues() {
    for (std::size_t i = graph_.size(); i-- > 0;)
      if (graph_.node(i).is_root()) grow_epilogue(i);
  }

  /// A pack of B joins the contraction if the contraction is its only user and B is no prepacked constant.
  void take_packs(const llvm::DenseSet<mlir::Operation*>& prepackable) {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      auto dot = llvm::dyn_cast<ir::PackedDotOp>(graph_.op(i));
      auto pack = dot ? dot.getRhs().getDefiningOp<ir::PackOp>() : ir::PackOp();
      if (!pack || ir::values_of_word(pack.getKind()) > 1 || prepackable.contains(pack)) continue;
      // No path leads through another kernel: every member of the group depends on the pack.
      assert(graph_.number_of(pack));  // it is no view
      const std::size_t node = *graph_.number_of(pack), group = graph_.group_of(i);
      if (!pack->hasOneUse())
        graph_.remark(group, node, "its value has other users");
      else if (ir::ranked(pack.getX()).getRank() > 2 && !packs_in_product(pack))
        graph_.remark(group, node, "it packs a batch of matrices");
      else
        graph_.merge(graph_.group_of(node), group);
    }
  }

  /// Packs of the same weights share a kernel, which reads them once. One that is `prepackable` joins none
  /// that is not. A pack that joins is made before its turn, so it is small.
  void join_packs(const llvm::DenseSet<mlir::Operation*>& prepackable) {
    constexpr std::int64_t max_bytes = 4 << 20;
    llvm::DenseMap<mlir::Value, std::size_t> first;  // by the weights
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      auto pack = llvm::dyn_cast<ir::PackOp>(graph_.op(i));
      if (!pack || !ir::packs_weights(pack) || pack.getGroups() != 1) continue;
      const ir::View view = view_analysis_.view(pack.getX());
      if (!ir::exchanges_channels(view)) continue;
      const auto [other, is_first] = first.try_emplace(view.base, i);
      const std::size_t into = graph_.group_of(other->second);
      if (!is_first && prepackable.contains(pack) == prepackable.contains(graph_.op(other->second)) &&
          graph_.members(into).size() < FusionGraph::max_results &&
          ir::bytes_of(pack.getResult()) <= max_bytes)
        graph_.merge(graph_.group_of(i), into);
    }
  }

  void grow_reductions() {
    for (std::size_t i = 0; i < graph_.size(); ++i)
      if (llvm::isa<ir::ReduceOp>(graph_.op(i))) grow_reduction(i);
  }

  /// Pointwise producers of an epilogue's side operands join the root if its kernel has all their users. One
  /// that is `prepackable` stays outside: it need not run in every call.
  void grow_side_operands(const llvm::DenseSet<mlir::Operation*>& prepackable) {
    for (std::size_t i = 0; i < graph_.size(); ++i)
      if (graph_.node(i).is_root()) grow_side_operands(i, prepackable);
  }

  /// Reductions over the same axes that read an array in common share a kernel, which reads it once. Example:
  /// the sums of a gradient and of its product with the normalised array. A `prepackable` reduction joins
  /// only others like it, since it need not run in every call.
  void join_reductions(const llvm::DenseSet<mlir::Operation*>& prepackable) {
    // By an array and axes: the last reduction that reads all of the array.
    llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, std::size_t> latest;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      auto reduce = llvm::dyn_cast<ir::ReduceOp>(graph_.op(i));
      if (!reduce) continue;
      bool joined = false;
      for (mlir::Value v : inputs_of(before(graph_.group_of(i)))) {
        const mlir::Value array = view_analysis_.base(v);
        if (ir::ranked(array).getNumElements() != ir::ranked(reduce.getX()).getNumElements()) continue;
        const auto [other, is_first] = latest.try_emplace({array, reduce.getAxesAttr()}, i);
        const bool alike = prepackable.contains(graph_.op(other->second)) == prepackable.contains(reduce);
        joined = joined || (!is_first && alike && join(other->second, i, prepackable));
        other->second = i;
      }
    }
  }

  void join_pointwise() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (!ir::is_pointwise(graph_.op(i))) continue;
      for (mlir::Value v : graph_.op(i)->getOperands()) {
        const auto def = graph_.number_of(v.getDefiningOp());
        if (!def || is_nullary(v.getDefiningOp())) continue;
        std::size_t from = graph_.group_of(*def), to = graph_.group_of(i);
        if (from == to || !is_elementwise(graph_.op(*def)) || graph_.has_root(from) || graph_.has_root(to))
          continue;
        Members both = graph_.members(from);
        both.append(graph_.members(to).begin(), graph_.members(to).end());
        if (const char* why = graph_.reason_against(from, to, both))
          graph_.remark(to, *def, why);
        else
          graph_.merge(from, to);
      }
    }
  }

  /// Adds missed-fusion remarks for users that no rule considered: users through a view (a window, a pooling)
  /// and reductions. A user larger than the value broadcasts it; its shape is reason enough.
  void explain() {
    for (std::size_t i = 0; i < graph_.size(); ++i)
      if (is_elementwise(graph_.op(i)) || graph_.node(i).is_root()) explain_users(i);
  }

 private:
  using Members = FusionGraph::Members;

  bool packs_in_product(ir::PackOp pack) const {
    return target_.packs_in_products() && view_analysis_.view(pack.getX()).is_contiguous();
  }

  /// Remarks on the users of node `i` and of its pads.
  void explain_users(std::size_t i) {
    llvm::SmallVector<std::size_t> values{i};
    while (!values.empty()) explain_users(i, values.pop_back_val(), values);
  }

  /// Remarks on the users of `value`, which is node `i` or a pad of it. Adds pads of `value` to `pads`.
  void explain_users(std::size_t i, std::size_t value, llvm::SmallVectorImpl<std::size_t>& pads) {
    const std::size_t group = graph_.group_of(i);
    for (auto [j, direct] : graph_.node(value).consumers) {
      mlir::Operation* user = graph_.op(j);
      if (graph_.group_of(j) == group) continue;
      if (llvm::isa<ir::PadOp>(user))
        pads.push_back(j);
      else if (llvm::isa<ir::ReduceOp>(user) && graph_.has_root(group))
        graph_.remark(group, j, "a reduction cannot follow another root in one kernel");
      else if ((!direct || value != i) && ir::is_pointwise(user) &&
               elements_of(user) <= elements_of(graph_.op(i)))
        graph_.remark(group, j, "it does not read the result element by element");
    }
  }

  //===--- growth ---------------------------------------------------------===//

  /// Merges pointwise users into the root's group in program order, and keeps the longest sequence after
  /// which the kernel has one result.
  void grow_epilogue(std::size_t root) {
    std::size_t group = graph_.group_of(root);
    Members members = graph_.members(group), best = members;
    llvm::DenseSet<std::size_t> queued;
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> candidates;
    const auto add_users = [&](std::size_t i) {
      for (auto [j, direct] : graph_.node(i).consumers)
        if (direct && ir::is_pointwise(graph_.op(j)) && queued.insert(j).second) candidates.push(j);
    };
    for (std::size_t i : members) add_users(i);
    while (!candidates.empty()) {
      const std::size_t next = candidates.top();
      candidates.pop();
      if (graph_.members(graph_.group_of(next)).size() != 1) continue;
      Members both = members;
      both.push_back(next);
      // This candidate merges now, so that the next one is tested for paths from all members. It is split off
      // below if it is not in `best`.
      if (const char* why = graph_.reason_against(group, graph_.group_of(next), both)) {
        graph_.remark(group, next, why);
        continue;
      }
      graph_.merge(graph_.group_of(next), group);
      members = both;
      add_users(next);
      if (graph_.escaping(members).size() <= 1) best = members;
    }
    for (std::size_t i : members)
      if (!llvm::is_contained(best, i)) graph_.remark(group, i, "the kernel would have more than one result");
    graph_.split(group, best);
  }

  using Operations = llvm::SmallVector<mlir::Operation*>;

  /// The reductions of a group and its members that compute their elements.
  Operations before(std::size_t group) const {
    Operations found;
    for (std::size_t i : graph_.members(group))
      if (llvm::isa<ir::ReduceOp>(graph_.op(i))) found.push_back(graph_.op(i));
    for (std::size_t next = 0; next < found.size(); ++next)
      for (mlir::Value v : found[next]->getOperands()) {
        const auto def = graph_.number_of(v.getDefiningOp());
        if (def && graph_.group_of(*def) == group && !llvm::is_contained(found, graph_.op(*def)))
          found.push_back(graph_.op(*def));
      }
    return found;
  }

  std::size_t reductions_of(std::size_t group) const {
    return static_cast<std::size_t>(llvm::count_if(
        graph_.members(group), [&](std::size_t i) { return llvm::isa<ir::ReduceOp>(graph_.op(i)); }));
  }

  /// Merges the groups of two reductions over the same axes, with the producers that they alone read; false
  /// if they must not share a kernel.
  bool join(std::size_t first, std::size_t second, const llvm::DenseSet<mlir::Operation*>& prepackable) {
    const std::size_t into = graph_.group_of(first), from = graph_.group_of(second);
    auto a = llvm::cast<ir::ReduceOp>(graph_.op(first)), b = llvm::cast<ir::ReduceOp>(graph_.op(second));
    if (into == from || a.getX().getType() != b.getX().getType()) return false;
    if (reductions_of(into) + reductions_of(from) > max_reductions) return false;
    Members both = graph_.members(into);
    both.append(graph_.members(from));
    Operations elements = before(into);
    elements.append(before(from));
    const auto inputs = inputs_of(elements);
    const auto is_computed_here = [&](mlir::Value v) {
      const auto def = graph_.number_of(view_analysis_.base(v).getDefiningOp());
      return def && (graph_.group_of(*def) == into || graph_.group_of(*def) == from);
    };
    if (llvm::any_of(inputs, is_computed_here) || !reduces_one_axis(a, inputs, view_analysis_) ||
        graph_.reason_against(into, from, both))
      return false;
    graph_.merge(from, into);
    grow_reduction(first);
    grow_side_operands(first, prepackable);
    return true;
  }

  /// Merges pointwise producers into a reduction's group, the last in program order first, if the group has
  /// all their users.
  void grow_reduction(std::size_t root) {
    std::size_t group = graph_.group_of(root);
    auto reduce = llvm::cast<ir::ReduceOp>(graph_.op(root));
    Operations fused = before(group);
    llvm::SmallSet<std::size_t, 8> tried;
    while (true) {
      std::size_t next = 0;
      bool found = false;
      for (mlir::Operation* op : fused)
        for (mlir::Value v : op->getOperands()) {
          const auto def = graph_.number_of(v.getDefiningOp());
          if (!def || tried.contains(*def) || !ir::is_pointwise(graph_.op(*def))) continue;
          if (graph_.members(graph_.group_of(*def)).size() != 1) continue;
          next = found ? std::max(next, *def) : *def;
          found = true;
        }
      if (!found) return;
      tried.insert(next);
      mlir::Operation* op = graph_.op(next);
      Members both = graph_.members(group);
      both.push_back(next);
      Operations longer = fused;
      longer.push_back(op);
      if (!llvm::all_of(op->getUsers(),
                        [&](mlir::Operation* user) { return llvm::is_contained(fused, user); })) {
        graph_.remark(group, next, "its value has other users");
      } else if (!reduces_one_axis(reduce, inputs_of(longer), view_analysis_)) {
        graph_.remark(group, next, "the reduced axes are not one axis of all its operands");
      } else if (const char* why =
                     graph_.reason_against(group, graph_.group_of(next), both, /*generates_iota=*/true)) {
        graph_.remark(group, next, why);
      } else {
        graph_.merge(graph_.group_of(next), group);
        fused = longer;
      }
    }
  }

  /// Merges into a root's group the pointwise producers of its epilogue's side operands: decay * w in w -
  /// rate * (gradient + decay * w), where the gradient is the root. The last in program order comes first, so
  /// that all users of an operation are decided before it.
  void grow_side_operands(std::size_t root, const llvm::DenseSet<mlir::Operation*>& prepackable) {
    const std::size_t group = graph_.group_of(root);
    llvm::SmallSet<std::size_t, 8> seen;
    std::priority_queue<std::size_t> candidates;
    const auto add_producers = [&](std::size_t i) {
      for (auto [j, direct] : graph_.node(i).producers)
        if (direct && ir::is_pointwise(graph_.op(j)) && graph_.members(graph_.group_of(j)).size() == 1 &&
            seen.insert(j).second)
          candidates.push(j);
    };
    // Producers of the elements of reductions are left to grow_reduction.
    const Operations elements = before(group);
    for (std::size_t i : Members(graph_.members(group)))
      if (i > root && !llvm::is_contained(elements, graph_.op(i))) add_producers(i);
    while (!candidates.empty()) {
      const std::size_t next = candidates.top();
      candidates.pop();
      if (prepackable.contains(graph_.op(next))) continue;
      Members both = graph_.members(group);
      both.push_back(next);
      if (llvm::any_of(graph_.node(next).consumers,
                       [&](FusionGraph::Edge e) { return graph_.group_of(e.node) != group; })) {
        graph_.remark(group, next, "its value has other users");
      } else if (const char* why = graph_.reason_against(group, graph_.group_of(next), both)) {
        graph_.remark(group, next, why);
      } else {
        graph_.merge(graph_.group_of(next), group);
        add_producers(next);
      }
    }
  }

  /// Operands of `ops` that are not results of `ops`.
  llvm::SmallVector<mlir::Value> inputs_of(llvm::ArrayRef<mlir::Operation*> ops) const {
    llvm::SmallVector<mlir::Value> values;
    for (mlir::Operation* op : ops)
      for (mlir::Value v : op->getOperands())
        if (!llvm::is_contained(ops, v.getDefiningOp())) values.push_back(v);
    return values;
  }

  FusionGraph& graph_;
  const ViewAnalysis& view_analysis_;
  const TargetModel& target_;
};

}  // namespace

std::vector<FusionGroup> form_groups(mlir::Block& block, const ViewAnalysis& view_analysis,
                                     const llvm::DenseSet<mlir::Operation*>& prepackable,
                                     const TargetModel& target, bool fuse) {
  FusionGraph graph(block, view_analysis, target);
  if (fuse) {
    FusionPlanner planner(graph, view_analysis, target);
    planner.grow_epilogues();
    planner.take_packs(prepackable);
    planner.join_packs(prepackable);
    planner.grow_reductions();
    planner.grow_side_operands(prepackable);
    planner.join_reductions(prepackable);
    planner.join_pointwise();
    planner.explain();
  }
  return graph.schedule();
}

}  // namespace kiln::passes
