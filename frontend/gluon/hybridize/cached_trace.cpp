// A miss of CachedCall: recording hybrid_forward and compiling the recording.
#include "codegen/driver/compile.h"
#include "codegen/driver/report.h"
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/gluon/hybridize/recording_difference.h"
#include "frontend/gluon/hybridize/recording_history.h"
#include "frontend/tensor/view_scope.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/traced_view.h"
#include "frontend/view/view.h"
#include "runtime/fail.h"
#include "runtime/log.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

namespace kiln {

using detail::Array;
using detail::TensorAccess;
using detail::TracedCall;

namespace {

/// Maps each result to the tensor that it is a view of. As in eager mode, a result that is (a view of) an
/// input, a parameter or another result shares its memory. If it is a separate value there, as the result of
/// a branch, that value is an output too, which backward passes need.
class ResultViews {
 public:
  ResultViews(CallTrace& trace, std::span<const Tensor> inputs) : trace_(trace), inputs_(inputs) {}

  /// Fills results and fresh, and returns the values that the executable computes.
  std::vector<ir::Entry> place(std::span<const Tensor> results, TracedCall& out) {
    std::vector<ir::Entry> made;
    std::vector<const Array*> arrays;
    std::vector<Tensor> placed;
    for (const Tensor& result : results) {
      const Tensor& t = placed.emplace_back(trace_.resolve(result));
      const Array& array = *TensorAccess::array(t);
      TracedCall::Result r{TracedCall::Result::Of::fresh, 0, TensorAccess::offset(t), TensorAccess::shape(t),
                           TensorAccess::dtype(t)};
      if (const auto input = number_of_input(array)) {
        r.of = TracedCall::Result::Of::input;
        r.index = *input;
      } else if (const auto capture = number_of_capture(array)) {
        r.of = TracedCall::Result::Of::capture;
        r.index = *capture;
      } else {
        const auto known = std::find(arrays.begin(), arrays.end(), &array);
        r.index = static_cast<std::uint32_t>(known - arrays.begin());
        if (known != arrays.end()) {
          for (TracedCall::Result& earlier : out.results)
            if (earlier.of == r.of && earlier.index == r.index) earlier.last = false;
        } else {
          arrays.push_back(&array);
          made.push_back(array.value);
          add_fresh({TensorAccess::dtype(t), array.shape}, out);
        }
      }
      if (own_behind(t).defined()) {
        out.has_own_values = true;
        const auto same = std::find_if(placed.begin(), placed.end(),
                                       [&](const Tensor& before) { return same_own_value(before, t); });
        if (const auto at = static_cast<std::size_t>(same - placed.begin()); at < out.results.size()) {
          r.own_value = out.results[at].own_value;
        } else {
          r.own_value = static_cast<std::uint32_t>(made.size());
          made.push_back(value_of(t, CallSite::caller()));
          arrays.push_back(nullptr);
          add_fresh({r.dtype, r.shape}, out);
        }
      }
      out.results.push_back(r);
    }
    return made;
  }

 private:
  static void add_fresh(TensorType type, TracedCall& out) {
    out.fresh_bytes.push_back(static_cast<std::size_t>(type.bytes()));
    out.fresh.push_back(std::move(type));
  }
  std::optional<std::uint32_t> number_of_input(const Array& array) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (TensorAccess::array(inputs_[i]).get() == &array) return static_cast<std::uint32_t>(i);
    return {};
  }
  std::optional<std::uint32_t> number_of_capture(const Array& array) const {
    for (std::size_t i = 0; i < trace_.captured().size(); ++i) {
      const Tensor traced = trace_.resolve(trace_.captured()[i].tensor);
      if (TensorAccess::array(traced).get() == &array) return static_cast<std::uint32_t>(i);
    }
    return {};
  }
  CallTrace& trace_;
  std::span<const Tensor> inputs_;
};

/// Finds the arguments that a call writes: in-place operators, and operators that update states in training.
void find_writes(const ir::Graph& graph, std::size_t inputs, TracedCall& out) {
  std::vector<bool> written(graph.inputs.size());
  const auto mark = [&](std::size_t input) {
    if (written.at(input)) return;
    written[input] = true;
    if (input < inputs)
      out.writes_inputs = true;
    else
      out.written_captures.push_back(static_cast<std::uint32_t>(input - inputs));
  };
  for (const ir::Graph::Write& w : graph.writes) mark(w.input);
  std::unordered_map<const ir::Node*, std::size_t> numbers;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) numbers.emplace(graph.inputs[i].get(), i);
  for (const ir::NodePtr& node : graph.nodes) {
    if (!node->op || !node->train.value_or(graph.train)) continue;
    for (const int aux : node->op->aux) {
      const auto at = numbers.find(node->inputs[static_cast<std::size_t>(aux)].node.get());
      if (at != numbers.end()) mark(at->second);
    }
  }
}

