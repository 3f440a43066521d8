// Composes nodes and bodies of graphs.
#include "ir/compose.h"

#include "ir/primitives.h"
#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/once.h"

#include <algorithm>

namespace kiln::ir {

namespace {

// The types of the inputs and the names of variables among them, unless the message has them already. Lists a
// few inputs only.
std::string inputs_text(const Node& node, std::string_view message) {
  std::string text;
  bool told = true;
  const auto names = node.op ? node.op->input_names(node.attrs) : std::vector<std::string_view>();
  for (std::size_t i = 0; i < node.inputs.size() && i < 6; ++i) {
    const Entry& e = node.inputs[i];
    if (e.output >= e.node->types.size()) return {};
    const TensorType& type = e.node->types[e.output];
    told = told && message.find(type.shape.str()) != std::string_view::npos;
    const std::string slot = i < names.size() ? std::string(names[i]) : fmt::format("input {}", i);
    // A node of a file or a recording has a name other than its operator's, and named variables.
    const bool variable = e.node->is_variable() && node.name != node.op_name;
    told = told && !variable;
    text += fmt::format("{}{}{} is {}", i ? ", " : "", slot, variable ? " '" + e.node->name + "'" : "",
                        type.str());
  }
  return told ? std::string() : "; " + text;
}

/// Holds the operator's shape rule against the shapes that a node was composed with. A composition alone
/// would repeat an extent of 1 that the rule does not allow. A node that has types was checked when they were
/// inferred.
void check_shapes(const Primitives& p, const Node& node, Args in, Args out) {
  const OpDef& op = *node.op;
  if (!op.shape_rule || !node.types.empty()) return;
  ShapeFacts::Layout layout{in.size(),
                            static_cast<std::size_t>(op.outputs_counted(node.attrs)),
                            std::vector<std::size_t>(in.size(), 0),
                            {}};
  std::vector<PartialShape> shapes;
  for (const Value v : in) shapes.push_back(p.shape(v));
  for (std::size_t i = 0; i < layout.outputs; ++i)
    shapes.push_back(i < out.size() && out[i].valid() ? p.shape(out[i]) : PartialShape());
  std::size_t of_bodies = 0;  // unknown: a body is checked where it is composed
  for (const SubgraphPtr& body : node.subgraphs) {
    layout.bodies.emplace_back(body->inputs.size(), body->outputs.size());
    of_bodies += body->inputs.size() + body->outputs.size();
  }
  shapes.resize(shapes.size() + of_bodies);
  const std::vector<std::string_view> names = op.input_names(node.attrs);
  ShapeFacts facts(layout, std::move(shapes), names, node.np_shape, /*may_choose=*/false);
  do op.shape_rule(facts, node.attrs);
  while (facts.take_changed());
}

}  // namespace

DrawCounter random_draws(const Node& node, bool train) {
  class Watch final : public Primitives {
   public:
    explicit Watch(bool t) : Primitives(t) {}
    Value input(const TensorType& type) { return add_value(type); }
    DrawCounter* draw_counter() override { return &draws; }
    DrawCounter draws;

   private:
    void emit(const Primitive& primitive, std::span<const Value>, Value) override {
      if (const auto word = primitive.random_word()) draws.draw(*word);
    }
    void begin_body(std::span<const Value>) override { draws.begin_body(); }
    void end_body(std::span<const Value>) override { draws.end_body(); }
    void emit_loop(const Loop& l, std::span<const Value>) override {
      if (l.replayed)
        draws.replay();
      else
        draws.loop(l.steps, l.condition.valid());
    }
    void emit_branch(Value, std::span<const Value>) override { draws.branch(); }
  };
  Watch watch(train);
  std::vector<Value> in;
  for (const Entry& e : node.inputs) in.push_back(watch.input(e.node->types.at(e.output)));
  compose(watch, node, in);
  return watch.draws;
}

double MultiplyAdds::total() const {
  double sum = 0;
  for (const auto& [name, count] : by_operator) sum += count;
  return sum;
}

namespace {

/// Sums the multiply-adds of a composition, by the innermost node that composes them.
class MultiplyAddCounter final : public Primitives {
 public:
  explicit MultiplyAddCounter(bool train) : Primitives(train) {}
  Value input(const TensorType& type) { return add_value(type); }
  MultiplyAdds result() const { return {open_.front(), is_bound_}; }

 private:
  using Counts = std::map<std::string, double, std::less<>>;

  static double total(const Counts& counts) { return MultiplyAdds{counts}.total(); }
  void add(const Counts& counts, double times) {
    for (const auto& [name, count] : counts) open_.back()[name] += count * times;
  }
  Counts take_closed() {
    Counts counts = std::move(closed_.back());
    closed_.pop_back();
    return counts;
  }

  void enter(const Node& node, bool /*gradients*/) override { nodes_.push_back(&node); }
  void leave() override { nodes_.pop_back(); }
  void emit(const Primitive& primitive, std::span<const Value> operands, Value result) override {
    std::vector<TensorType> types;
    for (const Value v : operands) types.push_back(type(v));
    const double count = primitive.multiply_adds(types, type(result));
    if (count > 0) open_.back()[nodes_.back()->op_name] += count;
  }
  void begin_body(std::span<const Value>) override { open_.emplace_back(); }
  void end_body(std::span<const Value>) override {
    closed_.push_back(std::move(open_.back()));
    open_.pop_back();
  }
  void emit_loop(const Loop& l, std::span<const Value>) override {
    const Counts step = take_closed();
    is_bound_ = is_bound_ || (l.condition.valid() && !step.empty());
    if (l.steps > 0) add(step, static_cast<double>(l.steps));
  }
  void emit_branch(Value, std::span<const Value>) override {
    const Counts otherwise = take_closed(), then = take_closed();
    is_bound_ = is_bound_ || then != otherwise;
    add(total(then) < total(otherwise) ? otherwise : then, 1);
  }

