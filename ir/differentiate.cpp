// The backward composition of a graph's nodes.
#include "ir/differentiate.h"

#include "ir/compose.h"
#include "runtime/fail.h"

#include <kiln/error.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace kiln::ir {
namespace {

std::size_t count(const std::vector<bool>& flags) {
  return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), true));
}

/// The value whose sum the gradient of `e` is.
const Entry& sum_owner(const Entry& e) {
  const Entry* owner = &e;
  while (owner->node->op && owner->node->op->shares_sum && owner->node->recorded)
    owner = &owner->node->inputs[0];
  return *owner;
}

/// A `_vjp` node of a file may be given a gradient of any type.
void require_type(const Primitives& p, Value given, Value value, std::string_view what, std::size_t i) {
  if (!(p.type(given) == p.type(value)))
    fail("the {} {} is {}, but must be {}", what, i, p.type(given).str(), p.type(value).str());
}

}  // namespace

void add_term(Primitives& p, Value& sum, Value term) {
  if (term.valid()) sum = sum.valid() ? p.add(sum, term) : term;
}

std::size_t GradientRequest::head_count() const { return count(heads); }
std::size_t GradientRequest::running_count() const { return count(running); }

/// A composed node: its values, and its primitives as a range of the tape.
struct Differentiation::TapedNode {
  const Node* node;
  std::vector<Value> in;   // a separate name for each input, so that two uses of one value are told apart
  std::vector<Value> out;  // as composed
  std::size_t begin, end;
  std::int64_t first_draw;
};

Differentiation::Differentiation(Primitives& p, const Subgraph& graph, Args in, Args given)
    : p_(p), graph_(graph), in_(in.begin(), in.end()) {
  if (in.size() != graph.inputs.size())
    fail_internal("a graph of {} inputs is differentiated with {} values", graph.inputs.size(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) values_[graph.inputs[i].get()] = {in[i]};
  p_.begin_tape();
  for (const NodePtr& ptr : graph.nodes) {
    const Node& node = *ptr;
    if (node.is_variable()) continue;
    try {
      const DrawCounter* const draws = p_.draw_counter();
      TapedNode taped{&node, {}, {}, p_.tape().size(), 0, draws ? draws->count() : 0};
      for (const Entry& e : node.inputs) taped.in.push_back(p_.alias(value_of(e)));
      taped.out = compose(p_, node, taped.in);
      taped.end = p_.tape().size();
      std::vector<Value> seen = taped.out;
      for (std::size_t i = 0; i < given.size(); ++i) {
        const Entry& e = graph.outputs[i];
        if (e.node.get() != &node || !given[i].valid()) continue;
        given_[taped.out.at(e.output).id] = given[i];
        seen.at(e.output) = given[i];
      }
      // New contents of auxiliary states replace the old ones for the nodes that follow.
      for (const AuxUpdate& update : aux_updates(node, seen)) values_[update.state] = {update.value};
      values_[&node] = std::move(seen);
      nodes_.push_back(std::move(taped));
    } catch (const Error& e) {
      p_.end_tape();
      rethrow_at(node, e);
    }
  }
}

Differentiation::~Differentiation() { p_.end_tape(); }

Value Differentiation::value_of(const Entry& e) const {
  const auto found = values_.find(e.node.get());
  if (found == values_.end() || e.output >= found->second.size())
    fail_internal("'{}' is differentiated before it has a value", e.node->name);
  return found->second[e.output];
}

Value Differentiation::see(Value v) const {
  const auto found = given_.find(v.id);
  return found == given_.end() ? v : found->second;
}

std::vector<Value> Differentiation::outputs() const {
  std::vector<Value> out;
  for (const Entry& e : graph_.outputs) out.push_back(value_of(e));
  return out;
}

std::vector<Value> Differentiation::updates() const {
  std::vector<Value> out(in_.size());
  for (std::size_t i = 0; i < in_.size(); ++i)
    if (const Value now = values_.at(graph_.inputs[i].get()).front(); now.id != in_[i].id) out[i] = now;
  return out;
}

std::vector<bool> Differentiation::wanted_inputs(const Node& node, const Active& active) const {
  const auto differentiable = node.op->differentiable_inputs;
  const std::size_t limit = differentiable ? differentiable(node.attrs) : node.inputs.size();
  std::vector<bool> wanted;
  for (const Entry& e : node.inputs) {
    const auto found = active.find(e.node.get());
    wanted.push_back(wanted.size() < limit && found != active.end() && e.output < found->second.size() &&
                     found->second[e.output]);
  }
  return wanted;
}

std::vector<Value> Differentiation::contributions_of(const TapedNode& taped, Args heads,
                                                     const std::vector<bool>& wanted) {
  // Primitives from the last to the first; uses of one value within the node are summed in this order.
  std::unordered_map<std::uint32_t, Value> sums;
  std::unordered_map<std::uint32_t, bool> depends;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) depends[taped.in[i].id] = true;
  const auto is_active = [&](Value v) { return depends.contains(v.id); };
  for (std::size_t i = taped.begin; i < taped.end; ++i) {
    const Taped& t = p_.tape()[i];
    if (!t.primitive->is_differentiable()) continue;
    if (std::any_of(t.operands.begin(), t.operands.end(), is_active))
      for (Value r : t.results) depends[r.id] = true;
  }
  bool any = false;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (!heads[i].valid() || !is_active(taped.out[i])) continue;
    add_term(p_, sums[taped.out[i].id], heads[i]);
    any = true;
  }
  for (std::size_t i = taped.end; any && i-- > taped.begin;) {
    const Taped& t = p_.tape()[i];
    const auto sum =
        std::find_if(t.results.begin(), t.results.end(), [&](Value r) { return sums.contains(r.id); });
    if (sum == t.results.end()) continue;
    std::vector<bool> of(t.operands.size());
    for (std::size_t k = 0; k < of.size(); ++k) of[k] = is_active(t.operands[k]);
    if (std::find(of.begin(), of.end(), true) == of.end()) continue;
    Taped seen{t.primitive, {}, {}};
    for (Value v : t.operands) seen.operands.push_back(see(v));
    for (Value v : t.results) seen.results.push_back(see(v));
    const std::vector<Value> terms = seen.primitive->gradient(p_, seen, sums.at(sum->id), of);
    for (std::size_t k = 0; k < of.size(); ++k)
      if (of[k] && terms[k].valid()) add_term(p_, sums[t.operands[k].id], terms[k]);
  }
  std::vector<Value> out(taped.in.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (const auto found = sums.find(taped.in[i].id); wanted[i] && found != sums.end())
      out[i] = found->second;
  return out;
}

