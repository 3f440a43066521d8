// Runs a graph's nodes as calls of operators and of F::contrib.
#include "statement_block.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

namespace graphs {

using namespace kiln;

namespace {

using Results = struct F::contrib::Results;
using Positions = std::vector<std::size_t>;

/// A graph, or a body of a node.
struct Scope {
  struct Statement {
    std::string op;
    Attributes attrs;
    std::vector<Ref> inputs;
    std::string subgraphs;
    std::vector<Scope> bodies;        // of a loop or branch
    std::optional<SymbolBlock> call;  // of any other operator

    bool is_variable() const { return op == "null"; }
    /// Throws kiln::Error where a graph that is being reduced lost it.
    const std::string& attr(const char* name) const {
      const auto found = attrs.find(name);
      if (found == attrs.end()) throw Error(fmt::format("{} needs {}", op, name));
      return found->second;
    }
    Positions positions(const char* name) const {
      Positions list;
      std::string text = attr(name);
      std::replace_if(
          text.begin(), text.end(), [](char c) { return c < '0' || c > '9'; }, ' ');
      std::istringstream in(text);
      for (std::size_t i; in >> i;) list.push_back(i);
      return list;
    }
    std::size_t number(const char* name) const { return std::stoul(attr(name)); }
  };
  std::vector<Statement> statements;
  std::vector<Ref> outputs;

  /// How many inputs of statements, and outputs, a value is.
  std::size_t uses(Ref value) const {
    auto count = std::count(outputs.begin(), outputs.end(), value);
    for (const Statement& s : statements) count += std::count(s.inputs.begin(), s.inputs.end(), value);
    return static_cast<std::size_t>(count);
  }
  /// The node of a variable, by its position among the variables.
  std::size_t variable(std::size_t position) const {
    for (std::size_t i = 0; i < statements.size(); ++i)
      if (statements[i].is_variable() && position-- == 0) return i;
    throw std::out_of_range("no such variable of a body");
  }
};

using Statement = Scope::Statement;

bool is_control_flow(const std::string& op) {
  return op == "_foreach" || op == "_while_loop" || op == "_cond";
}

SymbolBlock call_of(const Statement& s) {
  Graph alone;
  std::vector<Ref> refs;
  std::vector<Symbol> symbols;
  for (std::size_t i = 0; i < s.inputs.size(); ++i) {
    const std::string name = fmt::format("in{}", i);
    refs.push_back(alone.add_variable(name, {}));
    symbols.push_back(sym::var(name));
  }
  const Ref node = alone.add(s.op, "called", refs, s.attrs);
  alone.nodes.back().subgraphs = s.subgraphs;
  for (std::uint32_t k = 0; k < outputs_of(alone.nodes.back()); ++k) alone.outputs.push_back({node.node, k});
  return {Symbol::load_json(to_json(alone)), symbols};
}

Scope scope_of(const nlohmann::json& graph) {
  const auto ref = [](const nlohmann::json& entry) {
    return Ref{entry.at(0).get<std::size_t>(), entry.at(1).get<std::uint32_t>()};
  };
  Scope scope;
  for (const auto& node : graph.at("nodes")) {
    Statement s{node.at("op"), {}, {}, {}, {}, {}};
    if (node.contains("attrs")) s.attrs = node.at("attrs").get<Attributes>();
    for (const auto& entry : node.at("inputs")) s.inputs.push_back(ref(entry));
    if (node.contains("subgraphs")) s.subgraphs = node.at("subgraphs").dump();
    // F::contrib has no loop that may run no step at all; it stays a node.
    const auto most = s.attrs.find("max_iterations");
    if (is_control_flow(s.op) && (most == s.attrs.end() || most->second != "0"))
      for (const auto& body : node.at("subgraphs")) s.bodies.push_back(scope_of(body));
    if (!s.is_variable() && s.bodies.empty()) s.call.emplace(call_of(s));
    scope.statements.push_back(std::move(s));
  }
  for (const auto& entry : graph.at("heads")) scope.outputs.push_back(ref(entry));
  return scope;
}

Tensors joined(const Results& r) {
  Tensors all = r.outputs;
  all.insert(all.end(), r.states.begin(), r.states.end());
  return all;
}
Results split(const Tensors& all, std::size_t outputs) {
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(outputs);
  return {Tensors(all.begin(), at), Tensors(at, all.end())};
}
Tensors chosen(const Tensors& list, const Positions& positions) {
  Tensors out;
  for (const std::size_t i : positions) out.push_back(list.at(i));
  return out;
}

/// Runs the statements of a scope.
class Run {
 public:
  Run(F& f, Coverage* coverage) : f_(f), coverage_(coverage) {}

  Tensors scope(const Scope& scope, const Tensors& variables) {
    std::vector<Tensors> values;
    std::size_t next = 0;
    for (const Statement& s : scope.statements) {
      if (s.is_variable()) {
        values.push_back({variables.at(next++)});
        continue;
      }
      Tensors inputs;
      for (const Ref& r : s.inputs) inputs.push_back(values.at(r.node).at(r.output));
      values.push_back(statement(s, inputs));
    }
    Tensors out;
    for (const Ref& r : scope.outputs) out.push_back(values.at(r.node).at(r.output));
    return out;
  }

