// A symbol in Graphviz's dot format.
#include "frontend/symbol/dot_text.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/symbol/symbol_graph.h"

#include <fmt/format.h>
#include <iterator>
#include <unordered_map>

namespace kiln {
std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

std::string dot_label(const ir::Node& node) {
  // Names may have any character; lines are the label's.
  const auto one_line = [](std::string text) {
    for (char& c : text)
      if (c == '\n' || c == '\r') c = ' ';
    return text;
  };
  if (node.is_variable()) return one_line(node.name);
  std::string text = node.name + ": " + (node.op ? std::string(node.op->name) : node.op_name);
  for (const auto& [key, value] : node.attr_text)
    if (!key.starts_with("__")) text += fmt::format("  {}={}", key, value);
  return one_line(std::move(text));
}

std::string Symbol::dot() const {
  const std::vector<ir::Entry> heads = detail::SymbolAccess::entries(*this);
  std::unordered_map<const ir::Node*, std::size_t> number;
  std::string out = "digraph symbol {\n  rankdir = BT;\n  node [shape = box];\n";
  const auto line = [&]<class... A>(fmt::format_string<A...> text, A&&... args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<A>(args)...);
  };
  for (const ir::NodePtr& node : ir::topological_order(heads)) {
    const std::size_t n = number.size();
    number.emplace(node.get(), n);
    line("  n{} [label = {}{}];\n", n, dot_quoted(dot_label(*node)),
         node->is_variable() ? ", shape = ellipse" : "");
    for (const ir::Entry& e : node->inputs) {
      line("  n{} -> n{}", number.at(e.node.get()), n);
      if (e.output != 0) line(" [label = \"{}\"]", e.output);
      out += ";\n";
    }
  }
  for (std::size_t i = 0; i < heads.size(); ++i) {
    line("  out{} [label = {}, shape = plaintext];\n", i, dot_quoted(fmt::format("output {}", i)));
    line("  n{} -> out{};\n", number.at(heads[i].node.get()), i);
  }
  return out + "}\n";
}

}  // namespace kiln
