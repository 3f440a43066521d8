// The fusion planner: roots take epilogues and producers, then pointwise operations join.
#include "passes/fusion_groups.h"

#include "ir/windows.h"
#include "passes/group_order.h"

#include <llvm/ADT/SmallSet.h>

#include <queue>

namespace kiln::passes {
namespace {

// A kernel's limits: distinct operands (views count), results, operations (registers and code size).
constexpr std::size_t max_operands = 24;
constexpr std::size_t max_results = 8;
constexpr std::size_t max_ops = 64;
constexpr std::size_t max_reductions = 4;  // each has partial results in registers

bool is_root(mlir::Operation* op) { return llvm::isa<ir::ReduceOp>(op) || ir::is_product(op); }
/// Whether a kernel without a root may compute it for other members.
bool is_elementwise(mlir::Operation* op) {
  return ir::is_pointwise(op) || llvm::isa<ir::RandomUniformOp, ir::GatherOp>(op);
}

std::string describe(mlir::Operation* op) {
  std::string name = op->getName().stripDialect().str();
  if (auto unary = llvm::dyn_cast<ir::UnaryOp>(op)) name += " " + ir::stringifyUnary(unary.getKind()).str();
  if (auto binary = llvm::dyn_cast<ir::BinaryOp>(op))
    name += " " + ir::stringifyBinary(binary.getKind()).str();
  if (auto named = op->getLoc()->findInstanceOf<mlir::NameLoc>()) name += " of " + named.getName().str();
  return name;
}

std::int64_t elements_of(mlir::Operation* op) { return ir::ranked(op->getResult(0)).getNumElements(); }

class FusionPlanner {
 public:
  FusionPlanner(mlir::Block& block, const ViewAnalysis& view_analysis, const TargetModel& target)
      : view_analysis_(view_analysis), target_(target) {
    for (mlir::Operation& op : block)
      if (is_node(&op)) {
        index_[&op] = nodes_.size();
        nodes_.push_back({&op, {}, {}});
        groups_.push_back({{nodes_.size() - 1}, {}});
        group_of_.push_back(nodes_.size() - 1);
      }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (mlir::Value v : nodes_[i].op->getOperands()) {
        if (rematerializes(nodes_[i].op, v.getDefiningOp())) continue;
        mlir::Value base = view_analysis_.base(v);
        if (mlir::Operation* def = base.getDefiningOp()) {
          std::size_t from = index_.lookup(def);
          const bool direct = base == v || is_point_of_window(v);
          const bool by_element = direct && takes_elements(nodes_[i].op);
          nodes_[from].consumers.push_back({i, by_element});
          nodes_[i].producers.push_back({from, by_element});
        }
      }
    order_.emplace(groups_.size(),
                   GroupOrder::Neighbours{[this](std::size_t g, Visit visit) { each_consumer(g, visit); },
                                          [this](std::size_t g) { return consumer_edges(g); }},
                   GroupOrder::Neighbours{[this](std::size_t g, Visit visit) { each_producer(g, visit); },
                                          [this](std::size_t g) { return producer_edges(g); }});
  }

  FusionPlanner(const FusionPlanner&) = delete;

  /// Pointwise users join a root as its epilogue, the last root first: the sum of two contractions becomes
  /// the epilogue of the later one.
  void grow_epilogues() {
    for (std::size_t i = nodes_.size(); i-- > 0;)
      if (is_root(nodes_[i].op)) grow_epilogue(i);
  }

  /// A pack of B joins the contraction if the contraction is its only user and B is no prepacked constant.
  void take_packs(const llvm::DenseSet<mlir::Operation*>& prepackable) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      auto dot = llvm::dyn_cast<ir::PackedDotOp>(nodes_[i].op);
      auto pack = dot ? dot.getRhs().getDefiningOp<ir::PackOp>() : ir::PackOp();
      if (!pack || prepackable.contains(pack)) continue;
      // No path leads through another kernel: every member of the group depends on the pack.
      const std::size_t node = index_.lookup(pack), group = group_of_[i];
      if (!pack->hasOneUse())
        remark(group, node, "its value has other users");
      else if (ir::ranked(pack.getX()).getRank() > 2 && !packs_in_product(pack))
        remark(group, node, "it packs a batch of matrices");
      else
        merge(group_of_[node], group);
    }
  }