Differentiation::Active Differentiation::active(const GradientRequest& request) const {
  Active active;
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const Node* variable = graph_.inputs[i].get();
    if (request.sums[i] != GradientRequest::none) active[variable] = {true};
  }
  for (const TapedNode& t : nodes_) {
    if (t.node->op->stops_gradient || !t.node->recorded) continue;
    const std::vector<bool> wanted = wanted_inputs(*t.node, active);
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) continue;
    std::vector<bool>& out = active[t.node];
    const auto counted = static_cast<std::size_t>(t.node->op->outputs_counted(t.node->attrs));
    std::vector<bool> reached(counted, true);
    if (t.node->op->reached_outputs) {
      const NodeScope scope(p_, *t.node);
      reached = t.node->op->reached_outputs(p_, t.in, wanted, t.node->attrs, t.node->subgraphs);
    }
    for (std::size_t k = 0; k < counted; ++k) out.push_back(reached[k] && t.out[k].valid());
  }
  return active;
}

std::vector<bool> Differentiation::active_outputs(const GradientRequest& request) const {
  return active_outputs(active(request));
}

std::vector<bool> Differentiation::active_outputs(const Active& active) const {
  std::vector<bool> out;
  for (const Entry& e : graph_.outputs) {
    const auto found = active.find(e.node.get());
    out.push_back(found != active.end() && e.output < found->second.size() && found->second[e.output]);
  }
  return out;
}

