// Inference of types and partial shapes over a graph.
#include "ir/compose.h"
#include "runtime/fail.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <unordered_set>

namespace kiln::ir {
namespace {

bool has_type(const Entry& e) { return e.output < e.node->types.size(); }

void check_input_count(const Node& node) {
  const OpDef& op = *node.op;
  const std::optional<std::size_t> wanted = op.input_count(node.attrs, node.subgraphs);
  if (!wanted || *wanted == node.inputs.size()) return;
  const std::vector<std::string_view> known = op.input_names(node.attrs);
  std::string names;
  for (std::size_t i = 0; i < *wanted && i < known.size(); ++i)
    names += (i ? ", " : " (") + std::string(known[i]);
  fail("takes {} inputs{}{} with these attributes, got {}", *wanted, names, names.empty() ? "" : ")",
       node.inputs.size());
}

// Open sources: creation operators recorded with a partial shape (`_zeros` of (0, 12), a recurrent state for
// any batch). Extent 0, in numpy mode -1, is inferred from the users.
bool is_source(const Node& node) {
  return node.op && node.inputs.empty() && node.op->attr("shape") && !node.attrs.is_none("shape");
}
PartialShape source_shape(const Node& node, Shape shape) {
  for (std::int64_t& d : shape)
    if (d == 0 && !node.np_shape) d = PartialShape::unknown;
  return shape;
}
PartialShape source_shape(const Node& node) { return source_shape(node, node.attrs.tuple("shape")); }
bool is_open(const Node& node) {
  return is_source(node) && node.types.empty() && !source_shape(node).complete();
}
// An earlier inference may have closed an open shape for another batch; `attr_text` still has the open one.
void reopen(Node& node) {
  if (!is_source(node) || !node.types.empty()) return;
  if (const auto text = node.attr_text.find("shape"); text != node.attr_text.end())
    node.attrs.set("shape", parse_attr(*node.op->attr("shape"), text->second));
}
bool has_open_body(const Node& node) {
  return std::any_of(node.subgraphs.begin(), node.subgraphs.end(),
                     [](const SubgraphPtr& body) { return has_open_source(body->nodes); });
}

/// One output of a node.
struct Place {
  Node* node;
  std::size_t output;
  auto operator<=>(const Place&) const = default;
};

/// The shapes of a node's rule: their sources, and their groups.
struct Surroundings {
  std::vector<Place> places;
  ShapeFacts::Layout layout;
  void add(const Entry& e) { places.push_back({e.node.get(), e.output}); }

  /// Duplicate places: an input given twice, a value that a body returns twice.
  std::vector<std::pair<std::size_t, std::size_t>> repeated() const {
    std::map<Place, std::size_t> first;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < places.size(); ++i)
      if (const auto [found, is_new] = first.emplace(places[i], i); !is_new)
        pairs.emplace_back(found->second, i);
    return pairs;
  }
};

/// A worklist. Types propagate forward through the operators' compositions, partial shapes in both directions
/// through shape rules. All nodes are visited once in order, which completes most graphs; then the neighbours
/// of changed shapes, until a fixed point. Each fact is inferred once, so the work is linear in the graph.
/// Copies of the bodies of control flow take part; the rule of the control flow node ties them to its inputs
/// and outputs.
class Inference {
 public:
  Inference(const std::vector<NodePtr>& order, bool train,
            const std::unordered_map<const Node*, GivenType>& given)
      : order_(order), train_(train), given_(given) {}

  Inferred run() {
    for (const NodePtr& node : order_) begin(*node);
    for (const NodePtr& node : order_) visit(*node);
    if (!all_known()) search();
    for (const NodePtr& node : order_) adopt(*node, nullptr);
    return {all_known(), std::move(partial_)};
  }

 private:
  bool all_known() const {
    return std::none_of(order_.begin(), order_.end(), [](const NodePtr& n) { return n->types.empty(); });
  }

  // The initial shapes of a node, before any rule runs.
  void begin(Node& node) {
    reopen(node);
    if (!node.types.empty()) return;
    if (is_open(node)) partial_[&node] = {source_shape(node)};
    if (!node.is_variable()) return;
    const auto given = given_.find(&node);
    PartialShape shape = given != given_.end() ? given->second.shape : declared_shape(node);
    if (shape.ranked) partial_[&node] = {std::move(shape)};
    if (dtype_of(node)) adopt(node, nullptr);
  }

