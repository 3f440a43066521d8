// A compiled model in Graphviz's dot format: types on edges, kernels as clusters.
#include "codegen/driver/report.h"
#include "frontend/model/model_state.h"
#include "frontend/model/planned_model.h"
#include "frontend/symbol/dot_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <unordered_map>

namespace kiln {
namespace {

class CompiledDot {
 public:
  CompiledDot(const CompilationReport& report, const ExecutablePlan& plan) : graph_(report.graph) {
    number_nodes();
    for (const Step& step : plan.steps)
      if (step.launches_kernel())
        if (const auto found = report.kernels.find(step.name); found != report.kernels.end())
          add_kernel(step.name, found->second);
  }

  std::string text() {
    line("digraph {} {{\n  rankdir = BT;\n  node [shape = box];\n", dot_quoted(graph_.name));
    line("  subgraph {{ node [shape = ellipse];\n");
    for (const ir::NodePtr& input : graph_.inputs)
      line("    n{} [label = {}];\n", numbers_.at(input.get()), dot_quoted(dot_label(*input)));
    line("  }}\n");
    for (std::size_t k = 0; k < kernels_.size(); ++k) cluster(k);
    // Nodes that no kernel computes: constants, and other views of an array.
    for (const ir::NodePtr& node : graph_.nodes)
      if (!node->is_variable() && !kernels_of_.contains(node.get())) print_node(*node, "  ");
    for (const ir::NodePtr& node : graph_.nodes)
      for (const ir::Entry& e : node->inputs) edge(e, fmt::format("n{}", numbers_.at(node.get())));
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      line("  out{} [label = {}, shape = plaintext];\n", i, dot_quoted(fmt::format("output {}", i)));
      edge(graph_.outputs[i], fmt::format("out{}", i));
    }
    line("}}\n");
    return std::move(out_);
  }

 private:
  struct Cluster {
    std::string name;
    std::vector<const ir::Node*> nodes;  ///< that no earlier kernel begins
  };

  template <class... A>
  void line(fmt::format_string<A...> text, A&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<A>(args)...);
  }

  void number_nodes() {
    for (const std::vector<ir::NodePtr>* list : {&graph_.inputs, &graph_.nodes})
      for (const ir::NodePtr& node : *list) {
        numbers_.try_emplace(node.get(), numbers_.size());
        if (!node->is_variable()) by_name_.emplace(node->name, node.get());
      }
  }

  void add_kernel(const std::string& name, const KernelReport& report) {
    Cluster cluster{name, {}};
    for (const KernelReport::Node& place : report.nodes) {
      const auto [begin, end] = by_name_.equal_range(place.name);
      for (auto it = begin; it != end; ++it) {
        if (it->second->location.line != place.line && std::next(begin) != end) continue;
        std::vector<std::size_t>& kernels = kernels_of_[it->second];
        if (kernels.empty()) cluster.nodes.push_back(it->second);
        if (kernels.empty() || kernels.back() != kernels_.size()) kernels.push_back(kernels_.size());
      }
    }
    kernels_.push_back(std::move(cluster));
  }

  /// A node lies in the first of its kernels; its label names all of several.
  void print_node(const ir::Node& node, const char* indent) {
    std::string label = dot_label(node);
    if (const auto found = kernels_of_.find(&node); found != kernels_of_.end() && found->second.size() > 1)
      label += fmt::format("\nkernels {}", fmt::join(found->second, ", "));
    line("{}n{} [label = {}];\n", indent, numbers_.at(&node), dot_quoted(label));
  }

  void cluster(std::size_t k) {
    const Cluster& cluster = kernels_[k];
    if (cluster.nodes.empty()) return;
    line("  subgraph cluster_{} {{\n    label = {}; style = rounded; color = gray;\n", k,
         dot_quoted(fmt::format("kernel {}: {}", k, cluster.name)));
    for (const ir::Node* node : cluster.nodes) print_node(*node, "    ");
    line("  }}\n");
  }

  void edge(const ir::Entry& e, const std::string& to) {
    const std::string type = e.output < e.node->types.size() ? e.node->types[e.output].str() : "";
    line("  n{} -> {} [label = {}];\n", numbers_.at(e.node.get()), to,
         dot_quoted(e.output == 0 ? type : fmt::format("{}: {}", e.output, type)));
  }

  const ir::Graph& graph_;
  std::unordered_map<const ir::Node*, std::size_t> numbers_;
  std::unordered_multimap<std::string, const ir::Node*> by_name_;
  std::unordered_map<const ir::Node*, std::vector<std::size_t>> kernels_of_;
  std::vector<Cluster> kernels_;
  std::string out_;
};

}  // namespace

std::string Model::dot(const std::map<std::string, Tensor>& inputs, const RunOptions& options) const {
  const ReportScope reports(/*has_code=*/false);
  const PlannedModel planned = PlannedModel::of(*this, inputs, options);
  return CompiledDot(*reports.compilations.front(), planned.plan).text();
}

}  // namespace kiln
