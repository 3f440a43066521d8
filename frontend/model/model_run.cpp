// Running a model: node by node, or compiled as one graph.
#include "codegen/driver/compile.h"
#include "codegen/driver/joint.h"
#include "frontend/call/array_call.h"
#include "frontend/call/invoke.h"
#include "frontend/call/moved_from.h"
#include "frontend/call/random_state.h"
#include "frontend/model/model_state.h"
#include "frontend/model/planned_model.h"
#include "frontend/symbol/symbol_graph.h"
#include "frontend/tensor/elements.h"
#include "runtime/fail.h"

#include <kiln/autograd.h>
#include <kiln/threads.h>

#include <chrono>
#include <unordered_map>

namespace kiln {

using detail::TensorAccess;

namespace {

struct SlotKey {
  const ir::Node* node;
  std::uint32_t output;
  bool operator==(const SlotKey&) const = default;
};
struct SlotHash {
  std::size_t operator()(const SlotKey& k) const { return std::hash<const void*>()(k.node) * 31 + k.output; }
};

std::vector<Tensor> run_node(const ir::Node& node, std::span<const Tensor> inputs) {
  try {
    return invoke(*node.op, inputs, node.attrs, {}, node.name, node.subgraphs, node.np_shape);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::user) throw;
    fail("node '{}' ({}): {}", node.name, node.op_name, e.what());
  }
}

Precision precision_of(const RunOptions& options) {
  return options.precision ? *options.precision : PrecisionScope::current();
}

}  // namespace

CompileOptions compile_options_of(const RunOptions& options) {
  CompileOptions c = default_options();
  c.fuse = c.fuse && options.fuse;
  c.sass = options.sass;
  if (!options.device.is_cpu()) c.gpu = options.arch;
  c = on_device(c, options.device);
  c.precision = precision_of(options);
  return c;
}

PlacedVariables::PlacedVariables(const std::vector<Tensor>& variables, Device device) : values_(variables) {
  for (Tensor& value : values_) {
    places_.push_back({value});
    if (!(TensorAccess::device(value) == device))
      value = TensorAccess::empty(TensorAccess::shape(value), TensorAccess::dtype(value), device);
  }
}

const std::vector<Tensor>& PlacedVariables::values() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    Place& place = places_[i];
    detail::Array &array = *TensorAccess::array(place.variable), &copy = *TensorAccess::array(values_[i]);
    if (&array == &copy || (!array.external() && array.version() == place.copied)) continue;
    copy_elements(values_[i], place.variable);
    copy.bump_version();
    place.copied = array.version();
    place.stored = copy.version();
  }
  return values_;
}

void PlacedVariables::store() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    Place& place = places_[i];
    detail::Array &array = *TensorAccess::array(place.variable), &copy = *TensorAccess::array(values_[i]);
    if (&array == &copy || copy.version() == place.stored) continue;
    copy_elements(place.variable, values_[i]);
    array.bump_version();
    place.copied = array.version();
    place.stored = copy.version();
  }
}

namespace {

/// One call, on arrays of the executable's device.
std::vector<Tensor> call(const Executable& executable, const std::vector<Tensor>& variables) {
  detail::ArrayCall code(executable);
  detail::ArgumentList arguments(code);
  for (const Tensor& t : variables) arguments.add(t);
  std::vector<Tensor> outputs = code.make_results();
  code.run(detail::NoTape(), reserve_random);
  return outputs;
}

std::vector<Tensor> on_cpu(std::vector<Tensor> outputs) {
  for (Tensor& t : outputs) t = t.to(cpu());
  return outputs;
}

}  // namespace

std::vector<Tensor> run_executable(const Executable& executable, const std::vector<Tensor>& variables) {
  PlacedVariables placed(variables, executable.device());
  std::vector<Tensor> outputs = call(executable, placed.values());
  placed.store();
  return on_cpu(std::move(outputs));
}

PlannedModel PlannedModel::of(const Model& model, const std::map<std::string, Tensor>& inputs,
                              const RunOptions& options) {
  const Model::State& state = detail::live_state(model.state_, "Model");
  const Model::State::Bound bound = state.bind(inputs, options);
  return {compile_plan(state.to_graph(bound, options), compile_options_of(options)), bound.values};
}

EagerPlan::EagerPlan(const Model::State::Bound& bound) {
  std::unordered_map<SlotKey, std::size_t, SlotHash> slot;
  std::vector<std::size_t> last_use;  // per slot, the last step that uses it
  constexpr std::size_t never = ~std::size_t{0};
  for (const ir::NodePtr& variable : bound.variables.all) {
    slot.emplace(SlotKey{variable.get(), 0}, slots_++);
    last_use.push_back(never);
  }
  for (const ir::NodePtr& node : bound.graph.order) {
    if (node->is_variable()) continue;
    Step step{node, {}, slots_, ir::visible_outputs(*node), {}};
    for (const ir::Entry& e : node->inputs) {
      const auto found = slot.find({e.node.get(), e.output});
      if (found == slot.end()) {
        fail("node '{}' ({}) takes output {} of '{}', which is hidden: nothing can use it", node->name,
             node->op_name, e.output, e.node->name);
      }
      step.inputs.push_back(found->second);
      if (last_use[found->second] != never) last_use[found->second] = steps_.size();
    }
    for (std::uint32_t i = 0; i < step.outputs; ++i) {
      slot.emplace(SlotKey{node.get(), i}, slots_++);
      last_use.push_back(steps_.size());
    }
    steps_.push_back(std::move(step));
  }
  for (const ir::Entry& e : bound.graph.outputs) {
    const auto found = slot.find({e.node.get(), e.output});
    if (found == slot.end())
      fail("output {} of node '{}' is hidden: nothing can use it", e.output, e.node->name);
    results_.push_back(found->second);
    last_use[found->second] = never;
  }
  for (std::size_t s = 0; s < slots_; ++s)
    if (last_use[s] != never) steps_[last_use[s]].dead.push_back(s);
}

