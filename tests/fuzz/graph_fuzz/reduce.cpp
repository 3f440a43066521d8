// The steps of the reduction of a failing graph.
#include "reduce.h"

#include "graphs/compare.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace graphs {

using namespace kiln;

namespace {

class Reducer {
 public:
  Reducer(Graph graph, const std::function<bool(const Graph&)>& fails)
      : graph_(without_dead_nodes(graph)), fails_(fails) {}

  Graph run() {
    bool smaller = true;
    while (smaller) {
      smaller = false;
      for (auto step : {&Reducer::fewer_outputs, &Reducer::nodes_by_variables, &Reducer::nodes_by_inputs,
                        &Reducer::no_training, &Reducer::fewer_attributes, &Reducer::shorter_axes,
                        &Reducer::plain_values})
        smaller |= (this->*step)();
    }
    rename();
    return graph_;
  }

 private:
  /// Takes a candidate that fails too.
  bool take(Graph candidate) {
    candidate = without_dead_nodes(candidate);
    bool fails = false;
    try {
      fails = fails_(candidate);
    } catch (const Error&) {
      // not a graph at all
    }
    if (fails) graph_ = std::move(candidate);
    return fails;
  }

  bool fewer_outputs() {
    bool any = false;
    if (graph_.outputs.size() > 1) {
      for (const Ref& r : std::vector<Ref>(graph_.outputs)) {
        Graph one = graph_;
        one.outputs = {r};
        if (take(one)) return true;
      }
    }
    for (std::size_t i = graph_.outputs.size(); i-- > 0 && graph_.outputs.size() > 1;) {
      Graph less = graph_;
      less.outputs.erase(less.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      any |= take(less);
    }
    return any;
  }

  /// Whether anything used `from`.
  static bool redirect(Graph& g, Ref from, Ref to) {
    bool used = false;
    const auto replace = [&](Ref& r) {
      if (!(r == from)) return;
      r = to;
      used = true;
    };
    for (Node& node : g.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), replace);
    std::for_each(g.outputs.begin(), g.outputs.end(), replace);
    return used;
  }

  /// The values, run eagerly, of a node's outputs that have users; nothing when the run throws.
  std::vector<std::pair<Ref, Tensor>> values_of(std::size_t node) const {
    std::set<std::uint32_t> used;
    for (const Node& n : graph_.nodes)
      for (const Ref& r : n.inputs)
        if (r.node == node) used.insert(r.output);
    for (const Ref& r : graph_.outputs)
      if (r.node == node) used.insert(r.output);
    Graph g = graph_;
    g.outputs.clear();
    for (const std::uint32_t k : used) g.outputs.push_back({node, k});
    std::vector<std::pair<Ref, Tensor>> values;
    try {
      const Result result = Runner(without_dead_nodes(g), RunMode::eager).run(1);
      for (std::size_t i = 0; i < g.outputs.size(); ++i) values.emplace_back(g.outputs[i], result.arrays[i]);
    } catch (const Error&) {
      values.clear();
    }
    return values;
  }

  bool nodes_by_variables() {
    bool any = false;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      if (i >= graph_.nodes.size() || graph_.nodes[i].is_variable()) continue;
      const auto values = values_of(i);
      if (values.empty()) continue;
      // The variables take the node's place, so that they still precede their users.
      Graph g{.nodes = {}, .outputs = graph_.outputs, .train = graph_.train, .seed = graph_.seed};
      std::vector<std::size_t> place(graph_.nodes.size());
      std::map<std::uint32_t, std::size_t> variable_of;
      for (std::size_t k = 0; k < graph_.nodes.size(); ++k) {
        if (k == i)
          for (const auto& [ref, value] : values)
            variable_of[ref.output] =
                g.add_variable(fmt::format("cut{}_{}", counter_++, ref.output), value).node;
        place[k] = g.nodes.size();
        if (k != i) g.nodes.push_back(graph_.nodes[k]);
      }
      const auto moved = [&](Ref& r) {
        r = r.node == i ? Ref{variable_of.at(r.output), 0} : Ref{place[r.node], r.output};
      };
      for (Node& node : g.nodes)
        for (Ref& r : node.inputs) moved(r);
      for (Ref& r : g.outputs) moved(r);
      any |= take(g);
    }
    return any;
  }