  bool packs_in_product(ir::PackOp pack) const {
    return target_.packs_in_products() && view_analysis_.view(pack.getX()).is_contiguous();
  }

  /// Packs of the same weights share a kernel, which reads them once. One that is `prepackable` joins none
  /// that is not. A pack that joins is made before its turn, so it is small.
  void join_packs(const llvm::DenseSet<mlir::Operation*>& prepackable) {
    constexpr std::int64_t max_bytes = 4 << 20;
    llvm::DenseMap<mlir::Value, std::size_t> first;  // by the weights
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      auto pack = llvm::dyn_cast<ir::PackOp>(nodes_[i].op);
      if (!pack || !ir::packs_weights(pack) || pack.getGroups() != 1) continue;
      const ir::View view = view_analysis_.view(pack.getX());
      if (!ir::exchanges_channels(view)) continue;
      const auto [other, is_first] = first.try_emplace(view.base, i);
      const std::size_t into = group_of_[other->second];
      if (!is_first && prepackable.contains(pack) == prepackable.contains(nodes_[other->second].op) &&
          groups_[into].members.size() < max_results && ir::bytes_of(pack.getResult()) <= max_bytes)
        merge(group_of_[i], into);
    }
  }

  void grow_reductions() {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (llvm::isa<ir::ReduceOp>(nodes_[i].op)) grow_reduction(i);
  }

  /// Pointwise producers of an epilogue's side operands join the root if its kernel has all their users. One
  /// that is `prepackable` stays outside: it need not run in every call.
  void grow_side_operands(const llvm::DenseSet<mlir::Operation*>& prepackable) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (is_root(nodes_[i].op)) grow_side_operands(i, prepackable);
  }

  /// Reductions over the same axes that read an array in common share a kernel, which reads it once. Example:
  /// the sums of a gradient and of its product with the normalised array. A `prepackable` reduction joins
  /// only others like it, since it need not run in every call.
  void join_reductions(const llvm::DenseSet<mlir::Operation*>& prepackable) {
    // By an array and axes: the last reduction that reads all of the array.
    llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, std::size_t> latest;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      auto reduce = llvm::dyn_cast<ir::ReduceOp>(nodes_[i].op);
      if (!reduce) continue;
      bool joined = false;
      for (mlir::Value v : inputs_of(before(group_of_[i]))) {
        const mlir::Value array = view_analysis_.base(v);
        if (ir::ranked(array).getNumElements() != ir::ranked(reduce.getX()).getNumElements()) continue;
        const auto [other, is_first] = latest.try_emplace({array, reduce.getAxesAttr()}, i);
        const bool alike = prepackable.contains(nodes_[other->second].op) == prepackable.contains(reduce);
        joined = joined || (!is_first && alike && join(other->second, i, prepackable));
        other->second = i;
      }
    }
  }

  void join_pointwise() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!ir::is_pointwise(nodes_[i].op)) continue;
      for (mlir::Value v : nodes_[i].op->getOperands()) {
        auto found = index_.find(v.getDefiningOp());
        if (found == index_.end() || is_nullary(v.getDefiningOp())) continue;
        std::size_t from = group_of_[found->second], to = group_of_[i];
        if (from == to || !is_elementwise(nodes_[found->second].op) || has_root(from) || has_root(to))
          continue;
        Members both = groups_[from].members;
        both.append(groups_[to].members.begin(), groups_[to].members.end());
        if (const char* why = reason_against(from, to, both))
          remark(to, found->second, why);
        else
          merge(from, to);
      }
    }
  }

  /// Adds missed-fusion remarks for users that no rule considered: users through a view (a window, a pooling)
  /// and reductions. A user larger than the value broadcasts it; its shape is reason enough.
  void explain() {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (is_elementwise(nodes_[i].op) || is_root(nodes_[i].op)) explain_users(i);
  }

  std::vector<FusionGroup> schedule() const {
    std::vector<std::size_t> pending(groups_.size(), 0);  // edges from groups that are not scheduled yet
    for (std::size_t g = 0; g < groups_.size(); ++g) each_consumer(g, [&](std::size_t to) { ++pending[to]; });
    using Entry = std::pair<std::size_t, std::size_t>;  // last member, group
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    auto push = [&](std::size_t g) { ready.emplace(*llvm::max_element(groups_[g].members), g); };
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (!groups_[g].members.empty() && pending[g] == 0) push(g);
    std::vector<FusionGroup> order;
    while (!ready.empty()) {
      std::size_t g = ready.top().second;
      ready.pop();
      order.push_back(exported(g));
      each_consumer(g, [&](std::size_t to) {
        if (--pending[to] == 0) push(to);
      });
    }
    return order;
  }

 private:
  using Members = llvm::SmallVector<std::size_t, 4>;
  struct Edge {
    std::size_t node;  // at the other end
    bool direct;       // reads element by element or window by window, through no other view operation
  };
  struct Node {
    mlir::Operation* op;
    llvm::SmallVector<Edge, 2> consumers, producers;
  };
  struct Group {
    Members members;
    std::vector<std::pair<std::size_t, std::string>> missed;  // a node that did not join, and why
  };

  /// Whether the operation belongs to a group: no view, and not rematerialized by all of its users.
  bool is_node(mlir::Operation* op) const {
    if (ir::is_view_op(op)) return view_analysis_.is_buffer(op);
    if (!is_nullary(op)) return true;
    return llvm::any_of(op->getUsers(), [&](mlir::Operation* user) { return !rematerializes(user, op); });
  }

  /// Whether `v` is one point of each pooling window of a contraction whose kernel holds whole windows in
  /// registers.
  bool is_point_of_window(mlir::Value v) {
    auto slice = v.getDefiningOp<ir::SliceOp>();
    mlir::Operation* sliced = slice ? slice.getX().getDefiningOp() : nullptr;
    if (!sliced || !ir::is_product(sliced)) return false;
    auto [known, inserted] = holds_windows_.try_emplace(sliced, false);
    if (inserted) {
      const auto windows = ir::pooled_windows(sliced);
      known->second = windows && windows->points() <= target_.max_window_points();
    }
    return known->second;
  }

  bool has_root(std::size_t g) const {
    return llvm::any_of(groups_[g].members, [&](std::size_t i) { return is_root(nodes_[i].op); });
  }

  //===--- conditions -----------------------------------------------------===//

  using Visit = llvm::function_ref<void(std::size_t)>;
  /// Calls `visit` for each group that uses a value of group `g`.
  void each_consumer(std::size_t g, Visit visit) const {
    for (std::size_t i : groups_[g].members)
      for (auto [j, direct] : nodes_[i].consumers)
        if (group_of_[j] != g) visit(group_of_[j]);
  }
  /// Calls `visit` for each group that produces an operand of group `g`.
  void each_producer(std::size_t g, Visit visit) const {
    for (std::size_t i : groups_[g].members)
      for (auto [j, direct] : nodes_[i].producers)
        if (group_of_[j] != g) visit(group_of_[j]);
  }
  /// The number of edges that each_consumer() and each_producer() visit.
  std::size_t consumer_edges(std::size_t g) const {
    std::size_t count = 0;
    for (std::size_t i : groups_[g].members) count += nodes_[i].consumers.size();
    return count;
  }
  std::size_t producer_edges(std::size_t g) const {
    std::size_t count = 0;
    for (std::size_t i : groups_[g].members) count += nodes_[i].producers.size();
    return count;
  }

  /// Whether one group reads a value of the other through a view.
  bool view_between(std::size_t a, std::size_t b) const {
    const auto any_view = [&](llvm::ArrayRef<Edge> edges, std::size_t other) {
      return llvm::any_of(edges, [&](Edge e) { return !e.direct && group_of_[e.node] == other; });
    };
    // The search starts at the end with fewer edges: a value may have very many users.
    const auto from_to = [&](std::size_t from, std::size_t to) {
      if (consumer_edges(from) <= producer_edges(to))
        return llvm::any_of(groups_[from].members,
                            [&](std::size_t i) { return any_view(nodes_[i].consumers, to); });
      return llvm::any_of(groups_[to].members,
                          [&](std::size_t i) { return any_view(nodes_[i].producers, from); });
    };
    return from_to(a, b) || from_to(b, a);
  }

  /// Members with users outside the set: results of the kernel.
  Members escaping(const Members& set) const {
    Members out;
    for (std::size_t i : set)
      if (llvm::any_of(nodes_[i].consumers, [&](Edge e) { return !llvm::is_contained(set, e.node); }))
        out.push_back(i);
    return out;
  }

  /// The number of distinct views of values outside the set that the set reads.
  std::size_t operand_count(const Members& set) const {
    llvm::SmallPtrSet<mlir::Operation*, 16> inside;
    for (std::size_t i : set) inside.insert(nodes_[i].op);
    llvm::SmallDenseSet<mlir::Value, 16> outside;
    for (std::size_t i : set)
      for (mlir::Value v : nodes_[i].op->getOperands())
        if (!inside.contains(v.getDefiningOp()) && !is_nullary(v.getDefiningOp())) outside.insert(v);
    return outside.size();
  }

  /// Whether an operand is an iota, which kernels with a root only generate for the elements of a reduction.
  bool reads_iota(mlir::Operation* op) const {
    return llvm::any_of(op->getOperands(),
                        [](mlir::Value v) { return v.getDefiningOp<ir::IotaOp>() != nullptr; });
  }

  /// The reason why two groups cannot merge, or null. `generates_iota`: for the operations of b.
  const char* reason_against(std::size_t a, std::size_t b, const Members& both,
                             bool generates_iota = false) const {
    if (has_root(a) && !generates_iota) {
      mlir::Operation* op = nodes_[groups_[b].members.front()].op;
      if (reads_iota(op)) return "iota is not generated in the epilogue of a root";
    }
    if (both.size() > max_ops) return "the kernel has the maximum number of operations";
    if (operand_count(both) > max_operands) return "the kernel has the maximum number of operands";
    if (escaping(both).size() > max_results) return "the kernel has the maximum number of results";
    if (view_between(a, b)) return "it needs a view of a value computed in this kernel";
    if (order_->has_path_through_another(a, b)) return "a path between them goes through another kernel";
    return nullptr;
  }

  void remark(std::size_t group, std::size_t node, llvm::StringRef why) {
    groups_[group].missed.emplace_back(node, why.str());
  }

  /// Remarks on the users of node `i` and of its pads.
  void explain_users(std::size_t i) {
    llvm::SmallVector<std::size_t> values{i};
    while (!values.empty()) explain_users(i, values.pop_back_val(), values);
  }

  /// Remarks on the users of `value`, which is node `i` or a pad of it. Adds pads of `value` to `pads`.
  void explain_users(std::size_t i, std::size_t value, llvm::SmallVectorImpl<std::size_t>& pads) {
    const std::size_t group = group_of_[i];
    for (auto [j, direct] : nodes_[value].consumers) {
      mlir::Operation* user = nodes_[j].op;
      if (group_of_[j] == group) continue;
      if (llvm::isa<ir::PadOp>(user))
        pads.push_back(j);
      else if (llvm::isa<ir::ReduceOp>(user) && has_root(group))
        remark(group, j, "a reduction cannot follow another root in one kernel");
      else if ((!direct || value != i) && ir::is_pointwise(user) &&
               elements_of(user) <= elements_of(nodes_[i].op))
        remark(group, j, "it does not read the result element by element");
    }
  }

  void merge(std::size_t from, std::size_t into) {
    order_->merge(from, into);
    for (std::size_t i : groups_[from].members) group_of_[i] = into;
    groups_[into].members.append(groups_[from].members);
    llvm::append_range(groups_[into].missed, groups_[from].missed);
    groups_[from] = {};
  }

  //===--- growth ---------------------------------------------------------===//

  /// Merges pointwise users into the root's group in program order, and keeps the longest sequence after
  /// which the kernel has one result.
  void grow_epilogue(std::size_t root) {
    std::size_t group = group_of_[root];
    Members members = groups_[group].members, best = members;
    llvm::DenseSet<std::size_t> queued;
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> candidates;
    const auto add_users = [&](std::size_t i) {
      for (auto [j, direct] : nodes_[i].consumers)
        if (direct && ir::is_pointwise(nodes_[j].op) && queued.insert(j).second) candidates.push(j);
    };
    for (std::size_t i : members) add_users(i);
    while (!candidates.empty()) {
      const std::size_t next = candidates.top();
      candidates.pop();
      if (groups_[group_of_[next]].members.size() != 1) continue;
      Members both = members;
      both.push_back(next);
      // This candidate merges now, so that the next one is tested for paths from all members. It is split off
      // below if it is not in `best`.
      if (const char* why = reason_against(group, group_of_[next], both)) {
        remark(group, next, why);
        continue;
      }
      merge(group_of_[next], group);
      members = both;
      add_users(next);
      if (escaping(members).size() <= 1) best = members;
    }
    Members rejected;
    for (std::size_t i : members) {
      if (llvm::is_contained(best, i)) continue;
      groups_[i].members = {i};  // group i was the initial group of node i, and is empty since the merge
      group_of_[i] = i;
      rejected.push_back(i);
      remark(group, i, "the kernel would have more than one result");
    }
    groups_[group].members = best;
    llvm::sort(rejected);  // program order is topological: a member uses no value of a later one
    order_->split(group, rejected);
  }

  using Operations = llvm::SmallVector<mlir::Operation*>;

  /// The reductions of a group and its members that compute their elements.
  Operations before(std::size_t group) const {
    Operations found;
    for (std::size_t i : groups_[group].members)
      if (llvm::isa<ir::ReduceOp>(nodes_[i].op)) found.push_back(nodes_[i].op);
    for (std::size_t next = 0; next < found.size(); ++next)
      for (mlir::Value v : found[next]->getOperands()) {
        const auto def = index_.find(v.getDefiningOp());
        if (def != index_.end() && group_of_[def->second] == group && !llvm::is_contained(found, def->first))
          found.push_back(def->first);
      }
    return found;
  }

  std::size_t reductions_of(std::size_t group) const {
    return static_cast<std::size_t>(llvm::count_if(
        groups_[group].members, [&](std::size_t i) { return llvm::isa<ir::ReduceOp>(nodes_[i].op); }));
  }

  /// Merges the groups of two reductions over the same axes, with the producers that they alone read; false
  /// if they must not share a kernel.
  bool join(std::size_t first, std::size_t second, const llvm::DenseSet<mlir::Operation*>& prepackable) {
    const std::size_t into = group_of_[first], from = group_of_[second];
    auto a = llvm::cast<ir::ReduceOp>(nodes_[first].op), b = llvm::cast<ir::ReduceOp>(nodes_[second].op);
    if (into == from || a.getX().getType() != b.getX().getType()) return false;
    if (reductions_of(into) + reductions_of(from) > max_reductions) return false;
    Members both = groups_[into].members;
    both.append(groups_[from].members);
    Operations elements = before(into);
    elements.append(before(from));
    const auto inputs = inputs_of(elements);
    const auto is_computed_here = [&](mlir::Value v) {
      const auto def = index_.find(view_analysis_.base(v).getDefiningOp());
      return def != index_.end() && (group_of_[def->second] == into || group_of_[def->second] == from);
    };
    if (llvm::any_of(inputs, is_computed_here) || !reduces_one_axis(a, inputs, view_analysis_) ||
        reason_against(into, from, both))
      return false;
    merge(from, into);
    grow_reduction(first);
    grow_side_operands(first, prepackable);
    return true;
  }

  /// Merges pointwise producers into a reduction's group, the last in program order first, if the group has
  /// all their users.
  void grow_reduction(std::size_t root) {
    std::size_t group = group_of_[root];
    auto reduce = llvm::cast<ir::ReduceOp>(nodes_[root].op);
    Operations fused = before(group);
    llvm::SmallSet<std::size_t, 8> tried;
    while (true) {
      std::size_t next = 0;
      bool found = false;
      for (mlir::Operation* op : fused)
        for (mlir::Value v : op->getOperands()) {
          auto def = index_.find(v.getDefiningOp());
          if (def == index_.end() || tried.contains(def->second) || !ir::is_pointwise(nodes_[def->second].op))
            continue;
          if (groups_[group_of_[def->second]].members.size() != 1) continue;
          next = found ? std::max(next, def->second) : def->second;
          found = true;
        }
      if (!found) return;
      tried.insert(next);
      mlir::Operation* op = nodes_[next].op;
      Members both = groups_[group].members;
      both.push_back(next);
      Operations longer = fused;
      longer.push_back(op);
      if (!llvm::all_of(op->getUsers(),
                        [&](mlir::Operation* user) { return llvm::is_contained(fused, user); })) {
        remark(group, next, "its value has other users");
      } else if (!reduces_one_axis(reduce, inputs_of(longer), view_analysis_)) {
        remark(group, next, "the reduced axes are not one axis of all its operands");
      } else if (const char* why = reason_against(group, group_of_[next], both, /*generates_iota=*/true)) {
        remark(group, next, why);
      } else {
        merge(group_of_[next], group);
        fused = longer;
      }
    }
  }

  /// Merges into a root's group the pointwise producers of its epilogue's side operands: decay * w in w -
  /// rate * (gradient + decay * w), where the gradient is the root. The last in program order comes first, so
  /// that all users of an operation are decided before it.
  void grow_side_operands(std::size_t root, const llvm::DenseSet<mlir::Operation*>& prepackable) {
    const std::size_t group = group_of_[root];
    llvm::SmallSet<std::size_t, 8> seen;
    std::priority_queue<std::size_t> candidates;
    const auto add_producers = [&](std::size_t i) {
      for (auto [j, direct] : nodes_[i].producers)
        if (direct && ir::is_pointwise(nodes_[j].op) && groups_[group_of_[j]].members.size() == 1 &&
            seen.insert(j).second)
          candidates.push(j);
    };
    // Producers of the elements of reductions are left to grow_reduction.
    const Operations elements = before(group);
    for (std::size_t i : Members(groups_[group].members))
      if (i > root && !llvm::is_contained(elements, nodes_[i].op)) add_producers(i);
    while (!candidates.empty()) {
      const std::size_t next = candidates.top();
      candidates.pop();
      if (prepackable.contains(nodes_[next].op)) continue;
      Members both = groups_[group].members;
      both.push_back(next);
      if (llvm::any_of(nodes_[next].consumers, [&](Edge e) { return group_of_[e.node] != group; })) {
        remark(group, next, "its value has other users");
      } else if (const char* why = reason_against(group, group_of_[next], both)) {
        remark(group, next, why);
      } else {
        merge(group_of_[next], group);
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

  /// Group `g` in the form that form_groups() returns.
  FusionGroup exported(std::size_t g) const {
    FusionGroup group;
    Members members = groups_[g].members;
    llvm::sort(members);
    for (std::size_t i : members) group.ops.push_back(nodes_[i].op);
    for (std::size_t i : escaping(members)) group.results.push_back(nodes_[i].op);
    for (const auto& [node, why] : groups_[g].missed)
      if (group_of_[node] != g) group.missed.push_back(describe(nodes_[node].op) + ": " + why);
    llvm::sort(group.missed);
    group.missed.erase(llvm::unique(group.missed), group.missed.end());
    return group;
  }

  const ViewAnalysis& view_analysis_;
  const TargetModel& target_;
  // By contraction: whether its kernel holds whole pooling windows in registers.
  llvm::DenseMap<mlir::Operation*, bool> holds_windows_;
  std::vector<Node> nodes_;
  std::vector<Group> groups_;  // group i is initially node i alone
  std::vector<std::size_t> group_of_;
  std::optional<GroupOrder> order_;  // reads neighbours from this object
  llvm::DenseMap<mlir::Operation*, std::size_t> index_;
};

}  // namespace

std::vector<FusionGroup> form_groups(mlir::Block& block, const ViewAnalysis& view_analysis,
                                     const llvm::DenseSet<mlir::Operation*>& prepackable,
                                     const TargetModel& target, bool fuse) {
  FusionPlanner planner(block, view_analysis, target);
  if (fuse) {
    planner.grow_epilogues();
    planner.take_packs(prepackable);
    planner.join_packs(prepackable);
    planner.grow_reductions();
    planner.grow_side_operands(prepackable);
    planner.join_reductions(prepackable);
    planner.join_pointwise();
    planner.explain();
  }
  return planner.schedule();
}

}  // namespace kiln::passes
