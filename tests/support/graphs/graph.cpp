// Builds graphs, and prints them as JSON and as programs.
#include "graphs/graph.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace graphs {

using namespace kiln;

Ref Graph::add_variable(std::string name, Tensor value) {
  nodes.push_back({.op = "null", .name = std::move(name), .value = std::move(value)});
  return {nodes.size() - 1, 0};
}

Ref Graph::add(std::string op, std::string name, std::vector<Ref> inputs, Attributes attrs) {
  nodes.push_back({std::move(op), std::move(name), std::move(attrs), std::move(inputs), {}});
  return {nodes.size() - 1, 0};
}

std::size_t Graph::operators() const {
  std::size_t count = 0;
  for (const Node& node : nodes) count += !node.is_variable();
  return count;
}

Graph without_dead_nodes(const Graph& graph) {
  std::vector<bool> alive(graph.nodes.size(), false);
  for (const Ref& r : graph.outputs) alive[r.node] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (!alive[i]) continue;
    for (const Ref& r : graph.nodes[i].inputs) alive[r.node] = true;
  }
  Graph out{.nodes = {}, .outputs = graph.outputs, .train = graph.train, .seed = graph.seed};
  std::vector<std::size_t> place(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!alive[i]) continue;
    place[i] = out.nodes.size();
    out.nodes.push_back(graph.nodes[i]);
    for (Ref& r : out.nodes.back().inputs) r.node = place[r.node];
  }
  for (Ref& r : out.outputs) r.node = place[r.node];
  return out;
}

std::string to_json(const Graph& graph) {
  using Json = nlohmann::ordered_json;
  const auto entry = [](const Ref& r) { return Json{r.node, r.output, 0}; };
  Json nodes = Json::array(), heads = Json::array(), arguments = Json::array();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    Json inputs = Json::array();
    for (const Ref& r : node.inputs) inputs.push_back(entry(r));
    Json json{{"op", node.op}, {"name", node.name}};
    if (!node.attrs.empty()) json["attrs"] = node.attrs;
    json["inputs"] = inputs;
    if (!node.subgraphs.empty()) json["subgraphs"] = Json::parse(node.subgraphs);
    nodes.push_back(json);
    if (node.is_variable()) arguments.push_back(i);
  }
  for (const Ref& r : graph.outputs) heads.push_back(entry(r));
  // One node a line.
  std::string text = "{\"nodes\": [";
  for (std::size_t i = 0; i < nodes.size(); ++i) text += (i ? ",\n  " : "\n  ") + nodes[i].dump();
  return text + fmt::format("\n],\n\"arg_nodes\": {},\n\"heads\": {}}}\n", arguments.dump(), heads.dump());
}

namespace {

// A number exactly, as C++ reads it.
std::string literal(double v) {
  if (std::isnan(v)) return "NAN";
  if (std::isinf(v)) return v < 0 ? "-INFINITY" : "INFINITY";
  if (v == std::floor(v) && std::fabs(v) < 1e6 && !(v == 0 && std::signbit(v))) return fmt::format("{}", v);
  return fmt::format("{:a}", v);
}

std::string dtype_literal(DType d) {
  const std::map<DType, std::string> names{
      {DType::f32, "f32"}, {DType::f64, "f64"},         {DType::f16, "f16"},
      {DType::u8, "u8"},   {DType::i32, "i32"},         {DType::i8, "i8"},
      {DType::i64, "i64"}, {DType::boolean, "boolean"}, {DType::bf16, "bf16"}};
  return "DType::" + names.at(d);
}

std::string values_literal(const Tensor& t) {
  std::vector<std::string> values;
  if (is_floating(t.dtype()))
    for (double v : t.to_vector<double>()) values.push_back(literal(v));
  else
    for (std::int64_t v : t.to_vector<std::int64_t>())
      values.push_back(v == INT64_MIN ? "INT64_MIN" : fmt::format("{}", v));
  return fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace

std::string to_program(const Graph& graph) {
  std::string text =
      "#include <kiln/kiln.h>\n\n#include <cmath>\n#include <cstring>\n#include <iostream>\n\n"
      "using namespace kiln;\n\n"
      "template <class T>\n"
      "Tensor array(std::vector<T> values, const Shape& shape, DType dtype) {\n"
      "  Tensor t = zeros(shape, dtype);\n"
      "  t.copy_from(values.data(), dtype_of<T>);\n"
      "  return t;\n"
      "}\n\n"
      "int main() {\n"
      "  const Model model = Model::from_symbol(Symbol::load_json(R\"json(";
  text += to_json(graph) + ")json\"));\n  const std::map<std::string, Tensor> inputs{\n";
  for (const Node& node : graph.nodes) {
    if (!node.is_variable()) continue;
    text +=
        fmt::format("      {{\"{}\", array<{}>({{{}}}, {{{}}}, {})}},\n", node.name,
                    is_floating(node.value.dtype()) ? "double" : "std::int64_t", values_literal(node.value),
                    fmt::join(node.value.shape().dims(), ", "), dtype_literal(node.value.dtype()));
  }
  text += fmt::format(
      "  }};\n"
      "  random::seed({0});\n"
      "  const auto eager = model.run(inputs, {{.mode = RunMode::eager, .train = {1}}});\n"
      "  random::seed({0});\n"
      "  const auto compiled = model.run(inputs, {{.mode = RunMode::compiled, .train = {1}}});\n"
      "  for (std::size_t i = 0; i < eager.size(); ++i) {{\n"
      "    const auto bytes = static_cast<std::size_t>(eager[i].size()) * size_of(eager[i].dtype());\n"
      "    const bool same = std::memcmp(eager[i].data(), compiled[i].data(), bytes) == 0;\n"
      "    std::cout << \"output \" << i << (same ? \" is the same\\n\" : \" differs\\n\") << eager[i] << "
      "'\\n'\n"
      "              << compiled[i] << '\\n';\n"
      "  }}\n"
      "}}\n",
      graph.seed, graph.train);
  return text;
}

std::uint32_t outputs_of(const Node& node) {
  Graph alone;
  std::vector<Ref> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(alone.add_variable(fmt::format("in{}", i), {}));
  alone.outputs = {alone.add(node.op, node.name, inputs, node.attrs)};
  alone.nodes.back().subgraphs = node.subgraphs;
  return static_cast<std::uint32_t>(Model::from_symbol(Symbol::load_json(to_json(alone))).internals().size());
}

}  // namespace graphs