 private:
  Tensors statement(const Statement& s, const Tensors& inputs) {
    if (s.call) return SymbolBlock(*s.call)(inputs);
    const Tensors out = s.op == "_foreach"      ? for_each(s, inputs)
                        : s.op == "_while_loop" ? while_loop(s, inputs)
                                                : branch(s, inputs);
    if (std::any_of(out.begin(), out.end(),
                    [](const Tensor& t) { return !t.is_traced() && autograd::is_recorded(t); }))
      met(s.op + " with a recorded result");
    return out;
  }

  Tensors for_each(const Statement& s, const Tensors& inputs) {
    const Positions data = s.positions("in_data_locs"), states = s.positions("in_state_locs"),
                    others = s.positions("remain_locs");
    const auto begin = [&](std::size_t i) { return inputs.begin() + static_cast<std::ptrdiff_t>(i); };
    const Tensors rows(begin(0), begin(data.size()));
    const Tensors initial(begin(data.size()), begin(data.size() + states.size()));
    const Scope& body = s.bodies.at(0);
    const auto step = [&](const Tensors& row, const Tensors& now) {
      Tensors variables(inputs.size());
      for (std::size_t i = 0; i < data.size(); ++i) variables.at(data[i]) = row.at(i);
      for (std::size_t i = 0; i < states.size(); ++i) variables.at(states[i]) = now.at(i);
      for (std::size_t i = 0; i < others.size(); ++i)
        variables.at(others[i]) = inputs.at(data.size() + states.size() + i);
      return split(scope(body, variables), s.number("num_out_data"));
    };
    return joined(f_.contrib().foreach (step, rows, initial));
  }

  Tensors while_loop(const Statement& s, const Tensors& inputs) {
    const Positions condition = s.positions("cond_input_locs"), body = s.positions("func_input_locs"),
                    carried = s.positions("func_var_locs");
    Tensors initial;
    for (const std::size_t i : carried) initial.push_back(inputs.at(body.at(i)));
    const auto with = [&](const Tensors& variables) {
      Tensors now = inputs;
      for (std::size_t i = 0; i < carried.size(); ++i) now.at(body.at(carried[i])) = variables.at(i);
      return now;
    };
    std::size_t steps = 0;
    const Results r = f_.contrib().while_loop(
        [&](const Tensors& v) { return scope(s.bodies.at(0), chosen(with(v), condition)).at(0); },
        [&](const Tensors& v) {
          ++steps;
          return split(scope(s.bodies.at(1), chosen(with(v), body)), s.number("num_out_data"));
        },
        initial, static_cast<std::int64_t>(s.number("max_iterations")));
    if (!r.states.at(0).is_traced() && steps == 0) met("while loops of no step");
    return joined(r);
  }

  Tensors branch(const Statement& s, const Tensors& inputs) {
    const auto body = [&](std::size_t i, const char* positions) {
      return scope(s.bodies.at(i), chosen(inputs, s.positions(positions)));
    };
    return f_.contrib().cond(
        body(0, "cond_input_locs").at(0), [&] { return body(1, "then_input_locs"); },
        [&] { return body(2, "else_input_locs"); });
  }

  void met(const std::string& what) {
    if (coverage_) ++(*coverage_)[what];
  }

  F& f_;
  Coverage* coverage_;
};

void count(const Scope& scope, Coverage& coverage, int depth) {
  for (const Statement& s : scope.statements) {
    if (s.bodies.empty()) continue;
    ++coverage[fmt::format("{}{}", s.op, depth == 0 ? "" : " within a body")];
    std::size_t own = 0, twice = 0;
    if (s.op == "_foreach") {
      const Positions states = s.positions("in_state_locs");
      own = s.positions("in_data_locs").size() + states.size();
      for (const std::size_t i : states) twice += s.bodies[0].uses({s.bodies[0].variable(i), 0}) > 1;
    } else if (s.op == "_while_loop") {
      const Positions variables = s.positions("func_var_locs");
      own = variables.size();
      for (const std::size_t i : variables) twice += s.bodies[1].uses({s.bodies[1].variable(i), 0}) > 1;
    }
    coverage["loop-carried values that a step uses twice"] += twice;
    coverage["values that a body captures"] += s.inputs.size() - std::min(own, s.inputs.size());
    for (const Scope& body : s.bodies) count(body, coverage, depth + 1);
  }
}

}  // namespace

bool has_control_flow(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& n) { return is_control_flow(n.op); });
}

void count_control_flow(const Graph& graph, Coverage& coverage) {
  if (has_control_flow(graph)) count(scope_of(nlohmann::json::parse(to_json(graph))), coverage, 0);
}

struct StatementBlock::State {
  Scope scope;
  std::vector<std::size_t> input_of;  // by variable of the graph
  Coverage* coverage = nullptr;
};

StatementBlock::StatementBlock(const Graph& graph, const std::vector<std::string>& inputs)
    : state_(std::make_shared<State>(scope_of(nlohmann::json::parse(to_json(graph))))) {
  for (const Node& node : graph.nodes)
    if (node.is_variable())
      state_->input_of.push_back(
          static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), node.name) - inputs.begin()));
}
StatementBlock::~StatementBlock() = default;

void StatementBlock::count_in(Coverage* coverage) { state_->coverage = coverage; }

Tensors StatementBlock::hybrid_forward(F& f, const Tensors& inputs) {
  Tensors variables;
  for (const std::size_t i : state_->input_of) variables.push_back(inputs.at(i));
  return Run(f, state_->coverage).scope(state_->scope, variables);
}

}  // namespace graphs
