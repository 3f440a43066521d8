// Puts reports and times together: files, nodes, graphs, kernels, assemblies.
#include "frontend/page/page_data.h"

#include "codegen/driver/limits.h"
#include "frontend/page/page_assembly.h"
#include "frontend/page/page_source.h"
#include "frontend/page/reproducer.h"
#include "ir/gradient_name.h"
#include "runtime/dtype_table.h"
#include "runtime/linked_plan.h"
#include "runtime/median.h"

#include <kiln/threads.h>
#include <kiln/version.h>

#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace kiln {
namespace {

using PageJson = nlohmann::ordered_json;

/// Lines of one kernel's assembly, before the limit of all.
constexpr std::size_t max_assembly_lines = 20'000;
constexpr std::size_t max_place_bytes = 16;  // as JSON: [from,number]
constexpr std::size_t no_assembly = std::numeric_limits<std::size_t>::max();

class PageData {
 public:
  explicit PageData(const PageInput& input) : in_(input) {}

  PageJson take() {
    for (const auto& report : in_.reports.compilations) add_nodes(*report);
    for (const auto& report : in_.reports.compilations)
      if (report->executable && ran(*report)) add_computed(*report);
    // A forward part may be compiled after the backward part, when a second call finds the same parameters.
    for (const bool backward : {false, true})
      for (const auto& report : in_.reports.compilations)
        if (report->is_backward == backward && report->executable && ran(*report)) add_graph(*report);
    PageJson all{{"title", in_.title},
                 {"kiln", version()},
                 {"llvm", llvm_version()},
                 {"date", fmt::format("{:%Y-%m-%d %H:%M UTC}", fmt::gmtime(std::time(nullptr)))},
                 {"threads", num_threads()},
                 {"call_us", in_.call_seconds * 1e6},
                 {"calls", in_.calls}};
    all["limits"] = limits_json();
    all["nodes"] = nodes_json();
    all["files"] = sources_.json();
    all["graphs"] = std::move(graphs_);
    all["kernels"] = std::move(kernels_);
    const std::size_t rest = all.dump(-1, ' ', false, PageJson::error_handler_t::replace).size();
    all["assemblies"] =
        assemblies_json(std::max(max_page_bytes - std::min(rest, max_page_bytes), min_assembly_bytes));
    return all;
  }

 private:
  enum class Role { in_call, prepacks, in_body };

  void add_nodes(const CompilationReport& report) {
    nodes_.add(report.graph.inputs, report.graph.is_parameter, report.graph.nodes, report.graph.outputs,
               report.graph.train);
    nodes_.add(report.update.inputs, {}, report.update.nodes, report.update.outputs, report.update.train);
    for (const ir::Graph* graph : {&report.graph, &report.update})
      for (const ir::Graph::Write& w : graph->writes) nodes_.add({}, {}, {}, {w.value}, graph->train);
    for (const ir::NodePtr& node : report.update.nodes) updates_.insert(node.get());
  }

  PageJson nodes_json() {
    PageJson list = PageJson::array();
    for (const ir::NodePtr& node : nodes_.operators()) {
      PageJson attrs = PageJson::object(), inputs = PageJson::array(), types = PageJson::array();
      for (const auto& [key, value] : node->attr_text)
        if (!key.starts_with("__")) attrs[key] = value;
      for (const ir::Entry& e : node->inputs) inputs.push_back({index_of(*e.node), ir::output_name(e)});
      for (const TensorType& type : nodes_.types_of(*node)) types.push_back(type.str());
      list.push_back({{"name", node->name},
                      {"op", node->op ? std::string(node->op->name) : node->op_name},
                      {"attrs", std::move(attrs)},
                      {"types", std::move(types)},
                      {"inputs", std::move(inputs)},
                      {"at", place(node->location.file, node->location.line)}});
    }
    return list;
  }

  int index_of(const ir::Node& node) const {
    return node.is_variable() ? -1 : nodes_.find(node.name, node.location.file, node.location.line);
  }
  /// [number of the file, line]; null where it is not known.
  PageJson place(const std::string& file, unsigned line) {
    if (file.empty() || line == 0) return nullptr;
    return PageJson::array({sources_.add(file, line), line});
  }

  /// Code may be compiled that only other calls need.
  bool ran(const CompilationReport& report) const {
    const std::vector<Step>& steps = report.executable->plan().steps;
    return std::any_of(steps.begin(), steps.end(),
                       [&](const Step& s) { return in_.profile.of(s) != nullptr; });
  }