std::vector<Value> Differentiation::sums(const GradientRequest& request, Args heads, Args running) {
  const Active active = this->active(request);
  std::unordered_map<const Node*, std::size_t> number_of;  // of an input's sum
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
    if (active.contains(graph_.inputs[i].get()))
      number_of[graph_.inputs[i].get()] = static_cast<std::size_t>(request.sums[i]);
  std::vector<Value> of_inputs(running.begin(), running.end());
  Sums sums;
  const auto sum_key = [&](const Entry& entry) -> std::pair<const Node*, std::size_t> {
    const Entry& e = sum_owner(entry);
    const auto input = number_of.find(e.node.get());
    return input != number_of.end() ? std::pair<const Node*, std::size_t>(nullptr, input->second)
                                    : std::pair<const Node*, std::size_t>(e.node.get(), e.output);
  };
  const auto sum_of = [&](const Entry& entry) -> Value& {
    const Entry& e = sum_owner(entry);
    if (const auto input = number_of.find(e.node.get()); input != number_of.end())
      return of_inputs[input->second];
    std::vector<Value>& list = sums[e.node.get()];
    if (list.size() <= e.output) list.resize(e.output + 1);
    return list[e.output];
  };
  const std::vector<bool> leads = active_outputs(active);
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
    if (leads[i] && heads[i].valid()) add_term(p_, sum_of(graph_.outputs[i]), heads[i]);

  for (auto t = nodes_.rbegin(); t != nodes_.rend(); ++t) {
    const Node& node = *t->node;
    const auto found = sums.find(&node);
    if (found == sums.end()) continue;
    std::vector<Value> node_heads = found->second;
    node_heads.resize(t->out.size());
    if (std::none_of(node_heads.begin(), node_heads.end(), [](Value v) { return v.valid(); })) continue;
    for (std::size_t k = 0; k < node_heads.size(); ++k)
      if (node_heads[k].valid()) reached_.emplace_back(&node, k);
    const std::vector<bool> wanted = wanted_inputs(node, active);
    const NodeScope scope(p_, node, /*gradients=*/true);
    try {
      std::vector<Value> seen;
      for (Value v : t->out) seen.push_back(see(v));
      std::vector<std::size_t> same;  // for bodies alone, which have few inputs
      if (node.op->gradient_sums)
        for (const Entry& e : node.inputs) {
          const auto first = std::find_if(node.inputs.begin(), node.inputs.end(),
                                          [&](const Entry& o) { return sum_key(o) == sum_key(e); });
          same.push_back(static_cast<std::size_t>(first - node.inputs.begin()));
        }
      const GradientArgs args{t->in,      seen,           node_heads,    wanted,
                              node.attrs, node.subgraphs, t->first_draw, same};
      if (node.op->gradient_sums) {
        std::vector<Value> so_far;
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
          so_far.push_back(wanted[i] ? sum_of(node.inputs[i]) : Value());
        const std::vector<Value> next = node.op->gradient_sums(p_, args, so_far);
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
          if (wanted[i]) sum_of(node.inputs[i]) = next[i];
        continue;
      }
      std::vector<Value> terms;
      if (node.op->gradient) {
        const Primitives::ReplayedDraws replayed(p_, t->begin, t->end);
        terms = node.op->gradient(p_, args);
      }
      if (terms.empty()) terms = contributions_of(*t, node_heads, wanted);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!wanted[i]) continue;
        // A node that depends on an input nowhere smoothly gives it zeros, as MXNet's do.
        if (!terms[i].valid()) terms[i] = p_.like(t->in[i], 0);
        if (!(p_.type(terms[i]) == p_.type(t->in[i])))
          fail_internal("the gradient of input {} is {}, not {}", i, p_.type(terms[i]).str(),
                        p_.type(t->in[i]).str());
        add_term(p_, sum_of(node.inputs[i]), terms[i]);
      }
    } catch (const Error& e) {
      rethrow_at(node, e);
    }
  }
  return of_inputs;
}

std::vector<Value> compose_gradients(Primitives& p, const Subgraph& body, const GradientRequest& request,
                                     const GradientUses& uses, Args in) {
  const std::size_t expected =
      uses.inputs.size() + uses.outputs.size() + request.head_count() + request.running_count();
  if (in.size() != expected) fail_internal("gradients of {} values are given {}", expected, in.size());
  std::size_t next = 0;
  // Inputs and outputs that the gradients do not read have a value for its type alone.
  std::vector<Value> inputs(body.inputs.size()), outputs(body.outputs.size());
  for (std::int64_t i : uses.inputs) inputs.at(static_cast<std::size_t>(i)) = in[next++];
  for (std::int64_t i : uses.outputs) outputs.at(static_cast<std::size_t>(i)) = in[next++];
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].valid()) inputs[i] = p.full(body.inputs[i]->types.at(0), 0);
  std::vector<Value> heads(body.outputs.size()), running(request.running.size());
  for (std::size_t i = 0; i < heads.size(); ++i)
    if (request.heads[i]) heads[i] = in[next++];
  for (std::size_t i = 0; i < running.size(); ++i)
    if (request.running[i]) running[i] = in[next++];
  Differentiation d(p, body, inputs, outputs);
  const std::vector<Value> composed = d.outputs();
  for (std::size_t i = 0; i < heads.size(); ++i)
    if (heads[i].valid()) require_type(p, heads[i], composed[i], "gradient of output", i);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const auto sum = request.sums[i];
        sum != GradientRequest::none && running[static_cast<std::size_t>(sum)].valid())
      require_type(p, running[static_cast<std::size_t>(sum)], inputs[i], "sum of input", i);
  std::vector<Value> sums = d.sums(request, heads, running);
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (!sums[i].valid()) fail("sum {} has no term: no head depends on its input", i);
  return sums;
}