  void search() {
    for (const NodePtr& node : order_) add(*node);
    sweep_all();
    if (all_known()) return;
    may_choose_ = true;
    sweep_all();
    // All variables are known and the extent is still open: it is 0, an empty array.
    for (const NodePtr& node : order_)
      if (node->is_variable() && node->types.empty() && !shape_of({node.get(), 0}).complete()) return;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!is_open(*nodes_[i])) continue;
      Shape closed = shape_of({nodes_[i], 0}).extents;
      for (std::int64_t& d : closed) d = std::max<std::int64_t>(d, 0);
      closed_.insert(nodes_[i]);
      learn({nodes_[i], 0}, closed);
      sweep({i});
    }
  }

  void add(Node& node) {
    position_.emplace(&node, nodes_.size());
    for (const Entry& e : node.inputs) users_[e.node.get()].push_back(nodes_.size());
    nodes_.push_back(&node);
  }

  void sweep_all() {
    std::set<std::size_t> all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) all.insert(i);
    sweep(std::move(all));
  }

  // Sweeps the worklist in topological order, so that a node with many inputs runs after its producers.
  void sweep(std::set<std::size_t> waiting) {
    for (std::size_t at = 0; !waiting.empty();) {
      auto next = waiting.lower_bound(at);
      if (next == waiting.end()) next = waiting.begin();
      at = *next;
      waiting.erase(next);
      learnt_.clear();
      visit(*nodes_[at]);
      const auto await = [&](std::size_t i) {
        if (nodes_[i]->op && nodes_[i]->types.empty()) waiting.insert(i);
      };
      for (const Node* node : learnt_) {
        if (auto i = position_.find(node); i != position_.end()) await(i->second);
        for (std::size_t user : users_[node]) await(user);
      }
    }
  }

  void visit(Node& node) {
    if (!node.op || !node.types.empty() || (is_open(node) && !closed_.contains(&node))) return;
    try {
      check_input_count(node);
      for (const Entry& e : node.inputs) adopt(*e.node, &node);
      const bool opens = has_open_body(node);
      if (opens || !inputs_known(node)) relate(node);
      if (opens && !close_bodies(node)) return;
      if (inputs_known(node)) infer_outputs(node);
    } catch (const Error& e) {
      rethrow_at(node, e);
    }
  }

  static bool inputs_known(const Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), has_type);
  }

  PartialShape shape_of(const Place& place) const {
    if (!place.node->types.empty())
      return place.output < place.node->types.size() ? place.node->types[place.output].shape : PartialShape();
    const auto found = partial_.find(place.node);
    if (found == partial_.end() || place.output >= found->second.size()) return {};
    return found->second[place.output];
  }

  std::optional<DType> dtype_of(const Node& variable) const {
    const auto given = given_.find(&variable);
    const std::optional<DType> dtype = given != given_.end() ? given->second.dtype : std::nullopt;
    return dtype ? dtype : declared_dtype(variable);
  }

  // The dtype that an operator wants of its input.
  static std::optional<DType> undeclared_dtype(const Node& user, std::size_t input) {
    const OpDef& op = *user.op;
    if (op.undeclared_dtype_with) return op.undeclared_dtype_with(input, user.attrs, user.subgraphs);
    return op.undeclared_dtype ? op.undeclared_dtype(input, user.attrs) : std::nullopt;
  }

  /// The dtype that `user` wants of a variable: what its operator says, or the dtype of its other inputs.
  static std::optional<DType> wanted_dtype(const Node& variable, const Node& user) {
    for (std::size_t i = 0; i < user.inputs.size(); ++i)
      if (user.inputs[i].node.get() == &variable)
        if (const std::optional<DType> dtype = undeclared_dtype(user, i)) return dtype;
    for (const Entry& e : user.inputs)
      if (has_type(e) && is_floating(e.node->types[e.output].dtype)) return e.node->types[e.output].dtype;
    return std::nullopt;
  }

  // The dtype of a computed input is known after its own inputs.
  static bool awaits_dtypes(const Node& user) {
    return !user.op->undeclared_dtype && !user.op->undeclared_dtype_with &&
           std::any_of(user.inputs.begin(), user.inputs.end(),
                       [](const Entry& e) { return !has_type(e) && !e.node->is_variable(); });
  }

  // A variable with a known shape gets a type. Its dtype is given, declared, or wanted by the first user that
  // wants one, even if another user tells the shape. Variables of bodies get the types of the values they are
  // bound to.
  void adopt(Node& variable, const Node* user) {
    if (!variable.is_variable() || !variable.types.empty() || of_bodies_.contains(&variable)) return;
    std::optional<DType> dtype = dtype_of(variable);
    if (const auto wanted = wanted_.find(&variable); !dtype && wanted != wanted_.end())
      dtype = wanted->second;
    if (!dtype && user) {
      if (awaits_dtypes(*user)) return;
      dtype = wanted_dtype(variable, *user);
      if (dtype) wanted_.emplace(&variable, *dtype);
    }
    const PartialShape shape = shape_of({&variable, 0});
    if (!shape.complete()) return;
    variable.types = {{dtype.value_or(DType::f32), shape.extents}};
    learnt_.push_back(&variable);
  }

  void learn(const Place& place, const PartialShape& shape) {
    if (!place.node->types.empty()) return;
    std::vector<PartialShape>& outputs = partial_[place.node];
    if (outputs.size() <= place.output) outputs.resize(place.output + 1);
    if (outputs[place.output] == shape) return;
    outputs[place.output] = shape;
    learnt_.push_back(place.node);
    if (shape.complete() && is_open(*place.node)) place.node->attrs.set("shape", shape.extents);
  }

  Surroundings around(Node& node) {
    Surroundings s;
    for (const Entry& e : node.inputs) s.add(e);
    s.layout.inputs = node.inputs.size();
    s.layout.outputs = static_cast<std::size_t>(node.op->outputs_counted(node.attrs));
    for (std::size_t i = 0; i < s.layout.outputs; ++i) s.places.push_back({&node, i});
    for (const Entry& e : node.inputs) {
      const bool shown = e.node->op && e.node->op->shows_parts;
      s.layout.parts.push_back(shown ? e.node->inputs.size() : 0);
      if (shown)
        for (const Entry& part : e.node->inputs) s.add(part);
    }
    if (node.subgraphs.empty()) return s;
    for (const auto& body : bodies_of(node)) {
      s.layout.bodies.emplace_back(body->inputs.size(), body->outputs.size());
      for (const NodePtr& variable : body->inputs) s.places.push_back({variable.get(), 0});
      for (const Entry& e : body->outputs) s.add(e);
    }
    return s;
  }

  // Runs the node's rule to its fixed point and propagates the changes.
  void relate(Node& node) {
    if (!node.op->shape_rule || (!node.subgraphs.empty() && nodes_.empty())) return;
    const Surroundings s = around(node);
    std::vector<PartialShape> shapes;
    for (const Place& place : s.places) shapes.push_back(shape_of(place));
    const std::vector<std::string_view> names = node.op->input_names(node.attrs);
    ShapeFacts facts(s.layout, std::move(shapes), names, node.np_shape, may_choose_);
    const auto repeated = s.repeated();
    do {
      node.op->shape_rule(facts, node.attrs);
      for (const auto& [a, b] : repeated) facts.same(facts.shapes()[a], facts.shapes()[b]);
    } while (facts.take_changed());
    for (std::size_t i = 0; i < s.places.size(); ++i) learn(s.places[i], facts.shapes()[i]);
    for (const Entry& e : node.inputs) adopt(*e.node, &node);
    for (const ShapeFacts::Feed& feed : facts.feeds()) {
      const Entry& from = node.inputs[feed.input];
      Node& variable = *bodies_of(node)[feed.body]->inputs[feed.variable];
      const PartialShape shape = shape_of({&variable, 0});
      if (!has_type(from) || !variable.types.empty() || !shape.complete()) continue;
      variable.types = {{from.node->types[from.output].dtype, shape.extents}};
      learnt_.push_back(&variable);
    }
  }

  // Copies of a node's bodies; their nodes join the worklist at the first use.
  const std::vector<std::shared_ptr<Subgraph>>& bodies_of(Node& node) {
    const auto [found, is_new] = bodies_.try_emplace(&node);
    if (!is_new) return found->second;
    const std::size_t holder = position_.at(&node);
    for (const SubgraphPtr& body : node.subgraphs) {
      auto copy = std::make_shared<Subgraph>(copy_of(*body));
      for (const NodePtr& n : copy->nodes) {
        begin(*n);
        add(*n);
        learnt_.push_back(n.get());
      }
      for (const NodePtr& variable : copy->inputs) {
        of_bodies_.insert(variable.get());
        users_[variable.get()].push_back(holder);
      }
      for (const Entry& e : copy->outputs) users_[e.node.get()].push_back(holder);
      found->second.push_back(std::move(copy));
    }
    return found->second;
  }

  // Closes the bodies: true if no shape in them is open; the node then holds the closed copies.
  bool close_bodies(Node& node) {
    const auto found = bodies_.find(&node);
    if (found == bodies_.end()) return false;
    for (const auto& body : found->second)
      for (const NodePtr& inner : body->nodes)
        if (inner->types.empty() && (is_source(*inner) || !inner->subgraphs.empty())) return false;
    node.subgraphs.assign(found->second.begin(), found->second.end());
    return true;
  }

  void infer_outputs(Node& node) {
    ShapeInference shapes(train_);
    std::vector<Value> in;
    for (const Entry& e : node.inputs) in.push_back(shapes.input(e.node->types[e.output]));
    const std::vector<Value> out = compose(shapes, node, in);
    const auto counted = static_cast<std::size_t>(node.op->outputs_counted(node.attrs));
    if (out.size() < counted) fail_internal("{} gave {} of {} outputs", node.op_name, out.size(), counted);
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < counted; ++i) {
      types.push_back(out[i].valid() ? shapes.type(out[i]) : TensorType{});
      if (out[i].valid()) check_use({&node, i}, types.back().shape);
    }
    std::vector<TensorType> states;
    bool computed = false;
    for (std::size_t k = 0; k < node.op->aux.size() && counted + k < out.size(); ++k) {
      const Value updated = out[counted + k];
      states.push_back(updated.valid() ? shapes.type(updated) : TensorType{});
      const Entry& state = node.inputs[static_cast<std::size_t>(node.op->aux[k])];
      computed = computed || (updated.valid() && !state.node->is_variable());
    }
    if (computed) types.insert(types.end(), states.begin(), states.end());
    node.types = std::move(types);
    partial_.erase(&node);
    learnt_.push_back(&node);
  }

  // The users of an output may have inferred its shape already.
  void check_use(const Place& place, const Shape& shape) const {
    const PartialShape wanted = shape_of(place);
    if (!wanted.fits(shape))
      fail("its output {} has the shape {}, but the nodes that use it need {}", place.output, shape.str(),
           wanted.str());
  }

  const std::vector<NodePtr>& order_;
  const bool train_;
  const std::unordered_map<const Node*, GivenType>& given_;
  bool may_choose_ = false;
  /// Dtypes that users want of variables whose shapes are not known yet.
  std::unordered_map<const Node*, DType> wanted_;
  /// Partial output shapes of nodes without types.
  std::unordered_map<const Node*, std::vector<PartialShape>> partial_;
  /// The nodes of the graph, then of copied bodies; filled if the first visit left types unknown.
  std::vector<Node*> nodes_;
  std::unordered_map<const Node*, std::size_t> position_;
  std::unordered_map<const Node*, std::vector<std::size_t>> users_;
  std::unordered_map<const Node*, std::vector<std::shared_ptr<Subgraph>>> bodies_;
  std::unordered_set<const Node*> of_bodies_;
  /// Open sources without information from users: their extent 0 is 0.
  std::unordered_set<const Node*> closed_;
  /// The worklist: nodes with changed shapes.
  std::vector<const Node*> learnt_;
};

}  // namespace

PartialShape Inferred::shape_of(const Entry& e) const {
  if (e.output < e.node->types.size()) return e.node->types[e.output].shape;
  const auto found = partial.find(e.node.get());
  return found == partial.end() || e.output >= found->second.size() ? PartialShape()
                                                                    : found->second[e.output];
}

bool has_open_source(const std::vector<NodePtr>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const NodePtr& node) { return is_open(*node) || has_open_body(*node); });
}

Inferred infer_types(const std::vector<NodePtr>& order, bool train,
                     const std::unordered_map<const Node*, GivenType>& given) {
  return Inference(order, train, given).run();
}

}  // namespace kiln::ir
