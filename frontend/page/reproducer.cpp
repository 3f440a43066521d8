// Writes C++ programs around a symbol of some nodes of a graph.
#include "frontend/page/reproducer.h"

#include "frontend/symbol/json/symbol_file.h"
#include "frontend/symbol/symbol_graph.h"
#include "ir/body_types.h"
#include "runtime/dtype_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace kiln {

void PageNodes::add(const std::vector<ir::NodePtr>& inputs, const std::vector<bool>& is_parameter,
                    const std::vector<ir::NodePtr>& nodes, const std::vector<ir::Entry>& outputs,
                    bool train) {
  for (std::size_t i = 0; i < std::min(inputs.size(), is_parameter.size()); ++i)
    if (is_parameter[i]) parameters_.insert(inputs[i].get());
  add_nodes(nodes);
  const auto is_typed = [](const ir::Entry& e) { return e.output < e.node->types.size(); };
  for (const ir::NodePtr& node : nodes)
    if (!node->subgraphs.empty() && std::all_of(node->inputs.begin(), node->inputs.end(), is_typed))
      body_types_.merge(ir::body_types(*node, train));
  for (const ir::Entry& e : outputs) uses_.emplace(e.node.get(), Use{e.output, nullptr});
}

void PageNodes::add_nodes(const std::vector<ir::NodePtr>& nodes) {
  for (const ir::NodePtr& node : nodes) {
    // A graph may be compiled several times.
    if (node->is_variable() || !seen_.insert(node.get()).second) continue;
    for (const ir::Entry& e : node->inputs) uses_.emplace(e.node.get(), Use{e.output, node.get()});
    by_name_.emplace(node->name, operators_.size());
    operators_.push_back(node);
    for (const ir::SubgraphPtr& body : node->subgraphs) {
      add_nodes(body->nodes);
      for (const ir::Entry& e : body->outputs) uses_.emplace(e.node.get(), Use{e.output, nullptr});
    }
  }
}

const std::vector<TensorType>& PageNodes::types_of(const ir::Node& node) const {
  const auto found = node.types.empty() ? body_types_.find(&node) : body_types_.end();
  return found == body_types_.end() ? node.types : found->second;
}

int PageNodes::find(const std::string& name, const std::string& file, unsigned line) const {
  int found = -1;
  const auto [begin, end] = by_name_.equal_range(name);
  for (auto it = begin; it != end; ++it) {
    const ir::Node& node = *operators_[it->second];
    if (node.location.file == file && node.location.line == line) return static_cast<int>(it->second);
    found = static_cast<int>(it->second);
  }
  return found;
}

bool PageNodes::is_used_outside(const ir::Entry& e, const std::unordered_set<const ir::Node*>& inside) const {
  const auto [begin, end] = uses_.equal_range(e.node.get());
  return std::any_of(begin, end, [&](const auto& use) {
    return use.second.output == e.output && !(use.second.user && inside.contains(use.second.user));
  });
}

namespace {

/// The symbol of some nodes, whose inputs from elsewhere become variables.
class Excerpt {
 public:
  Excerpt(const PageNodes& nodes, std::vector<std::size_t> operators) : nodes_(nodes) {
    std::sort(operators.begin(), operators.end());
    for (const std::size_t i : operators) {
      originals_.push_back(nodes.operators()[i]);
      inside_.insert(originals_.back().get());
    }
    for (const ir::NodePtr& node : originals_) copy(node);
    for (const ir::NodePtr& node : originals_) add_heads(node);
  }

  struct Input {
    std::string name;
    TensorType type;
  };
  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<ir::Entry>& heads() const { return heads_; }
  const std::string& because() const { return because_; }

 private:
  void copy(const ir::NodePtr& node) {
    auto copy = std::make_shared<ir::Node>(*node);
    copy->types.clear();
    copy->control_deps.clear();
    for (ir::Entry& e : copy->inputs) e = replaced(e);
    copies_[node.get()] = std::move(copy);
  }

  ir::Entry replaced(const ir::Entry& e) {
    if (const auto copied = copies_.find(e.node.get()); copied != copies_.end())
      return {copied->second, e.output, e.version};
    const auto [at, is_new] = variables_.try_emplace({e.node.get(), e.output});
    if (is_new) at->second = variable(e);
    return {at->second, 0, 0};
  }

  ir::NodePtr variable(const ir::Entry& e) {
    auto made = std::make_shared<ir::Node>();
    made->name = free_name(ir::output_name(e));
    const std::vector<TensorType>& types = nodes_.types_of(*e.node);
    if (e.output >= types.size()) {
      because_ = fmt::format("the shape of '{}' is not known", made->name);
      return made;
    }
    const TensorType& type = types[e.output];
    if (e.node->is_variable() && nodes_.is_parameter(*e.node)) {
      made->attr_text["__shape__"] = type.shape.str();
      made->attr_text["__dtype__"] = std::to_string(static_cast<int>(type.dtype));
    } else {
      inputs_.push_back({made->name, type});
    }
    return made;
  }

  std::string free_name(const std::string& name) {
    std::string free = name;
    for (int i = 1; !names_.insert(free).second; ++i) free = fmt::format("{}_{}", name, i);
    return free;
  }

  void add_heads(const ir::NodePtr& node) {
    const std::uint32_t visible = ir::visible_outputs(*node);
    for (std::uint32_t i = 0; i < visible; ++i)
      if (nodes_.is_used_outside({node, i, 0}, inside_)) heads_.push_back({copies_.at(node.get()), i, 0});
  }

