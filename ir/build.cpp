// Builds the dialect from a graph: nodes as primitives, their draws, writes and locations.
#include "ir/build.h"

#include "ir/algorithm.h"
#include "ir/compose.h"
#include "ir/dialect.h"
#include "ir/differentiate.h"
#include "ir/draws.h"
#include "ir/emission.h"
#include "ir/gradient_name.h"
#include "runtime/fail.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Verifier.h>

#include <algorithm>
#include <unordered_map>

namespace kiln::ir {
namespace {

/// The node's name and line; of its gradients the name has the suffix.
mlir::Location location_of(mlir::MLIRContext* context, const Node& node, bool gradients = false) {
  mlir::Location where = mlir::UnknownLoc::get(context);
  if (node.location.known())
    where = mlir::FileLineColLoc::get(context, node.location.file, node.location.line, node.location.column);
  std::string name = node.name;
  if (gradients) name += gradient_suffix;
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name), where);
}

/// Implements Primitives by appending operations of the dialect to a function.
class DialectBuilder final : public Primitives {
 public:
  DialectBuilder(mlir::OpBuilder& builder, bool train, const ContractionTarget& target)
      : Primitives(train), builder_(builder), loc_(builder.getUnknownLoc()), target_(target) {}

  Value wrap(mlir::Value v) {
    Value value = add_value(to_tensor_type(v.getType()));
    set(value, v);
    return value;
  }
  mlir::Value unwrap(Value v) const { return values_[v.id]; }
  /// Whether locations of operations tell the child block, for the cut of a joint function. They do not take
  /// part in CSE.
  bool joint = false;
  DrawCounter* draw_counter() override { return &draws_; }

  void enter(const Node& node, bool gradients) override {
    outer_locations_.push_back(loc_);
    loc_ = location_of(builder_.getContext(), node, gradients);
    if (joint && node.child_block != 0)
      loc_ = mlir::FusedLoc::get(builder_.getContext(), {loc_}, builder_.getI64IntegerAttr(node.child_block));
    nodes_.push_back({&node, described(node)});
  }
  void leave() override {
    loc_ = outer_locations_.back();
    outer_locations_.pop_back();
    nodes_.pop_back();
  }

 private:
  void set(Value value, mlir::Value v) {
    if (values_.size() <= value.id) values_.resize(value.id + 1);
    values_[value.id] = v;
  }

  void emit(const Primitive& primitive, std::span<const Value> operands, Value result) override {
    const llvm::SmallVector<mlir::Value> in = unwrapped(operands);
    const Composed none{nullptr, {}}, &innermost = nodes_.empty() ? none : nodes_.back();
    Emission emission{builder_,
                      loc_,
                      in,
                      tensor_type(builder_.getContext(), type(result)),
                      innermost.node,
                      innermost.description,
                      target_,
                      draws_,
                      widened_,
                      {}};
    primitive.emit(emission);
    set(result, emission.result);
  }