  /// Of the nodes that kernels name, the ones that they compute.
  void add_computed(const CompilationReport& report) {
    for (const auto& [name, kernel] : report.kernels)
      for (const KernelReport::Node& node : kernel.nodes) {
        bool is_gradient = false;
        if (const int index = node_of(node, is_gradient); index >= 0 && !node.only_viewed)
          computed_.emplace(index, is_gradient);
      }
  }
  /// The node that a kernel computes, and not only reads; -1: there is none. A view that no kernel computes
  /// is of the kernels that read it.
  int computed_node_of(const KernelReport::Node& node, bool& is_gradient) const {
    bool gradient = false;
    const int index = node_of(node, gradient);
    if (index < 0 || (node.only_viewed && computed_.contains({index, gradient}))) return -1;
    is_gradient |= gradient;
    return index;
  }

  /// Counts the kernels that compute a part of a node, gradients apart.
  void count_parts(const CompilationReport& report) {
    parts_.clear();
    for (const auto& [name, kernel] : report.kernels)
      for (const KernelReport::Node& node : kernel.nodes) {
        bool is_gradient = false;
        if (const int index = computed_node_of(node, is_gradient); index >= 0 && !is_gradient)
          ++parts_[static_cast<std::size_t>(index)];
      }
  }
  std::vector<std::string> names_of_parts(const std::vector<std::size_t>& operators) const {
    std::vector<std::string> names;
    for (const std::size_t i : operators)
      if (const auto found = parts_.find(i); found != parts_.end() && found->second > 1)
        names.push_back(nodes_.operators()[i]->name);
    return names;
  }

  void add_graph(const CompilationReport& report) {
    count_parts(report);
    const ExecutablePlan& plan = report.executable->plan();
    if (!report.graph.nodes.empty()) train_ = report.graph.train;
    const std::size_t first = kernels_.size();
    add_steps(report, plan, plan.steps, Role::in_call);
    for (const PrepackedPlan& prepacked : plan.prepacked)
      add_steps(report, plan, prepacked.steps, Role::prepacks);
    add_bodies(report, report.executable->runner().linked());
    // Networks of symbols have no name.
    const bool named = !plan.name.empty() && !plan.name.starts_with('_');
    graphs_.push_back({{"name", named                ? plan.name
                                : report.is_backward ? "backward"
                                                     : "forward"},
                       {"first", first},
                       {"count", kernels_.size() - first},
                       {"backward", report.is_backward},
                       {"device", report.executable->device().str()},
                       {"arena_bytes", plan.arena_bytes},
                       {"compile_ms", plan.compile_ms}});
  }
  void add_bodies(const CompilationReport& report, const LinkedPlan& linked) {
    for (const Launch& l : linked.launches()) {
      if (!l.control) continue;
      for (const LinkedPlan* body : l.control->bodies()) {
        add_steps(report, body->plan(), body->plan().steps, Role::in_body);
        add_bodies(report, *body);
      }
    }
  }

  void add_steps(const CompilationReport& report, const ExecutablePlan& plan, const std::vector<Step>& steps,
                 Role role) {
    const bool in_body = role == Role::in_body;
    const Profile::Record* const record = in_body ? in_.bodies : &in_.profile;
    const std::int64_t calls = std::max<std::int64_t>(in_body ? in_.body_calls : in_.calls, 1);
    for (const Step& step : steps) {
      PageJson json{{"name", step.name}, {"graph", graphs_.size()}};
      if (role == Role::prepacks) json["role"] = "once, before the first call";
      if (in_body) json["role"] = "in a loop or branch, whose time includes it";
      json["in_body"] = in_body;
      double seconds = 0;
      if (const Profile::Record::Measured* m = record ? record->of(step) : nullptr) {
        std::vector<double> times = m->seconds;
        seconds = median_of(times);
        json["us"] = seconds * 1e6;
        json["runs"] = static_cast<double>(m->kernel.runs) / static_cast<double>(calls);
      } else if (in_body) {
        json["runs"] = 0;  // a branch that was not taken
      }
      if (step.launches_kernel())
        add_kernel(json, report, plan.kernels.at(step.kernel), step, seconds);
      else
        add_control(json, step);
      kernels_.push_back(std::move(json));
    }
  }

