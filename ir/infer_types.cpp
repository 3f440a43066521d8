#include "ir/compose.h"
#include "runtime/fail.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

namespace kiln::ir {
namespace {

bool known(const Entry& e) { return e.output < e.node->types.size(); }

bool complete(const PartialShape& s) {
  return s.known && std::find(s.shape.begin(), s.shape.end(), 0) == s.shape.end();
}

// A variable says its dtype, or has that of what it meets.
DType dtype_of_variable(const Node& variable, const Node& user, std::size_t input) {
  const auto declared = variable.attr_text.find("__dtype__");
  if (declared != variable.attr_text.end()) {
    std::int64_t flag = -1;
    const std::string& text = declared->second;
    std::from_chars(text.data(), text.data() + text.size(), flag);
    if (const auto dtype = dtype_from_flag(flag)) return *dtype;
  }
  if (user.op->undeclared_dtype)
    if (const auto dtype = user.op->undeclared_dtype(input, user.attrs)) return *dtype;
  for (const Entry& e : user.inputs)
    if (known(e) && is_floating(e.node->types[e.output].dtype)) return e.node->types[e.output].dtype;
  return DType::f32;
}

void check_input_count(const Node& node) {
  const OpDef& op = *node.op;
  if (op.variadic && op.count_attr.empty()) return;
  const std::size_t wanted = op.input_count(node.attrs);
  if (wanted == node.inputs.size()) return;
  std::string names;
  for (std::size_t i = 0; i < wanted && i < op.inputs.size() && !op.variadic; ++i)
    names += (i ? ", " : " (") + std::string(op.inputs[i]);
  fail("takes {} inputs{}{} with these attributes, got {}", wanted, names, names.empty() ? "" : ")",
       node.inputs.size());
}

// Arrays made from nothing may be recorded before their shape is known: `_zeros` of (0, 12), a recurrent
// state for any batch. In such a shape 0 is what the operators around it tell.
bool is_source(const Node& node) {
  return node.op && node.inputs.empty() && node.op->attr("shape") && !node.attrs.is_none("shape");
}
bool is_open(const Node& node) {
  return !node.np_shape && is_source(node) && node.types.empty() &&
         !complete({node.attrs.tuple("shape"), true});
}

/// Types flow forwards through the operators' functions, shapes backwards through their rows. The nodes are
/// visited once in order, which is enough for most graphs; then those about whose neighbours something was
/// learnt, until nothing is. Every fact is learnt once, so the work is in proportion to the graph.
class Inference {
 public:
  Inference(const std::vector<NodePtr>& order, bool train) : order_(order), train_(train) {}

  bool run() {
    reopen();
    for (const NodePtr& node : order_) visit(*node);
    if (!all_known()) {
      index();
      sweep();
      // Nobody tells what is still open: then it is an array without elements.
      close_open_ = true;
      sweep();
    }
    return all_known();
  }

 private:
  bool all_known() const {
    return std::none_of(order_.begin(), order_.end(), [](const NodePtr& n) { return n->types.empty(); });
  }

  // An earlier inference may have closed an open shape for another batch.
  void reopen() {
    for (const NodePtr& node : order_)
      if (is_source(*node) && node->types.empty())
        if (auto text = node->attr_text.find("shape"); text != node->attr_text.end())
          node->attrs.set("shape", parse_attr(*node->op->attr("shape"), text->second));
  }

  void index() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      position_.emplace(order_[i].get(), i);
      for (const Entry& e : order_[i]->inputs) users_[e.node.get()].push_back(i);
    }
  }

  // Up the order again and again, as a lift goes: a node with many inputs waits until all that is known below
  // it has arrived.
  void sweep() {
    std::set<std::size_t> waiting;
    const auto await = [&](std::size_t i) {
      if (order_[i]->op && order_[i]->types.empty()) waiting.insert(i);
    };
    for (std::size_t i = 0; i < order_.size(); ++i) await(i);
    for (std::size_t at = 0; !waiting.empty();) {
      auto next = waiting.lower_bound(at);
      if (next == waiting.end()) next = waiting.begin();
      at = *next;
      waiting.erase(next);
      learnt_.clear();
      visit(*order_[at]);
      for (const Node* node : learnt_) {
        if (auto i = position_.find(node); i != position_.end()) await(i->second);
        for (std::size_t user : users_[node]) await(user);
      }
    }
  }

  void visit(Node& node) {
    if (!node.op || !node.types.empty() || (is_open(node) && !close_open_)) return;
    try {
      check_input_count(node);
      if (node.op->infer_inputs && !std::all_of(node.inputs.begin(), node.inputs.end(), known))
        infer_operands(node);
      infer_outputs(node);
    } catch (const Error& e) {
      rethrow_at(node, e);
    }
  }

  // Gives shapes to inputs of the node where its row can tell them from the others, or from what is wanted of
  // its result.
  void infer_operands(const Node& node) {
    std::vector<PartialShape> shapes;
    for (const Entry& e : node.inputs) {
      if (known(e))
        shapes.push_back({e.node->types[e.output].shape, true});
      else
        shapes.push_back(is_open(*e.node) ? PartialShape{e.node->attrs.tuple("shape"), true}
                                          : PartialShape{});
    }
    node.op->infer_inputs(shapes, node.attrs);
    if (auto found = wanted_.find(&node); found != wanted_.end() && node.op->infer_from_output)
      node.op->infer_from_output(shapes, found->second, node.attrs);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Node& from = *node.inputs[i].node;
      if (!from.types.empty() || !complete(shapes[i])) continue;
      if (from.is_variable())
        from.types = {{dtype_of_variable(from, node, i), shapes[i].shape}};
      else if (is_open(from))
        from.attrs.set("shape", shapes[i].shape);
      else if (node.inputs[i].output != 0 || !wanted_.emplace(&from, shapes[i]).second)
        continue;
      learnt_.push_back(&from);
    }
  }

  void infer_outputs(Node& node) {
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), known)) return;
    ShapeInference shapes(train_);
    std::vector<Value> in;
    for (const Entry& e : node.inputs) in.push_back(shapes.input(e.node->types[e.output]));
    const std::vector<Value> out = compose(shapes, node, in);
    const auto counted = static_cast<std::size_t>(node.op->outputs_counted(node.attrs));
    if (out.size() < counted) fail_internal("{} gave {} of {} outputs", node.op_name, out.size(), counted);
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < counted; ++i)
      types.push_back(out[i].valid() ? shapes.type(out[i]) : TensorType{});
    node.types = std::move(types);
    learnt_.push_back(&node);
  }

  const std::vector<NodePtr>& order_;
  const bool train_;
  bool close_open_ = false;
  /// Shapes known before types are: of operators' results, from those that use them.
  std::unordered_map<const Node*, PartialShape> wanted_;
  std::unordered_map<const Node*, std::size_t> position_;
  std::unordered_map<const Node*, std::vector<std::size_t>> users_;
  /// Nodes of which the last visits told something new.
  std::vector<const Node*> learnt_;
};

}  // namespace

bool infer_types(const std::vector<NodePtr>& order, bool train) { return Inference(order, train).run(); }

}  // namespace kiln::ir
