// Groups while they are formed: their edges, the limits of a kernel, merges without cycles.
#include "passes/fusion_graph.h"

#include "ir/windows.h"

#include <llvm/ADT/SmallPtrSet.h>

#include <queue>

namespace kiln::passes {
namespace {

// A kernel's limits: distinct operands (views count), operations (registers and code size).
constexpr std::size_t max_operands = 24;
constexpr std::size_t max_ops = 64;

std::string describe(mlir::Operation* op) {
  std::string name = op->getName().stripDialect().str();
  if (auto unary = llvm::dyn_cast<ir::UnaryOp>(op)) name += " " + ir::stringifyUnary(unary.getKind()).str();
  if (auto binary = llvm::dyn_cast<ir::BinaryOp>(op))
    name += " " + ir::stringifyBinary(binary.getKind()).str();
  if (auto named = op->getLoc()->findInstanceOf<mlir::NameLoc>()) name += " of " + named.getName().str();
  return name;
}

/// Whether an operand is an iota, which kernels with a root only generate for the elements of a reduction.
bool reads_iota(mlir::Operation* op) {
  return llvm::any_of(op->getOperands(),
                      [](mlir::Value v) { return v.getDefiningOp<ir::IotaOp>() != nullptr; });
}

}  // namespace

bool FusionGraph::Node::is_root() const { return llvm::isa<ir::ReduceOp>(op) || ir::is_product(op); }

FusionGraph::FusionGraph(mlir::Block& block, const ViewAnalysis& view_analysis, const TargetModel& target)
    : view_analysis_(view_analysis) {
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
        const bool direct = base == v || is_point_of_window(v, target);
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

std::optional<std::size_t> FusionGraph::number_of(mlir::Operation* op) const {
  const auto found = index_.find(op);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

bool FusionGraph::is_node(mlir::Operation* op) const {
  if (ir::is_view_op(op)) return view_analysis_.is_buffer(op);
  if (!is_nullary(op)) return true;
  return llvm::any_of(op->getUsers(), [&](mlir::Operation* user) { return !rematerializes(user, op); });
}

bool FusionGraph::is_point_of_window(mlir::Value v, const TargetModel& target) {
  auto slice = v.getDefiningOp<ir::SliceOp>();
  mlir::Operation* sliced = slice ? slice.getX().getDefiningOp() : nullptr;
  if (!sliced || !ir::is_product(sliced)) return false;
  auto [known, inserted] = holds_windows_.try_emplace(sliced, false);
  if (inserted) {
    const auto windows = ir::pooled_windows(sliced);
    known->second = windows && windows->points() <= target.max_window_points();
  }
  return known->second;
}

bool FusionGraph::has_root(std::size_t g) const {
  return llvm::any_of(groups_[g].members, [&](std::size_t i) { return nodes_[i].is_root(); });
}

void FusionGraph::each_consumer(std::size_t g, Visit visit) const {
  for (std::size_t i : groups_[g].members)
    for (auto [j, direct] : nodes_[i].consumers)
      if (group_of_[j] != g) visit(group_of_[j]);
}

void FusionGraph::each_producer(std::size_t g, Visit visit) const {
  for (std::size_t i : groups_[g].members)
    for (auto [j, direct] : nodes_[i].producers)
      if (group_of_[j] != g) visit(group_of_[j]);
}

std::size_t FusionGraph::consumer_edges(std::size_t g) const {
  std::size_t count = 0;
  for (std::size_t i : groups_[g].members) count += nodes_[i].consumers.size();
  return count;
}

std::size_t FusionGraph::producer_edges(std::size_t g) const {
  std::size_t count = 0;
  for (std::size_t i : groups_[g].members) count += nodes_[i].producers.size();
  return count;
}

bool FusionGraph::view_between(std::size_t a, std::size_t b) const {
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

FusionGraph::Members FusionGraph::escaping(const Members& set) const {
  Members out;
  for (std::size_t i : set)
    if (llvm::any_of(nodes_[i].consumers, [&](Edge e) { return !llvm::is_contained(set, e.node); }))
      out.push_back(i);
  return out;
}

std::size_t FusionGraph::operand_count(const Members& set) const {
  llvm::SmallPtrSet<mlir::Operation*, 16> inside;
  for (std::size_t i : set) inside.insert(nodes_[i].op);
  llvm::SmallDenseSet<mlir::Value, 16> outside;
  for (std::size_t i : set)
    for (mlir::Value v : nodes_[i].op->getOperands())
      if (!inside.contains(v.getDefiningOp()) && !is_nullary(v.getDefiningOp())) outside.insert(v);
  return outside.size();
}

const char* FusionGraph::reason_against(std::size_t a, std::size_t b, const Members& both,
                                        bool generates_iota) const {
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

void FusionGraph::remark(std::size_t group, std::size_t node, llvm::StringRef why) {
  groups_[group].missed.emplace_back(node, why.str());
}

void FusionGraph::merge(std::size_t from, std::size_t into) {
  order_->merge(from, into);
  for (std::size_t i : groups_[from].members) group_of_[i] = into;
  groups_[into].members.append(groups_[from].members);
  llvm::append_range(groups_[into].missed, groups_[from].missed);
  groups_[from] = {};
}

void FusionGraph::split(std::size_t group, const Members& kept) {
  Members rejected;
  for (std::size_t i : Members(groups_[group].members)) {
    if (llvm::is_contained(kept, i)) continue;
    groups_[i].members = {i};  // group i was the initial group of node i, and is empty since the merge
    group_of_[i] = i;
    rejected.push_back(i);
  }
  groups_[group].members = kept;
  llvm::sort(rejected);  // program order is topological: a member uses no value of a later one
  order_->split(group, rejected);
}

std::vector<FusionGroup> FusionGraph::schedule() const {
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

FusionGroup FusionGraph::exported(std::size_t g) const {
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

}  // namespace kiln::passes