  void begin_body(std::span<const Value> arguments) override {
    auto region = std::make_unique<mlir::Region>();
    mlir::Block& block = region->emplaceBlock();
    for (Value v : arguments) set(v, block.addArgument(tensor_type(builder_.getContext(), type(v)), loc_));
    open_.push_back({std::move(region), builder_.saveInsertionPoint()});
    draws_.begin_body();
    builder_.setInsertionPointToStart(&block);
  }
  void end_body(std::span<const Value> yielded) override {
    YieldOp::create(builder_, loc_, unwrapped(yielded));
    builder_.restoreInsertionPoint(open_.back().outside);
    closed_.push_back(std::move(open_.back().region));
    open_.pop_back();
    draws_.end_body();
  }
  void emit_loop(const Loop& l, std::span<const Value> results) override {
    if (l.replayed) draws_.replay();
    const std::int64_t draws = l.replayed ? -*l.replayed : draws_.loop(l.steps, l.condition.valid());
    check_draws();
    auto loop = LoopOp::create(builder_, loc_, types_of(results), static_cast<std::uint64_t>(l.steps),
                               static_cast<std::uint64_t>(draws), unwrapped(l.carries), unwrapped(l.rows),
                               l.condition.valid() ? unwrap(l.condition) : mlir::Value());
    loop.getBody().takeBody(*take_closed());
    set_all(results, loop);
  }
  void emit_branch(Value condition, std::span<const Value> results) override {
    auto branch = IfOp::create(builder_, loc_, types_of(results), unwrap(condition));
    branch.getOtherwise().takeBody(*take_closed());
    branch.getThen().takeBody(*take_closed());
    draws_.branch();
    check_draws();
    set_all(results, branch);
  }
  void set_all(std::span<const Value> results, mlir::Operation* op) {
    for (auto [value, result] : llvm::zip(results, op->getResults())) set(value, result);
  }
  llvm::SmallVector<mlir::Value> unwrapped(std::span<const Value> list) const {
    llvm::SmallVector<mlir::Value> values;
    for (Value v : list) values.push_back(unwrap(v));
    return values;
  }
  llvm::SmallVector<mlir::Type> types_of(std::span<const Value> list) {
    llvm::SmallVector<mlir::Type> types;
    for (Value v : list) types.push_back(tensor_type(builder_.getContext(), type(v)));
    return types;
  }

  void check_draws() const {
    if (draws_.overlaps())
      fail("a loop or branch can draw {} random numbers, this one draws more", control_draws);
    if (draws_.too_many()) fail("a graph draws too many random numbers");
  }

  struct Body {
    std::unique_ptr<mlir::Region> region;
    mlir::OpBuilder::InsertPoint outside;
  };
  std::unique_ptr<mlir::Region> take_closed() {
    auto region = std::move(closed_.back());
    closed_.pop_back();
    return region;
  }
  mlir::OpBuilder& builder_;
  mlir::Location loc_;
  std::vector<mlir::Location> outer_locations_;
  ContractionTarget target_;
  struct Composed {
    const Node* node;
    std::string description;  // for messages
  };
  std::vector<Composed> nodes_;  // being composed; the innermost last
  WidenedCasts widened_;
  std::vector<mlir::Value> values_;
  std::vector<Body> open_;                             // bodies under construction
  std::vector<std::unique_ptr<mlir::Region>> closed_;  // composed bodies without an operation yet
  DrawCounter draws_;
};

