// A miss of CachedCall: recording hybrid_forward and compiling the recording.
#include "codegen/compile.h"
#include "frontend/block_state.h"
#include "frontend/cached_call.h"
#include "frontend/trace.h"
#include "runtime/fail.h"

#include <algorithm>

namespace kiln {

using detail::Array;
using detail::TensorAccess;
using detail::TracedCall;

namespace {

/// Which tensor of the recording each result is a view of. A result that is (a view of) an input, a parameter
/// or another result shares its memory eagerly; it does so here too.
class ResultViews {
 public:
  ResultViews(Trace& trace, std::span<const Tensor> inputs) : trace_(trace), inputs_(inputs) {}

  /// Fills results and fresh, and returns the values that the executable has to make.
  std::vector<ir::Entry> place(std::span<const Tensor> results, TracedCall& out) {
    std::vector<ir::Entry> made;
    std::vector<const Array*> arrays;
    for (const Tensor& result : results) {
      const Tensor t = trace_.resolve(result);
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
        if (known == arrays.end()) {
          arrays.push_back(&array);
          made.push_back(array.value);
          out.fresh.push_back({TensorAccess::dtype(t), array.shape});
          out.fresh_bytes.push_back(static_cast<std::size_t>(out.fresh.back().bytes()));
        }
      }
      out.results.push_back(r);
    }
    return made;
  }

 private:
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
  Trace& trace_;
  std::span<const Tensor> inputs_;
};

void mark_written(std::size_t input, std::size_t inputs, TracedCall& out) {
  if (input < inputs) {
    out.writes_inputs = true;
  } else {
    const auto capture = static_cast<std::uint32_t>(input - inputs);
    if (std::find(out.written_captures.begin(), out.written_captures.end(), capture) ==
        out.written_captures.end())
      out.written_captures.push_back(capture);
  }
}

/// Which arguments a call writes: in-place operators, and the states that operators update while training.
void find_writes(const ir::Graph& graph, std::size_t inputs, TracedCall& out) {
  for (const ir::Graph::Write& w : graph.writes) mark_written(w.input, inputs, out);
  if (!graph.train) return;
  for (const ir::NodePtr& node : graph.nodes) {
    if (!node->op) continue;
    for (const int aux : node->op->aux) {
      const auto at = std::find(graph.inputs.begin(), graph.inputs.end(),
                                node->inputs[static_cast<std::size_t>(aux)].node);
      if (at != graph.inputs.end())
        mark_written(static_cast<std::size_t>(at - graph.inputs.begin()), inputs, out);
    }
  }
}

/// Runs hybrid_forward on values to come. Fills graph, results and captures; returns the graph to compile,
/// whose outputs are the arrays that the call makes.
ir::Graph record(HybridBlock& block, std::span<const Tensor> inputs, TracedCall& out) {
  Trace trace(/*shapes_known=*/true);
  Tensors traced;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = inputs.size() == 1 ? "data" : "data" + std::to_string(i);
    traced.push_back(trace.input(name, {TensorAccess::dtype(inputs[i]), TensorAccess::shape(inputs[i])}));
  }
  const Tensors results = detail::BlockAccess::run(block, traced);
  if (results.empty()) fail("hybrid_forward of {} returned no tensor", block.name());
  for (const Tensor& r : results)
    if (!r.defined()) fail("hybrid_forward of {} returned an undefined Tensor", block.name());
  out.graph = trace.finish(results);
  out.graph.name = block.name();
  ir::Graph compiled = out.graph;
  compiled.outputs = ResultViews(trace, traced).place(results, out);

  const ParameterDict parameters = block.collect_params();
  for (const Trace::Captured& c : trace.captured()) {
    TracedCall::Capture capture{nullptr, c.tensor, c.variable->name};
    for (const Parameter& p : parameters)
      if (p.is_initialized() && TensorAccess::array(p.data()) == TensorAccess::array(c.tensor))
        capture.parameter = detail::ParameterAccess::handle(p);
    // Whether hybrid_forward named the parameter or took its array.
    if (capture.parameter) compiled.is_parameter[inputs.size() + out.captures.size()] = true;
    out.captures.push_back(std::move(capture));
  }
  return compiled;
}

}  // namespace

std::shared_ptr<TracedCall> CachedCall::trace(HybridBlock& block, CallSignature signature,
                                              std::span<const Tensor> inputs) const {
  auto out = std::make_shared<TracedCall>(std::move(signature));
  const ir::Graph compiled = record(block, inputs, *out);
  find_writes(out->graph, inputs.size(), *out);
  // Writing to an array that is an argument twice: see TracedCall::executable.
  if ((out->writes_inputs && out->signature.shares_arrays()) || out->overlaps(inputs)) return out;

  CompileOptions options = default_options();
  options.fuse = options.fuse && options_.fuse;
  if (!options_.dump_dir.empty()) options.dump_dir = options_.dump_dir;
  out->executable = compile(compiled, options);
  return out;
}

}  // namespace kiln