  const PageNodes& nodes_;
  std::vector<ir::NodePtr> originals_;
  std::unordered_set<const ir::Node*> inside_;
  std::unordered_map<const ir::Node*, ir::NodePtr> copies_;
  std::map<std::pair<const ir::Node*, std::uint32_t>, ir::NodePtr> variables_;
  std::unordered_set<std::string> names_;
  std::vector<Input> inputs_;
  std::vector<ir::Entry> heads_;
  std::string because_;
};

/// The symbol's JSON, a line for each node; empty if a name has characters that no JSON may have.
std::string excerpt_text(const std::vector<ir::Entry>& heads) {
  using ExcerptJson = nlohmann::ordered_json;
  const ExcerptJson all =
      ExcerptJson::parse(format_symbol_file(to_file_graph({heads})), nullptr, /*allow_exceptions=*/false);
  if (all.is_discarded()) return {};
  const auto compact = [](const ExcerptJson& json) {
    return json.dump(-1, ' ', false, ExcerptJson::error_handler_t::replace);
  };
  std::string text = "{\"nodes\": [\n";
  for (const ExcerptJson& node : all.at("nodes")) text += compact(node) + ",\n";
  text.replace(text.size() - 2, 2, "],\n");
  text +=
      fmt::format("\"arg_nodes\": {}, \"heads\": {}", compact(all.at("arg_nodes")), compact(all.at("heads")));
  if (all.contains("attrs")) text += ", \"attrs\": " + compact(all["attrs"]);
  return text + "}";
}

/// A raw string literal: the delimiter does not occur in the text.
std::string raw_literal(const std::string& text) {
  std::string delimiter = "json";
  while (text.find(")" + delimiter + "\"") != text.npos) delimiter += 'x';
  return fmt::format("R\"{0}({1}){0}\"", delimiter, text);
}

std::string cpp_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (byte < 0x20)
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string input_text(const TensorType& type) {
  const std::string shape = fmt::format("{{{}}}", fmt::join(type.shape.dims(), ", "));
  const std::string_view dtype = row_of(type.dtype).enumerator;
  if (!is_floating(type.dtype)) return fmt::format("zeros(Shape{}, DType::{})", shape, dtype);
  return fmt::format("random::uniform(-1, 1, Shape{}, DType::{})", shape, dtype);
}

/// Names of kernels and nodes in a comment of one line: they may have any characters.
std::string in_comment(std::string_view name) {
  std::string text;
  for (const char c : name) text += static_cast<unsigned char>(c) < 0x20 || c == '\\' ? ' ' : c;
  return text;
}

/// The kernel, and how the program's kernels differ from it.
std::string program_comment(const ReproducerOptions& options) {
  std::string text = "// The operators of the kernel " + in_comment(options.kernel) + "\n";
  if (options.backward)
    text +=
        "// The program runs them forward and backward, in several kernels. In the network the gradients may "
        "be\n"
        "// fused with the ones of other operators.\n";
  if (options.leaves_out_update) text += "// The kernel also updates parameters, which is left out here.\n";
  for (const std::string& name : options.parts)
    text += "// The kernel computes a part of " + in_comment(name) + ", the program all of it.\n";
  return text;
}

constexpr std::string_view timed_forward = "  std::cout << benchmark(net, inputs, {.kernels = true});\n";
constexpr std::string_view timed_backward =
    "  for (Tensor& x : inputs)\n"
    "    if (is_floating(x.dtype())) x.attach_grad();\n"
    "  const auto step = [&] {\n"
    "    Tensors heads;\n"
    "    {\n"
    "      const autograd::Record record;\n"
    "      for (Tensor& y : net(inputs))\n"
    "        if (is_floating(y.dtype())) heads.push_back(std::move(y));\n"
    "    }\n"
    "    autograd::backward(heads);\n"
    "  };\n"
    "  std::cout << kernels_table(time_calls(\"training\", step, {.kernels = true}));\n";

}  // namespace

Reproducer reproduce(const PageNodes& nodes, const std::vector<std::size_t>& operators,
                     const ReproducerOptions& options) {
  if (operators.empty()) return {"", "no node of the graph is known to be in it"};
  const Excerpt excerpt(nodes, operators);
  if (!excerpt.because().empty()) return {"", excerpt.because()};
  if (excerpt.heads().empty()) return {"", "nothing uses the results of its nodes"};
  const std::string symbol = excerpt_text(excerpt.heads());
  if (symbol.empty()) return {"", "the name of a node has characters that no program can have"};
  std::vector<std::string> variables, values;
  for (const Excerpt::Input& input : excerpt.inputs()) {
    variables.push_back(fmt::format("sym::var({})", cpp_quoted(input.name)));
    values.push_back(input_text(input.type));
  }
  std::string program = program_comment(options);
  program += "#include <kiln/kiln.h>\n\n#include <iostream>\n\nusing namespace kiln;\n\n";
  program += fmt::format("int main() {{\n  const Symbol symbol = sym::load_json({});\n", raw_literal(symbol));
  program += fmt::format("  SymbolBlock net(symbol, {{{}}});\n", fmt::join(variables, ", "));
  program += "  net.initialize();\n  net.hybridize();\n";
  program += fmt::format("  {}Tensors inputs{{{}}};\n", options.backward ? "" : "const ",
                         fmt::join(values, ",\n                       "));
  if (options.train && !options.backward) program += "  const autograd::TrainMode mode;\n";
  program += options.backward ? timed_backward : timed_forward;
  return {program + "}\n", ""};
}

}  // namespace kiln