/// A module with one function under construction: its arguments and results.
class FunctionBuilder {
 public:
  FunctionBuilder(mlir::MLIRContext& context, const Graph& graph, const ContractionTarget& target)
      : builder_(&context),
        module_(mlir::ModuleOp::create(builder_.getUnknownLoc())),
        graph_(graph),
        function_(make_function()),
        primitives_(builder_, graph.train, target) {
    llvm::SmallVector<mlir::Type> types;
    for (const NodePtr& input : graph.inputs) {
      if (input->types.size() != 1)
        fail_internal("input '{}' of graph '{}' has no type", input->name, graph.name);
      types.push_back(tensor_type(&context, input->types[0]));
    }
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      mlir::NamedAttrList attrs;
      attrs.set(name_attr, builder_.getStringAttr(graph.inputs[i]->name));
      if (i < graph.is_parameter.size() && graph.is_parameter[i])
        attrs.set(parameter_attr, builder_.getUnitAttr());
      add(types[i], location_of(&context, *graph.inputs[i]), attrs.getDictionary(&context));
    }
  }

  DialectBuilder& primitives() { return primitives_; }
  /// By argument.
  const std::vector<Value>& arguments() const { return arguments_; }

  Value add_argument(const TensorType& type, const std::string& name) {
    const mlir::NamedAttribute attr(builder_.getStringAttr(name_attr), builder_.getStringAttr(name));
    return add(tensor_type(builder_.getContext(), type), builder_.getUnknownLoc(),
               builder_.getDictionaryAttr(attr));
  }
  void add_result(Value v) { results_.push_back(primitives_.unwrap(v)); }

  /// `written`: the new contents of inputs, by input. They are the last results.
  mlir::OwningOpRef<mlir::ModuleOp> finish(std::span<const Value> written) {
    llvm::SmallVector<std::int64_t> writes;
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (!written[i].valid()) continue;
      writes.push_back(static_cast<std::int64_t>(i));
      add_result(written[i]);
    }
    mlir::func::ReturnOp::create(builder_, builder_.getUnknownLoc(), results_);
    llvm::SmallVector<mlir::Type> result_types;
    for (mlir::Value v : results_) result_types.push_back(v.getType());
    mlir::Block& block = function_.getBody().front();
    function_.setFunctionType(builder_.getFunctionType(block.getArgumentTypes(), result_types));
    function_.setAllArgAttrs(argument_attrs_);  // at once: each setArgAttr() copies the list
    if (!writes.empty()) function_->setAttr(writes_attr, builder_.getDenseI64ArrayAttr(writes));
    if (const std::int64_t draws = primitives_.draw_counter()->count(); draws > 0)
      function_->setAttr(draws_attr, builder_.getI64IntegerAttr(draws));
    return std::move(module_);
  }
  mlir::func::FuncOp function() { return function_; }

 private:
  mlir::func::FuncOp make_function() {
    builder_.setInsertionPointToStart(module_->getBody());
    auto function = mlir::func::FuncOp::create(builder_, builder_.getUnknownLoc(), graph_.name,
                                               builder_.getFunctionType({}, {}));
    builder_.setInsertionPointToStart(function.addEntryBlock());
    return function;
  }
  Value add(mlir::Type type, mlir::Location where, mlir::DictionaryAttr attrs) {
    arguments_.push_back(primitives_.wrap(function_.getBody().front().addArgument(type, where)));
    argument_attrs_.push_back(attrs);
    return arguments_.back();
  }

  mlir::OpBuilder builder_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  const Graph& graph_;
  mlir::func::FuncOp function_;
  DialectBuilder primitives_;
  std::vector<Value> arguments_;
  llvm::SmallVector<mlir::Attribute> argument_attrs_;
  llvm::SmallVector<mlir::Value> results_;
};

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> build_module(mlir::MLIRContext& context, const Graph& graph,
                                               const ContractionTarget& target) {
  FunctionBuilder function(context, graph, target);
  Composition composition(function.primitives());
  std::unordered_map<const Node*, std::size_t> input_index;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    composition.set(*graph.inputs[i], function.arguments()[i]);
    input_index[graph.inputs[i].get()] = i;
  }

  // A later write to an input replaces an earlier one: of two BatchNorms with a shared moving mean the second
  // sees the result of the first.
  std::vector<Value> written(graph.inputs.size());
  for (const NodePtr& node : graph.nodes) {
    if (node->is_variable()) continue;
    for (const AuxUpdate& update : composition.run(*node)) {
      auto at = input_index.find(update.state);
      if (at == input_index.end())
        fail_internal("'{}' ({}) updates '{}', which is no input of the graph", node->name, node->op_name,
                      update.state->name);
      written[at->second] = update.value;
      composition.set(*update.state, update.value);
    }
  }
  for (const Graph::Write& w : graph.writes) written[w.input] = composition.value_of(w.value);
  for (const Entry& e : graph.outputs) function.add_result(composition.value_of(e));
  return function.finish(written);
}