std::vector<Tensor> EagerPlan::run(const std::vector<Tensor>& variables) const {
  std::vector<Tensor> values(slots_);
  std::copy(variables.begin(), variables.end(), values.begin());
  std::vector<Tensor> inputs;
  for (const Step& step : steps_) {
    inputs.clear();
    for (const std::size_t s : step.inputs) inputs.push_back(values[s]);
    std::vector<Tensor> outputs = run_node(*step.node, inputs);
    for (std::size_t i = 0; i < step.outputs; ++i) values[step.first_output + i] = std::move(outputs.at(i));
    for (const std::size_t s : step.dead) values[s] = Tensor();
  }
  std::vector<Tensor> results;
  for (const std::size_t s : results_) results.push_back(values[s]);
  return results;
}

std::vector<Tensor> PreparedModel::run() {
  State& s = detail::live_state(state_, "PreparedModel");
  const autograd::TrainMode mode(s.options.train);
  std::optional<ThreadLimit> limit;
  if (s.options.threads > 0) limit.emplace(s.options.threads);
  const DeviceScope device(s.options.device);
  const PrecisionScope precision(precision_of(s.options));
  const std::vector<Tensor>& values = s.variables.values();
  std::vector<Tensor> outputs = s.executable ? call(*s.executable, values) : s.eager.run(values);
  s.variables.store();
  return on_cpu(std::move(outputs));
}

std::vector<NamedArray> PreparedModel::auxiliary_states() const {
  const Model::State::Bound& bound = detail::live_state(state_, "PreparedModel").bound;
  std::vector<NamedArray> arrays;
  for (const ir::NodePtr& node : bound.variables.auxiliary_states)
    for (std::size_t i = 0; i < bound.values.size(); ++i)
      if (bound.variables.all[i] == node) arrays.push_back({node->name, bound.values[i]});
  return arrays;
}

const PrepareStats& PreparedModel::stats() const { return detail::live_state(state_, "PreparedModel").stats; }

PreparedModel Model::prepare(const std::map<std::string, Tensor>& inputs, const RunOptions& options) const {
  const State& s = detail::live_state(state_, "Model");
  auto prepared = std::make_shared<PreparedModel::State>();
  prepared->options = options;
  prepared->options.precision = precision_of(options);
  prepared->bound = s.bind(inputs, options);
  // A GPU that is not there is told before anything is compiled.
  const DeviceScope device(options.device);
  prepared->variables = PlacedVariables(prepared->bound.values, options.device);
  if (options.mode == RunMode::eager) {
    prepared->eager = EagerPlan(prepared->bound);
    prepared->stats.kernels = prepared->eager.size();
    return PreparedModel(std::move(prepared));
  }
  const auto begin = std::chrono::steady_clock::now();
  const ir::Graph graph = s.to_graph(prepared->bound, options);
  CompileOptions compile_options = compile_options_of(options);
  if (!compile_options.dump_dir.empty()) {
    std::string types;
    for (const auto& [name, value] : inputs)
      types += (types.empty() ? "" : ", ") +
               TensorType{TensorAccess::dtype(value), TensorAccess::shape(value)}.str();
    compile_options.purpose = {types, "model", fmt::format("a model of a file, prepared for {}", types)};
  }
  prepared->executable = compile(graph, compile_options);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  const ExecutablePlan& plan = prepared->executable->plan();
  prepared->stats = {.compile_ms = took.count(),
                     .kernels = kernel_count(plan),
                     .arena_bytes = static_cast<std::size_t>(plan.arena_bytes),
                     .arena_lower_bound = static_cast<std::size_t>(plan.arena_lower_bound)};
  return PreparedModel(std::move(prepared));
}

std::vector<Tensor> Model::run(const std::map<std::string, Tensor>& inputs, const RunOptions& options) const {
  return prepare(inputs, options).run();
}

namespace {

/// Compiles both parts of a recorded call that wants the gradients of all variables but auxiliary states.
void dump_joint(const ir::Graph& graph, const Model::State::Bound& bound, Recompute policy,
                const CompileOptions& options) {
  const std::vector<ir::NodePtr>& states = bound.variables.auxiliary_states;
  ir::GradientRequest request;
  for (const ir::NodePtr& input : graph.inputs) {
    const bool wanted = is_floating(input->types.at(0).dtype) &&
                        std::find(states.begin(), states.end(), input) == states.end();
    request.sums.push_back(wanted ? static_cast<std::int64_t>(request.running.size())
                                  : ir::GradientRequest::none);
    if (wanted) request.running.push_back(false);
  }
  for (const ir::Entry& e : graph.outputs)
    request.heads.push_back(is_floating(e.node->types.at(e.output).dtype));
  plan_joint(graph, request, policy, options);
}

}  // namespace

std::map<std::string, std::string> Model::dump(const std::map<std::string, Tensor>& inputs,
                                               const RunOptions& options) const {
  const State& s = detail::live_state(state_, "Model");
  const State::Bound bound = s.bind(inputs, options);
  std::map<std::string, std::string> stages;
  CompileOptions compile_options = compile_options_of(options);
  compile_options.stages = &stages;
  const ir::Graph graph = s.to_graph(bound, options);
  if (options.gradients)
    dump_joint(graph, bound, options.recompute, compile_options);
  else
    (void)compile_plan(graph, compile_options);
  return stages;
}

}  // namespace kiln