/// The parameters of a block, keyed by their current arrays.
std::unordered_map<const Array*, Parameter> parameters_of(const HybridBlock& block) {
  std::unordered_map<const Array*, Parameter> out;
  for (const Parameter& p : block.collect_params())
    if (p.is_initialized()) out.emplace(TensorAccess::array(p.data()).get(), p);
  return out;
}

}  // namespace

void detail::check_indices(std::span<const ir::NodePtr> nodes) {
  for (const ir::NodePtr& node : nodes) {
    node->check_indices = true;
    for (const ir::SubgraphPtr& body : node->subgraphs) check_indices(body->nodes);
  }
}

Tensors detail::BlockAccess::record(HybridBlock& block, CallTrace& trace, std::span<const TensorType> types,
                                    Tensors& traced, std::span<const Tensor> given) {
  for (std::size_t i = 0; i < types.size(); ++i)
    traced.push_back(trace.input(types.size() == 1 ? "data" : "data" + std::to_string(i), types[i],
                                 given.empty() ? Tensor() : given[i]));
  for (std::size_t i = 0; i < given.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (are_one_value(given[i], given[j])) traced[i] = traced[j];
  const Tensors results = run(block, traced);
  if (results.empty())
    fail("{}hybrid_forward of {} returned no tensor", line_prefix(CallSite::caller()), block.name());
  for (const Tensor& r : results)
    if (!r.defined())
      fail("{}hybrid_forward of {} returned an undefined Tensor", line_prefix(CallSite::caller()),
           block.name());
  return results;
}

namespace {

/// Runs hybrid_forward on traced values. Fills graph, results and captures. Returns the graph to compile,
/// whose outputs are the arrays that a run allocates; null if the call has to be traced again
/// (CallTrace::presumed_recording).
std::optional<ir::Graph> try_record(HybridBlock& block, std::span<const Tensor> inputs, TracedCall& out,
                                    bool recording, bool asks) {
  const DeviceScope device(out.signature.device);
  // As in a call of the block, whoever records it.
  const detail::ViewScope scope(detail::ViewScope::next_call());
  std::optional<PrecisionScope> precision;
  if (out.options.precision) precision.emplace(*out.options.precision);
  CallTrace trace(recording, asks);
  std::vector<TensorType> types;
  for (const Tensor& t : inputs) types.push_back({TensorAccess::dtype(t), TensorAccess::shape(t)});
  Tensors traced;
  Tensors results;
  try {
    results = detail::BlockAccess::record(block, trace, types, traced, inputs);
    if (trace.presumed_recording()) return std::nullopt;
    out.graph = trace.finish(results);
    if ((out.options.check & Check::indices) != Check::none) detail::check_indices(out.graph.nodes);
  } catch (const TraceAbandoned&) {
    results.clear();
  }
  out.eager_because = trace.eager_because();
  out.other_values = trace.other_values();
  if (trace.asked_recording()) out.asked_recording = recording;
  out.has_record = trace.has_record();
  out.read_arrays = trace.read_arrays();
  out.graph.name = detail::shown_name(block);
  if (results.empty()) return out.graph;
  ir::Graph compiled = out.graph;
  compiled.outputs = ResultViews(trace, traced).place(results, out);

  const auto parameters = parameters_of(block);
  for (const Captured& c : trace.captured()) {
    TracedCall::Capture capture{nullptr, detail::KeptArray(TensorAccess::array(c.tensor)),
                                TensorAccess::shape(c.tensor), TensorAccess::dtype(c.tensor),
                                c.variable->name};
    if (const auto p = parameters.find(capture.array.get().get()); p != parameters.end())
      capture.parameter = detail::ParameterAccess::handle(p->second);
    // A parameter's array is a parameter, also if hybrid_forward captured it as a tensor.
    if (capture.parameter) compiled.is_parameter[inputs.size() + out.captures.size()] = true;
    if (const Device device = capture.array->device(); !(device == out.signature.device))
      fail("{}{} is called on {}, and it reads {} '{}', which is on {}: move one, as in net.to(x.device())",
           line_prefix(CallSite::caller()), block.name(), out.signature.device.str(),
           capture.parameter ? "the parameter" : "the array", capture.name, device.str());
    out.captures.push_back(std::move(capture));
  }
  auto body = std::make_shared<ir::Subgraph>(ir::Subgraph{compiled.inputs, compiled.nodes, compiled.outputs});
  for (const ir::Graph::Write& w : compiled.writes) {
    body->outputs.push_back(w.value);
    const TracedVariable& written =
        w.input < inputs.size() ? trace.inputs()[w.input] : trace.captured()[w.input - inputs.size()];
    out.in_place.push_back({static_cast<std::uint32_t>(w.input), written.written, w.paused});
  }
  if (trace.asked_histories())
    for (std::size_t i = 0; i < compiled.inputs.size(); ++i)
      out.histories.push_back(TracedCall::history_of(out.argument(inputs, i)));
  out.gradient = std::make_shared<detail::GradientCode>(std::move(body), compiled.train, out.precision());
  return compiled;
}

ir::Graph record(HybridBlock& block, std::span<const Tensor> inputs, TracedCall& out, bool recording) {
  std::optional<ir::Graph> graph = try_record(block, inputs, out, recording, /*asks=*/false);
  return graph ? *graph : *try_record(block, inputs, out, recording, /*asks=*/true);
}

/// The recording of the block with equal code; null if there is none. Null within a report, too, which
/// describes code that is compiled for it.
std::shared_ptr<const TracedCall> equal_recording(detail::BlockState& block, const TracedCall& call) {
  if (ReportScope::current()) return nullptr;
  const HybridizeOptions& o = call.options;
  const std::lock_guard lock(block.recordings_mutex);
  for (const auto& weak : block.recordings)
    if (const auto other = weak.lock();
        other && other->executable && other->options.fuse == o.fuse &&
        other->options.precision == o.precision && other->options.recompute == o.recompute &&
        other->options.dump_dir == o.dump_dir && other->signature == call.signature &&
        !detail::code_difference(*other, call))
      return other;
  return nullptr;
}

/// Compiles the recording, or takes the code of an equal one of the block.
void compile_call(detail::BlockState& block, TracedCall& call, const ir::Graph& graph) {
  const HybridizeOptions& o = call.options;
  CompileOptions options = on_device(default_options(), call.signature.device);
  options.precision = call.precision();
  options.fuse = options.fuse && o.fuse;
  if (!o.dump_dir.empty()) options.dump_dir = o.dump_dir;
  detail::set_purpose(options, call.reason);
  if (const auto other = equal_recording(block, call)) {
    call.executable = other->executable;
    call.joint = other->joint;
    call.reason.kernels_reused = call.executable->plan().kernels.size();
    return list_reused_dump(options);
  }
  call.executable = compile(graph, options);
  call.reason.kernels_compiled = call.executable->plan().kernels_compiled;
  call.reason.kernels_reused = call.executable->plan().kernels_reused;
  call.joint = std::make_shared<detail::JointCodes>(graph, o.recompute, options);
}

}  // namespace

detail::Recorded detail::record_call(HybridBlock& block, CallSignature signature,
                                     std::span<const Tensor> inputs, bool recording) {
  BlockState& state = BlockAccess::state(block);
  Recorded out{std::make_shared<TracedCall>(std::move(signature), state.options), {}};
  TracedCall& call = *out.call;
  call.confirmed = structure_epoch.load(std::memory_order_relaxed);
  call.hybridized.add(state.hybridized);
  {
    const DependencyScope scope(call.dependencies);
    depend_on_tree(state);
    out.to_compile = record(block, inputs, call, recording);
  }
  call.dependencies.settle();
  for (TracedCall::Capture& c : call.captures) {
    c.watched = !c.parameter && c.array.in_use();
    call.watched_captures += c.watched;
  }
  // An array that hybrid_forward made is made anew by the next recording.
  std::erase_if(call.read_arrays, [](const CallTrace::Read& r) { return !r.array.in_use(); });
  find_writes(call.graph, inputs.size(), call);
  return out;
}

std::shared_ptr<TracedCall> detail::trace_call(HybridBlock& block, CallSignature signature,
                                               std::span<const Tensor> inputs, bool recording,
                                               RecordingHistory& history) {
  const auto started = std::chrono::steady_clock::now();
  const auto [call, graph] = record_call(block, std::move(signature), inputs, recording);
  BlockState& state = BlockAccess::state(block);
  if ((call->writes_inputs && call->signature.shares_arrays()) || call->overlaps(inputs)) {
    call->eager_because = "it writes to an array that is also another argument";
    call->other_values = true;
  }
  call->reason = history.reason(block, *call, detail::shown_name(block));
  if (call->eager_because.empty())
    compile_call(state, *call, graph);
  else
    log_line(LogCategory::compile, "{}: calls for {} run eagerly: {}", block.name(), call->signature.str(),
             call->eager_because);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
  call->reason.milliseconds = took.count();
  history.report(block, *call, call->reason);
  const std::lock_guard lock(state.recordings_mutex);
  std::erase_if(state.recordings, [](const auto& weak) { return weak.expired(); });
  state.recordings.push_back(call);
  state.latest = call;
  return call;
}

}  // namespace kiln