mlir::OwningOpRef<mlir::ModuleOp> build_joint_module(mlir::MLIRContext& context, const Graph& graph,
                                                     const GradientRequest& request,
                                                     const ContractionTarget& target) {
  FunctionBuilder function(context, graph, target);
  Subgraph body{graph.inputs, graph.nodes, graph.outputs};
  for (const Graph::Write& w : graph.writes) body.outputs.push_back(w.value);
  const std::vector<Value> in = function.arguments();
  std::vector<Value> heads(body.outputs.size()), running(request.running.size());
  for (std::size_t i = 0; i < heads.size(); ++i)
    if (request.heads[i]) {
      const Entry& e = body.outputs[i];
      heads[i] = function.add_argument(e.node->types.at(e.output), "head" + std::to_string(i));
    }
  for (std::size_t i = 0; i < running.size(); ++i) {
    const auto first = std::find(request.sums.begin(), request.sums.end(), static_cast<std::int64_t>(i));
    const Node& input = *graph.inputs.at(static_cast<std::size_t>(first - request.sums.begin()));
    running[i] = function.add_argument(input.types.at(0), "sum:" + input.name);
  }

  function.primitives().joint = true;
  Differentiation joint(function.primitives(), body, in);
  const std::vector<Value> outputs = joint.outputs();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) function.add_result(outputs[i]);
  GradientRequest all_running = request;
  all_running.running.assign(running.size(), true);
  const std::vector<Value> sums = joint.sums(all_running, heads, running);
  llvm::SmallVector<bool> terms;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    function.add_result(sums[i]);
    terms.push_back(sums[i].id != running[i].id);
  }
  function.function()->setAttr(terms_attr, mlir::DenseBoolArrayAttr::get(&context, terms));
  std::vector<Value> written = joint.updates();
  for (std::size_t i = 0; i < graph.writes.size(); ++i)
    written[graph.writes[i].input] = outputs[graph.outputs.size() + i];
  function.function()->setAttr(
      joint_attr, mlir::DenseI64ArrayAttr::get(&context, {static_cast<std::int64_t>(graph.inputs.size()),
                                                          static_cast<std::int64_t>(graph.outputs.size())}));
  return function.finish(written);
}

mlir::OwningOpRef<mlir::ModuleOp> build_step_module(mlir::MLIRContext& context, const StepGraph& step,
                                                    const ContractionTarget& target) {
  const Graph& graph = step.graph;
  FunctionBuilder function(context, graph, target);
  DialectBuilder& p = function.primitives();
  Subgraph body{graph.inputs, graph.nodes, graph.outputs};
  for (const Graph::Write& w : graph.writes) body.outputs.push_back(w.value);
  Differentiation joint(p, body, function.arguments());
  const std::vector<Value> outputs = joint.outputs();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) function.add_result(outputs[i]);
  std::vector<Value> heads(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (step.request.heads[i]) heads[i] = p.like(outputs[i], 1);
  const std::vector<Value> sums =
      joint.sums(step.request, heads, std::vector<Value>(step.request.running.size()));

  std::vector<std::size_t> argument_of;  // by input of the update
  Composition update(p);
  for (std::size_t i = 0; i < step.sources.size(); ++i) {
    const Node& input = *step.update.inputs[i];
    const StepGraph::Source& source = step.sources[i];
    argument_of.push_back(source.index);
    switch (source.of) {
      case StepGraph::Source::Of::input:
        update.set(input, function.arguments()[source.index]);
        break;
      case StepGraph::Source::Of::gradient:
        if (!sums[source.index].valid()) fail_internal("'{}' has no gradient", input.name);
        update.set(input, sums[source.index]);
        break;
      case StepGraph::Source::Of::caller:
        argument_of.back() = function.arguments().size();
        update.set(input, function.add_argument(input.types.at(0), input.name));
        break;
    }
  }
  for (const NodePtr& node : step.update.nodes)
    if (!node->is_variable()) update.run(*node);

  std::vector<Value> written = joint.updates();
  written.resize(function.arguments().size());
  for (std::size_t i = 0; i < graph.writes.size(); ++i)
    written[graph.writes[i].input] = outputs[graph.outputs.size() + i];
  for (const Graph::Write& w : step.update.writes) written[argument_of[w.input]] = update.value_of(w.value);
  return function.finish(written);
}

}  // namespace kiln::ir
