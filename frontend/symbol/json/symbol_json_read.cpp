// The grammar of a -symbol.json: text to FileGraph.
#include "frontend/formats/json_reader.h"
#include "frontend/symbol/json/symbol_file.h"

#include <algorithm>

namespace kiln {
namespace {

// The nesting depth of control flow: deeper than any program, small enough for any stack.
constexpr int max_subgraph_depth = 32;

// "node 3 'fc1' (FullyConnected)", as far as known.
std::string describe(std::size_t number, const FileNode& node) {
  std::string text = fmt::format("node {}", number);
  if (!node.name.empty()) text += fmt::format(" '{}'", node.name);
  if (!node.op.empty() && node.op != "null") text += fmt::format(" ({})", node.op);
  return text;
}

FileEntry read_entry(JsonReader& in, std::string_view what) {
  std::uint32_t parts[3] = {0, 0, 0};
  std::size_t count = 0;
  in.array(what, [&] {
    if (count == 3) in.error("{} has more than three numbers", what);
    parts[count++] = in.index(what);
  });
  if (count < 2) in.error("{} needs [node, output] or [node, output, version]", what);
  return {parts[0], parts[1], parts[2]};
}

void read_attrs(JsonReader& in, FileNode& node, std::string_view key) {
  in.object(fmt::format("\"{}\"", key), [&](std::string name) {
    if (!in.at_string()) in.error("the attribute \"{}\" must be a string in quotes", name);
    node.attrs[name] = in.string(fmt::format("the attribute \"{}\"", name));
  });
}

FileGraph read_graph(JsonReader& in, int depth);

FileNode read_node(JsonReader& in, std::size_t number, int depth) {
  FileNode node;
  bool has_op = false, has_name = false, has_inputs = false;
  unsigned wrong_op = 0;  // the line of an operator that is no string; the error waits for the node's name
  in.set_part(describe(number, node));
  in.object("a node", [&](const std::string& key) {
    if (node.line == 0) node.line = in.line();
    if (key == "op") {
      has_op = true;
      if (in.at_string()) {
        node.op = in.string("\"op\"");
      } else {
        wrong_op = in.line();
        in.skip("\"op\"");
      }
    } else if (key == "name") {
      node.name = in.string("\"name\"");
      has_name = true;
    } else if (key == "param" || key == "attr" || key == "attrs") {
      read_attrs(in, node, key);
    } else if (key == "inputs") {
      has_inputs = true;
      in.array("\"inputs\"", [&] { node.inputs.push_back(read_entry(in, "an input")); });
    } else if (key == "control_deps") {
      in.array("\"control_deps\"", [&] { node.control_deps.push_back(in.index("a control dependency")); });
    } else if (key == "subgraphs") {
      if (depth == max_subgraph_depth) in.error("subgraphs are nested more than {} deep", max_subgraph_depth);
      const std::string part = in.part();
      in.array("\"subgraphs\"", [&] { node.subgraphs.push_back(read_graph(in, depth + 1)); });
      in.set_part(part);
    } else if (key == "backward_source_id") {
      in.integer("\"backward_source_id\"");
    } else {
      in.error("unknown key \"{}\"; a node has op, name, attrs, inputs, control_deps and subgraphs", key);
    }
    if (key == "op" || key == "name") in.set_part(describe(number, node));
  });
  if (wrong_op != 0)
    in.error_at(wrong_op, "\"op\" must be a string: an operator's name, or null of a variable");
  if (!has_op) in.error("the key \"op\" is missing");
  if (!has_name) in.error("the key \"name\" is missing");
  if (!has_inputs) in.error("the key \"inputs\" is missing");
  if (node.op == "null" && !node.inputs.empty())
    in.error("a variable (op \"null\") has no inputs, this one has {}", node.inputs.size());
  const auto check = [&](std::uint32_t input, std::string_view what) {
    if (input >= number) {
      in.error(
          "{} names node {}, which does not come before it (nodes may only use earlier ones: no such node, "
          "or a cycle)",
          what, input);
    }
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) check(node.inputs[i].node, fmt::format("input {}", i));
  for (const std::uint32_t dep : node.control_deps) check(dep, "a control dependency");
  return node;
}

void read_graph_attrs(JsonReader& in, FileGraph& graph) {
  in.object("\"attrs\"", [&](const std::string& name) {
    const std::string what = fmt::format("the graph's attribute \"{}\"", name);
    std::string type;
    std::size_t item = 0;
    in.array(what, [&] {
      if (item == 0) {
        type = in.string(what);
      } else if (item == 1 && type == "int") {
        graph.attrs[name] = in.integer(what);
      } else {
        in.skip(what);
      }
      ++item;
    });
    if (item != 2) in.error("{} must be a pair of type and value", what);
  });
}

FileGraph read_graph(JsonReader& in, int depth) {
  FileGraph graph;
  bool has_nodes = false, has_heads = false, has_arg_nodes = false;
  const std::string outer = in.part();
  in.object("a graph", [&](const std::string& key) {
    if (key == "nodes") {
      has_nodes = true;
      in.array("\"nodes\"", [&] {
        graph.nodes.push_back(read_node(in, graph.nodes.size(), depth));
        in.set_part(outer);
      });
    } else if (key == "arg_nodes") {
      has_arg_nodes = true;
      in.array("\"arg_nodes\"", [&] { graph.arg_nodes.push_back(in.index("an item of \"arg_nodes\"")); });
    } else if (key == "heads") {
      has_heads = true;
      in.array("\"heads\"", [&] { graph.heads.push_back(read_entry(in, "an item of \"heads\"")); });
    } else if (key == "node_row_ptr") {
      in.array("\"node_row_ptr\"",
               [&] { graph.node_row_ptr.push_back(in.index("an item of \"node_row_ptr\"")); });
    } else if (key == "attrs") {
      read_graph_attrs(in, graph);
    } else {
      in.error("unknown key \"{}\" in the graph; it has nodes, arg_nodes, node_row_ptr, heads and attrs",
               key);
    }
  });
  if (!has_nodes) in.error("the key \"nodes\" is missing");
  if (!has_arg_nodes) in.error("the key \"arg_nodes\" is missing");
  if (!has_heads) in.error("the key \"heads\" is missing");
  const std::size_t count = graph.nodes.size();
  for (const FileEntry& head : graph.heads)
    if (head.node >= count) in.error("\"heads\" names node {}, but there are {} nodes", head.node, count);
  for (const std::uint32_t arg : graph.arg_nodes) {
    if (arg >= count) in.error("\"arg_nodes\" names node {}, but there are {} nodes", arg, count);
    if (graph.nodes[arg].op != "null")
      in.error("\"arg_nodes\" names {}: it lists variables (op \"null\")", describe(arg, graph.nodes[arg]));
  }
  return graph;
}

}  // namespace

FileGraph parse_symbol_file(std::string_view text, const std::string& file) {
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }))
    fail("{}: the file is empty, not a symbol as MXNet's export writes it (PREFIX-symbol.json)", file);
  JsonReader in(text, file);
  FileGraph graph = read_graph(in, 0);
  in.end();
  return graph;
}

}  // namespace kiln