GradientReach gradient_reach(const Subgraph& graph, const GradientRequest& request,
                             std::span<const TensorType> inputs, bool train) {
  ShapeInference types(train);
  std::vector<Value> in, heads, running(request.running.size());
  for (const TensorType& t : inputs) in.push_back(types.input(t));
  Differentiation d(types, graph, in);
  for (const Value output : d.outputs()) {
    const bool head = request.heads[heads.size()];
    heads.push_back(head ? types.input(TensorType(types.type(output))) : Value());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (request.sums[i] != GradientRequest::none &&
        request.running[static_cast<std::size_t>(request.sums[i])])
      running[static_cast<std::size_t>(request.sums[i])] = types.input(inputs[i]);
  GradientReach reach;
  for (const Value sum : d.sums(request, heads, running)) reach.sums.push_back(sum.valid());
  reach.values = d.reached();
  return reach;
}

std::vector<bool> reached_outputs(const Subgraph& graph, const std::vector<bool>& reaching,
                                  std::span<const TensorType> inputs, bool train) {
  ShapeInference types(train);
  std::vector<Value> in;
  GradientRequest request;
  for (const TensorType& t : inputs) in.push_back(types.input(t));
  for (const bool reaches : reaching) request.sums.push_back(reaches ? 0 : GradientRequest::none);
  return Differentiation(types, graph, in).active_outputs(request);
}

GradientUses gradient_uses(const Subgraph& body, const GradientRequest& request, bool train) {
  /// Follows values from results to operands.
  class Uses final : public Primitives {
   public:
    explicit Uses(bool t) : Primitives(t) { begin_tape(); }
    Value input(const TensorType& type) { return add_value(type); }
    std::vector<bool> reached_from(Args results) const {
      std::vector<bool> used;
      const auto use = [&](Value v) {
        if (used.size() <= v.id) used.resize(v.id + 1);
        used[v.id] = true;
      };
      for (Value v : results)
        if (v.valid()) use(v);
      for (auto t = tape().rbegin(); t != tape().rend(); ++t)
        if (std::any_of(t->results.begin(), t->results.end(),
                        [&](Value r) { return r.id < used.size() && used[r.id]; }))
          for (Value v : t->operands) use(v);
      return used;
    }

   private:
    void emit(const Primitive&, std::span<const Value>, Value) override {}
  };
  Uses uses(train);
  std::vector<Value> in, out, heads(body.outputs.size()), running(request.running.size());
  for (const NodePtr& variable : body.inputs) in.push_back(uses.input(variable->types.at(0)));
  std::vector<TensorType> sum_types(request.running.size());
  for (std::size_t i = 0; i < request.sums.size(); ++i)
    if (request.sums[i] != GradientRequest::none)
      sum_types.at(static_cast<std::size_t>(request.sums[i])) = body.inputs[i]->types.at(0);
  for (const Entry& e : body.outputs) out.push_back(uses.input(e.node->types.at(e.output)));
  for (std::size_t i = 0; i < heads.size(); ++i)
    if (request.heads[i]) heads[i] = uses.input(body.outputs[i].node->types.at(body.outputs[i].output));
  for (std::size_t i = 0; i < running.size(); ++i)
    if (request.running[i]) running[i] = uses.input(sum_types[i]);
  Differentiation d(uses, body, in, out);
  const std::vector<Value> sums = d.sums(request, heads, running);
  const std::vector<bool> used = uses.reached_from(sums);
  const auto is_used = [&](Value v) { return v.id < used.size() && used[v.id]; };
  GradientUses result;
  for (std::size_t i = 0; i < sums.size(); ++i)
    result.sums.push_back(sums[i].valid() && sums[i].id != running[i].id);
  result.active = d.active_outputs(request);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (is_used(in[i])) result.inputs.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < out.size(); ++i)
    if (is_used(out[i])) result.outputs.push_back(static_cast<std::int64_t>(i));
  return result;
}

}  // namespace kiln::ir
