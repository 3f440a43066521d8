// Prints a graph as MXNet does: FileGraph to text.
#include "frontend/symbol/json/symbol_file.h"

#include <fmt/format.h>
#include <iterator>

namespace kiln {
namespace {

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void graph(const FileGraph& g) {
    open('{');
    key("nodes");
    list(g.nodes, true, [&](const FileNode& n) { node(n); });
    key("arg_nodes");
    numbers(g.arg_nodes);
    key("node_row_ptr");
    numbers(g.node_row_ptr);
    key("heads");
    entries(g.heads);
    if (!g.attrs.empty()) {
      key("attrs");
      map(g.attrs, [&](std::int64_t value) { append("[\"int\", {}]", value); });
    }
    close('}', true);
  }

 private:
  template <class... A>
  void append(fmt::format_string<A...> text, A&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<A>(args)...);
  }

  void node(const FileNode& n) {
    open('{');
    key("op");
    string(n.op);
    key("name");
    string(n.name);
    if (!n.attrs.empty()) {
      key("attrs");
      map(n.attrs, [&](const std::string& value) { string(value); });
    }
    key("inputs");
    entries(n.inputs);
    if (!n.control_deps.empty()) {
      key("control_deps");
      numbers(n.control_deps);
    }
    if (!n.subgraphs.empty()) {
      key("subgraphs");
      list(n.subgraphs, true, [&](const FileGraph& g) { graph(g); });
    }
    close('}', true);
  }

  void string(std::string_view text) {
    out_ += '"';
    for (const char c : text) {
      switch (c) {
        case '"':
          out_ += "\\\"";
          break;
        case '\\':
          out_ += "\\\\";
          break;
        case '\n':
          out_ += "\\n";
          break;
        case '\r':
          out_ += "\\r";
          break;
        case '\t':
          out_ += "\\t";
          break;
        default:
          out_ += c;
      }
    }
    out_ += '"';
  }

  void entries(const std::vector<FileEntry>& items) {
    list(items, items.size() > 10,
         [&](const FileEntry& e) { append("[{}, {}, {}]", e.node, e.output, e.version); });
  }
  template <class T>
  void numbers(const std::vector<T>& items) {
    list(items, items.size() > 10, [&](T n) { append("{}", n); });
  }
  template <class T, class F>
  void list(const std::vector<T>& items, bool spread, F print) {
    open('[');
    for (const T& item : items) {
      separate(spread);
      print(item);
    }
    close(']', spread && !items.empty());
  }
  template <class Map, class F>
  void map(const Map& items, F print) {
    const bool spread = items.size() > 1;
    open('{');
    for (const auto& [name, value] : items) {
      separate(spread);
      string(name);
      out_ += ": ";
      print(value);
    }
    close('}', spread);
  }

  void open(char bracket) {
    out_ += bracket;
    first_ = true;
    ++depth_;
  }
  // Before an item: a comma and a blank after the previous one, and a line break.
  void separate(bool spread) {
    if (!first_) out_ += ", ";
    first_ = false;
    if (spread) new_line();
  }
  void key(std::string_view name) {
    separate(true);
    string(name);
    out_ += ": ";
  }
  void close(char bracket, bool spread) {
    --depth_;
    if (spread) new_line();
    out_ += bracket;
    first_ = false;
  }
  void new_line() {
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }

  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true;
};

}  // namespace

std::string format_symbol_file(const FileGraph& graph) {
  Printer printer;
  printer.graph(graph);
  return printer.take();
}

}  // namespace kiln