  /// A loop, a branch or a check has the name of its node, then a dot and what it is.
  void add_control(PageJson& json, const Step& step) {
    json["lines"] = lines_of(step.locations);
    const std::string node = step.name.substr(0, step.name.rfind('.'));
    if (const int index = nodes_.find(node, {}, 0); index >= 0) json["nodes"] = {index};
  }

  /// The node of a kernel, also of its gradients, which sets `is_gradient`; -1: it is not in the graph.
  int node_of(const KernelReport::Node& node, bool& is_gradient) const {
    const int index = nodes_.find(node.name, node.file, node.line);
    if (index >= 0 || !node.name.ends_with(ir::gradient_suffix)) return index;
    is_gradient = true;
    return nodes_.find(node.name.substr(0, node.name.size() - ir::gradient_suffix.size()), node.file,
                       node.line);
  }

  PageJson lines_of(const std::vector<std::string>& locations) {
    PageJson lines = PageJson::array();
    for (const std::string& at : locations) {
      const std::size_t colon = at.rfind(':');
      if (colon == at.npos) continue;
      lines.push_back(place(at.substr(0, colon),
                            static_cast<unsigned>(std::strtoul(at.c_str() + colon + 1, nullptr, 10))));
    }
    return lines;
  }

  void add_kernel(PageJson& json, const CompilationReport& report, const PlannedKernel& planned,
                  const Step& step, double seconds) {
    json["lines"] = lines_of(step.locations);
    const auto found = report.kernels.find(step.name);
    if (found == report.kernels.end()) return;
    const KernelReport& kernel = found->second;
    std::vector<std::size_t> operators;
    bool has_gradients = false;
    for (const KernelReport::Node& node : kernel.nodes) {
      const int index = computed_node_of(node, has_gradients);
      if (index >= 0 && std::find(operators.begin(), operators.end(), index) == operators.end())
        operators.push_back(static_cast<std::size_t>(index));
    }
    json["nodes"] = operators;
    json["bytes"] = kernel.bytes;
    json["multiply_adds"] = kernel.multiply_adds;
    json["dtype"] = row_of(kernel.dtype).name;
    json["operations"] = kernel.operations;
    if (!planned.gpu.schedule.empty()) json["schedule"] = planned.gpu.schedule;
    if (report.executable->device().is_cpu()) add_limit(json, kernel, step, seconds);
    add_assembly(json, kernel, report, planned.symbol);
    const std::size_t all = operators.size();
    // Gradients that are fused with an update are computed without it: an update has no backward pass.
    if (has_gradients)
      std::erase_if(operators, [&](std::size_t i) { return updates_.contains(nodes_.operators()[i].get()); });
    const Reproducer program =
        reproduce(nodes_, operators,
                  {.kernel = step.name,
                   .train = train_,
                   .backward = has_gradients,
                   .leaves_out_update = operators.size() < all,
                   .parts = has_gradients ? std::vector<std::string>() : names_of_parts(operators)});
    if (program.program.empty())
      json["no_program"] = program.because;
    else
      json["program"] = program.program;
  }

  static void add_limit(PageJson& json, const KernelReport& kernel, const Step& step, double seconds) {
    const std::int64_t tasks = step.grain > 0 ? (step.extent + step.grain - 1) / step.grain : 1;
    const int cores = static_cast<int>(std::clamp<std::int64_t>(tasks, 1, num_threads()));
    const MachineLimits& limits = machine_limits();
    const double all = limits.seconds_of(kernel.bytes, kernel.multiply_adds, kernel.dtype, cores),
                 moves = limits.seconds_of(kernel.bytes, 0, kernel.dtype, cores);
    json["cores"] = cores;
    json["limit_us"] = all * 1e6;
    json["bound"] = all > moves ? "arithmetic" : "memory";
    if (seconds > 0) json["limit_share"] = all / seconds;
  }