  bool nodes_by_inputs() {
    bool any = false;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      if (i >= graph_.nodes.size()) continue;
      for (const Ref& input : std::vector<Ref>(graph_.nodes[i].inputs)) {
        Graph g = graph_;
        // The same graph again would be a smaller one forever.
        if (!redirect(g, {i, 0}, input) || !take(g)) continue;
        any = true;
        break;
      }
    }
    return any;
  }

  bool no_training() {
    if (!graph_.train) return false;
    Graph g = graph_;
    g.train = false;
    return take(g);
  }

  bool fewer_attributes() {
    bool any = false;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Attributes attrs = graph_.nodes[i].attrs;
      for (const auto& [key, value] : attrs) {
        Graph g = graph_;
        g.nodes[i].attrs.erase(key);
        const std::size_t size = graph_.nodes.size();
        any |= take(g);
        if (graph_.nodes.size() != size) return true;
      }
    }
    return any;
  }

  /// The first `extent` of an axis.
  static Tensor shortened(const Tensor& t, int axis, std::int64_t extent) {
    return F::slice_axis(t, {.axis = axis, .begin = 0, .end = extent});
  }

  static std::string replaced_number(const std::string& text, std::int64_t from, std::int64_t to) {
    std::string out, digits;
    const auto flush = [&] {
      out += digits == fmt::format("{}", from) ? fmt::format("{}", to) : digits;
      digits.clear();
    };
    for (const char c : text) {
      if (c >= '0' && c <= '9') {
        digits += c;
        continue;
      }
      flush();
      out += c;
    }
    flush();
    return out;
  }

  bool shorten(std::size_t variable, std::size_t axis, std::int64_t to) {
    const std::int64_t from = graph_.nodes[variable].value.shape()[axis];
    for (const int scope : {0, 1, 2}) {
      Graph g = graph_;
      for (std::size_t i = 0; i < g.nodes.size(); ++i) {
        Node& node = g.nodes[i];
        if (scope == 2)
          for (auto& [key, value] : node.attrs) value = replaced_number(value, from, to);
        if (!node.is_variable()) continue;
        const Shape shape = node.value.shape();
        for (std::size_t a = 0; a < shape.size(); ++a)
          if (shape[a] == from && (scope > 0 || (i == variable && a == axis)))
            node.value = shortened(node.value, static_cast<int>(a), to);
      }
      if (take(g)) return true;
    }
    return false;
  }

  bool shorter_axes() {
    bool any = false;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!graph_.nodes[i].is_variable()) continue;
      for (std::size_t axis = 0; axis < graph_.nodes[i].value.shape().size(); ++axis) {
        const auto extent = [&] { return graph_.nodes[i].value.shape()[axis]; };
        if (extent() < 2) continue;
        const std::size_t size = graph_.nodes.size();
        const bool shorter = shorten(i, axis, 1) || (extent() > 3 && shorten(i, axis, extent() / 2)) ||
                             (extent() > 2 && shorten(i, axis, extent() - 1));
        any |= shorter;
        if (graph_.nodes.size() != size) return true;
      }
    }
    return any;
  }

  /// Ones instead of values, all at once or, in small arrays, one by one.
  bool plain_values() {
    bool any = false;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Tensor value = graph_.nodes[i].value;
      if (!graph_.nodes[i].is_variable() || value.size() == 0) continue;
      std::vector<double> numbers = value.to_vector<double>();
      const auto with = [&](const std::vector<double>& to) {
        Graph g = graph_;
        g.nodes[i].value = zeros(value.shape(), value.dtype());
        g.nodes[i].value.copy_from(to.data(), DType::f64);
        return take(g);
      };
      const std::vector<double> ones(numbers.size(), 1.0);
      if (numbers == ones) continue;
      if (with(ones)) {
        any = true;
        continue;
      }
      if (numbers.size() > 16 || value.dtype() == DType::i64) continue;
      for (double& v : numbers) {
        const double before = v;
        if (v == 1) continue;
        v = 1;
        if (with(numbers))
          any = true;
        else
          v = before;
      }
    }
    return any;
  }

  void rename() {
    std::size_t variables = 0, operators = 0;
    for (Node& node : graph_.nodes)
      node.name =
          node.is_variable() ? fmt::format("x{}", variables++) : fmt::format("{}{}", node.op, operators++);
  }

  Graph graph_;
  const std::function<bool(const Graph&)>& fails_;
  std::size_t counter_ = 0;
};

}  // namespace

Graph reduce(Graph graph, const std::function<bool(const Graph&)>& fails) {
  return Reducer(std::move(graph), fails).run();
}

}  // namespace graphs