  std::vector<const Node*> nodes_;
  std::vector<Counts> open_{1}, closed_;  // of the composition and of its bodies
  bool is_bound_ = false;
};

}  // namespace

MultiplyAdds multiply_adds(const Node& node, bool train) {
  MultiplyAddCounter counter(train);
  std::vector<Value> in;
  for (const Entry& e : node.inputs) in.push_back(counter.input(e.node->types.at(e.output)));
  compose(counter, node, in);
  return counter.result();
}

std::string described(const Node& node) {
  return node.op_name == node.name ? node.name : node.op_name + " '" + node.name + "'";
}

void rethrow_at(const Node& node, const Error& e) {
  if (e.kind() != Error::Kind::user) throw e;
  const std::string where = node.location.str();
  std::string who = described(node);
  // The message may begin with the operator's name already.
  const std::string_view what = e.what();
  const bool said = who == node.op_name && what.starts_with(who) &&
                    (what.substr(who.size()).starts_with(' ') || what.substr(who.size()).starts_with(':'));
  who = said ? std::string() : who + ": ";
  fail("{}{}{}{}{}", where, where.empty() ? "" : ": ", who, e.what(), inputs_text(node, what).c_str());
}

namespace {

/// KILN_CHECK=indices checks all operators of the program, eager ones too.
bool checks_all_indices() {
  return once<[] {
    const std::vector<std::string_view> checks = env_words("KILN_CHECK");
    return std::find(checks.begin(), checks.end(), "indices") != checks.end();
  }>();
}

}  // namespace

NodeScope::NodeScope(Primitives& p, const Node& node, bool gradients)
    : p_(p), np_shape_(p.np_shape()), train_(p.train()), check_indices_(p.check_indices()) {
  p_.set_check_indices(node.check_indices || checks_all_indices());
  p_.set_np_shape(node.np_shape);
  p_.set_train(node.train.value_or(train_));
  p_.enter(node, gradients);
}
NodeScope::~NodeScope() {
  p_.leave();
  p_.set_train(train_);
  p_.set_np_shape(np_shape_);
  p_.set_check_indices(check_indices_);
}

std::vector<Value> compose(Primitives& p, const Node& node, Args in) {
  if (!node.op) fail("operator '{}' of node '{}' is not one that Kiln has", node.op_name, node.name);
  const OpDef& op = *node.op;
  if (op.bodies != node.subgraphs.size())
    fail("{} '{}' has {} subgraphs, it needs {}", node.op_name, node.name, node.subgraphs.size(), op.bodies);
  const NodeScope scope(p, node);
  std::vector<Value> out =
      op.compose_with ? op.compose_with(p, in, node.attrs, node.subgraphs) : op.compose(p, in, node.attrs);
  check_shapes(p, node, in, out);
  return out;
}

Value Composition::value_of(const Entry& e) const {
  const auto found = values_.find(e.node.get());
  if (found == values_.end())
    fail("'{}' is used before it has a value: it is neither an input nor computed", e.node->name);
  if (e.output >= found->second.size() || !found->second[e.output].valid())
    fail("output {} of '{}' ({}) has no value that can be used", e.output, e.node->name, e.node->op_name);
  return found->second[e.output];
}

std::vector<AuxUpdate> aux_updates(const Node& node, Args outputs) {
  const auto counted = static_cast<std::size_t>(node.op->outputs_counted(node.attrs));
  std::vector<AuxUpdate> updates;
  for (std::size_t k = 0; k < node.op->aux.size() && counted + k < outputs.size(); ++k)
    if (const Node& state = *node.inputs[static_cast<std::size_t>(node.op->aux[k])].node;
        state.is_variable() && outputs[counted + k].valid())
      updates.push_back({&state, outputs[counted + k]});
  return updates;
}

std::vector<AuxUpdate> Composition::run(const Node& node) {
  std::vector<Value> in;
  for (const Entry& e : node.inputs) in.push_back(value_of(e));
  std::vector<Value> out = compose(p_, node, in);
  std::vector<AuxUpdate> updates = aux_updates(node, out);
  values_[&node] = std::move(out);
  return updates;
}

std::vector<Value> compose(Primitives& p, const Subgraph& body, Args in) {
  if (in.size() != body.inputs.size())
    fail("a subgraph has {} variables, {} values were given", body.inputs.size(), in.size());
  Composition composition(p);
  for (std::size_t i = 0; i < in.size(); ++i) {
    composition.set(*body.inputs[i], in[i]);
    p.composed_in_body(*body.inputs[i], in.subspan(i, 1));
  }
  for (const NodePtr& node : body.nodes) {
    if (node->is_variable()) continue;
    try {
      if (const auto updates = composition.run(*node); !updates.empty())
        fail(
            "it updates its auxiliary state '{}' in the body of a loop or branch, where the update would be "
            "lost; use inference mode, or use_global_stats",
            updates.front().state->name);
      p.composed_in_body(*node, composition.values_of(*node));
    } catch (const Error& e) {
      rethrow_at(*node, e);
    }
  }
  std::vector<Value> outputs;
  for (const Entry& e : body.outputs) outputs.push_back(composition.value_of(e));
  return outputs;
}

}  // namespace kiln::ir