  /// The number of the kernel's assembly, and the lines that its places name; equal ones are one, whatever
  /// their lines.
  void add_assembly(PageJson& json, const KernelReport& kernel, const CompilationReport& report,
                    const std::string& symbol) {
    json["assembly"] = nullptr;
    json["code_lines"] = PageJson::array();
    const auto found = report.texts.find(symbol);
    if (found == report.texts.end()) return;
    const auto [known, unseen] = assembly_of_symbol_.try_emplace(symbol, assemblies_.size());
    if (unseen) known->second = add_assembly(found->second, symbol);
    if (known->second == no_assembly) return;
    json["assembly"] = known->second;
    if (!assemblies_[known->second].places.empty()) json["code_lines"] = lines_of(kernel.lines);
  }
  std::size_t add_assembly(const KernelTexts& texts, const std::string& symbol) {
    const auto text_of = [&](std::string_view stage) {
      const auto text = texts.find(stage);
      return text == texts.end() ? AssemblyText() : assembly_of(text->second, symbol, max_assembly_lines);
    };
    AssemblyText assembly = text_of("asm");
    if (assembly.text.empty()) assembly = text_of("ptx");
    if (assembly.text.empty()) return no_assembly;
    // The code that runs has no debug information; the lines are of the same instructions with it.
    if (AssemblyText lines = text_of("lines"); lines.text == assembly.text) assembly = std::move(lines);
    std::string content = assembly.text;
    for (const AssemblyText::Place& p : assembly.places) content += fmt::format("{}:{} ", p.from, p.number);
    const auto [at, is_new] = assembly_numbers_.try_emplace(std::move(content), assemblies_.size());
    if (is_new) assemblies_.push_back(std::move(assembly));
    return at->second;
  }

  /// Bytes as JSON: a text takes an eighth more.
  static std::size_t json_bytes(const AssemblyText& a) {
    return a.text.size() * 9 / 8 + a.places.size() * max_place_bytes;
  }
  /// The longest are cut until all have room.
  PageJson assemblies_json(std::size_t room) {
    std::size_t limit = room;  // of the bytes of one
    const auto total = [&] {
      std::size_t bytes = 0;
      for (const AssemblyText& a : assemblies_) bytes += std::min(json_bytes(a), limit);
      return bytes;
    };
    while (total() > room) limit = limit * 7 / 8;
    PageJson list = PageJson::array();
    for (AssemblyText& a : assemblies_) {
      while (!a.text.empty() && json_bytes(a) > limit) cut(a, a.text.size() * 7 / 8);
      PageJson places = PageJson::array();
      for (const AssemblyText::Place& p : a.places)
        places.push_back({p.from, p.number > 0 ? PageJson(p.number - 1) : PageJson(nullptr)});
      list.push_back({{"text", std::move(a.text)}, {"left_out", a.left_out}, {"places", std::move(places)}});
    }
    return list;
  }
  static void cut(AssemblyText& a, std::size_t limit) {
    const std::size_t end = limit > 0 ? a.text.rfind('\n', limit - 1) : a.text.npos;
    const std::size_t keep = end == a.text.npos ? 0 : end + 1;
    const auto lines = static_cast<std::size_t>(
        std::count(a.text.begin() + static_cast<std::ptrdiff_t>(keep), a.text.end(), '\n'));
    a.text.resize(keep);
    a.lines -= lines;
    a.left_out += lines;
    std::erase_if(a.places, [&](const AssemblyText::Place& p) { return p.from >= a.lines; });
  }

  static PageJson limits_json() {
    const MachineLimits& l = machine_limits();
    return {{"instructions", l.instructions},
            {"f32_multiply_adds", l.f32_multiply_adds},
            {"pair_multiply_adds", l.pair_multiply_adds},
            {"byte_multiply_adds", l.byte_multiply_adds},
            {"l1_bytes", l.l1_bytes},
            {"l1_rate", l.l1_rate},
            {"l2_bytes", l.l2_bytes},
            {"l2_rate", l.l2_rate},
            {"l3_bytes", l.l3_bytes},
            {"l3_rate", l.l3_rate},
            {"memory_rate", l.memory_rate}};
  }

  const PageInput& in_;
  PageNodes nodes_;
  std::set<std::pair<int, bool>> computed_;  // nodes, and their gradients, that kernels compute
  PageSources sources_;
  std::unordered_set<const ir::Node*> updates_;
  PageJson graphs_ = PageJson::array(), kernels_ = PageJson::array();
  std::vector<AssemblyText> assemblies_;
  std::unordered_map<std::string, std::size_t> assembly_numbers_;    // by content
  std::unordered_map<std::string, std::size_t> assembly_of_symbol_;  // or no_assembly
  std::unordered_map<std::size_t, int> parts_;                       // of nodes: kernels of the present graph
  bool train_ = false;
};

}  // namespace

PageJson page_json(const PageInput& input) { return PageData(input).take(); }

}  // namespace kiln
