// The checks of a hybridized call (Check): recording it again, and running it eagerly.
#include "codegen/driver/compile.h"
#include "frontend/call/invoke.h"
#include "frontend/call/random_state.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/gluon/hybridize/recording_difference.h"
#include "frontend/tensor/bits.h"
#include "frontend/tensor/elements.h"
#include "runtime/env.h"
#include "runtime/log.h"
#include "runtime/messages.h"
#include "runtime/once.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace kiln {

using detail::Array;
using detail::BlockAccess;
using detail::History;
using detail::RecordingDifference;
using detail::shown_name;
using detail::TensorAccess;
using detail::TracedCall;

namespace {

thread_local bool checking = false;

bool asks_for(const TracedCall& call, Check check) { return (call.options.check & check) != Check::none; }

constexpr const char* remedy =
    "hybrid_forward reads state that Kiln does not track. Make a number or a flag an Attr<T> "
    "member, an array a Parameter, a layer a Child; or call hybridize() after the change";

std::string line_of(const std::string& line) { return line.empty() ? line : line + ": "; }

[[noreturn]] void fail_stale(const HybridBlock& block, const TracedCall& call, const RecordingDifference& d) {
  fail(Mistake::untracked_state,
       "{}{} does not compute what was recorded for {}: at {}, {} was {} and is {} now. {}", line_of(d.line),
       shown_name(block), call.signature.str(), d.node, d.what, d.was, d.now, remedy);
}

void check_recording(HybridBlock& block, const TracedCall& call, std::span<const Tensor> inputs) {
  const CheckScope scope;
  log_line(LogCategory::compile, "{}: recorded again for {}, as Check::recording asks; nothing is compiled",
           shown_name(block), call.signature.str());
  const detail::Recorded again = detail::record_call(block, call.signature, inputs, detail::is_recording());
  if (const auto d = detail::recording_difference(call, *again.call)) fail_stale(block, call, *d);
}

Tensor duplicate(const Tensor& t) {
  Tensor out = TensorAccess::empty(TensorAccess::shape(t), TensorAccess::dtype(t), TensorAccess::device(t));
  copy_elements(out, t);
  return out;
}

/// All arrays that a call can reach, copies of their contents, and their histories. The eager run may write
/// to them; restore() resets them for the compiled run.
class Arguments {
 public:
  Arguments(const TracedCall& call, std::span<const Tensor> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& array = TensorAccess::array(inputs[i]);
      const DType dtype = TensorAccess::dtype(inputs[i]);
      const auto elements = static_cast<std::int64_t>(array->bytes() / size_of(dtype));
      add(fmt::format("input {}", i), TensorAccess::make(array, 0, {elements}, dtype));
    }
    for (const TracedCall::Capture& c : call.captures) add("'" + c.name + "'", c.whole());
  }

  /// Restores the previous contents, and keeps the current ones for the comparison.
  void restore() {
    for (Held& h : held_) {
      Array& array = *TensorAccess::array(h.whole);
      // Also where a write left the contents as they were.
      if (!(detail::history_of(array).link == h.history.link)) detail::restore_history(array, h.history);
      if (array.bytes() == 0) continue;
      if (std::memcmp(HostElements(h.whole).data(), HostElements(h.before).data(), array.bytes()) == 0)
        continue;  // no write: other threads may read it
      h.after = duplicate(h.whole);
      copy_elements(h.whole, h.before);
      array.bump_version();
    }
  }

  struct Difference {
    std::string name;
    std::int64_t element;
    Tensor eager, compiled;
  };
  /// The first array whose contents differ from its contents before restore().
  std::optional<Difference> first_difference() const {
    for (const Held& h : held_) {
      const Tensor& eager = h.after.defined() ? h.after : h.before;
      if (const auto element = detail::first_difference(eager, h.whole))
        return Difference{h.name, *element, eager, h.whole};
    }
    return {};
  }

  /// The same view as `t` of the copy of its array.
  Tensor copy_of(const Tensor& t) const {
    for (const Held& h : held_)
      if (TensorAccess::array(h.whole) == TensorAccess::array(t))
        return TensorAccess::make(TensorAccess::array(h.before), TensorAccess::offset(t),
                                  TensorAccess::shape(t), TensorAccess::dtype(t));
    fail_internal("a call reads an array that is not an argument");
  }

 private:
  struct Held {
    std::string name;
    Tensor whole, before, after;
    History history;
  };
  void add(std::string name, Tensor whole) {
    const auto known = [&](const Held& h) {
      return TensorAccess::array(h.whole) == TensorAccess::array(whole);
    };
    if (std::none_of(held_.begin(), held_.end(), known))
      held_.push_back({std::move(name), whole, duplicate(whole), Tensor(),
                       detail::history_of(*TensorAccess::array(whole))});
  }
  std::vector<Held> held_;
};

/// A call, run eagerly and compiled.
struct Runs {
  HybridBlock& block;
  const TracedCall& call;
  std::span<const Tensor> inputs;
  Arguments arguments;
  RandomState random;  // random counters of both runs
  Tensors eager, compiled;
};

void run_both(Runs& r) {
  {
    const CheckScope scope;
    const PrecisionScope precision(r.call.precision());
    const RandomBlock draws(r.random);
    // The compiled call alone is recorded, unless hybrid_forward asks whether it is.
    std::optional<autograd::Pause> pause;
    if (!r.call.asked_recording && r.call.histories.empty()) pause.emplace(is_training());
    try {
      for (const Tensor& t : BlockAccess::run(r.block, {r.inputs.begin(), r.inputs.end()}))
        r.eager.push_back(duplicate(t));  // a result may be a view of an argument
    } catch (...) {
      r.arguments.restore();
      throw;
    }
  }
  r.arguments.restore();
  const RandomBlock draws(r.random);
  r.compiled.resize(r.call.results.size());
  r.call.run(r.inputs, r.compiled, detail::is_recording());
}

/// Computes all nodes of the recording twice, on copies of the arguments: compiled with all of them as
/// outputs, and node by node. Returns the first node that differs.
std::optional<RecordingDifference> first_differing_node(const Runs& r) {
  ir::Graph graph = r.call.graph;
  graph.writes.clear();
  graph.outputs.clear();
  for (const ir::NodePtr& n : graph.nodes)
    for (int i = 0; n->op && i < n->op->outputs_visible(n->attrs); ++i)
      graph.outputs.push_back({n, static_cast<std::uint32_t>(i), 0});
  const PrecisionScope precision(r.call.precision());
  const Device device = r.call.executable->device();
  const auto executable = compile(graph, on_device(default_options(), device));

  Tensors given;
  for (const Tensor& t : r.inputs) given.push_back(r.arguments.copy_of(t));
  for (const TracedCall::Capture& c : r.call.captures) given.push_back(r.arguments.copy_of(c.whole()));
  std::unordered_map<const ir::Node*, Tensors> values;
  detail::ArrayCall code(*executable);
  Tensors copies;  // separate for each run: operators that keep statistics write to them
  for (std::size_t i = 0; i < given.size(); ++i) {
    copies.push_back(duplicate(given[i]));
    code.set_argument(i, copies.back());
    values[graph.inputs[i].get()] = {duplicate(given[i])};
  }
  const Tensors compiled = code.make_results();
  code.run(detail::NoTape(), [&](std::int64_t) { return r.random; });

  const RandomBlock draws(r.random);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::Node& n = *graph.outputs[i].node;
    if (graph.outputs[i].output == 0) {
      Tensors in;
      for (const ir::Entry& e : n.inputs) {
        const Tensors& outputs = values.at(e.node.get());
        if (e.output >= outputs.size()) return {};  // new contents of a state, which no run alone returns
        in.push_back(outputs[e.output]);
      }
      const NodeModes modes(n);
      values[&n] = kiln::invoke(*n.op, in, n.attrs, {}, n.name, n.subgraphs, n.np_shape);
    }
    const Tensor& alone = values[&n].at(graph.outputs[i].output);
    if (const auto at = detail::first_difference(alone, compiled[i]); at && *at >= 0)
      return RecordingDifference{fmt::format("node '{}' ({})", n.name, n.op_name), n.location.str(),
                                 fmt::format("element {}", *at), detail::element_text(alone, *at),
                                 detail::element_text(compiled[i], *at)};
  }
  return {};
}

std::string value_text(const Tensor& t, std::int64_t element) {
  return element < 0 ? TensorType{t.dtype(), t.shape()}.str() : detail::element_text(t, element);
}

/// Throws the most specific error for a differing result: a stale recording, a node, or the result itself.
[[noreturn]] void fail_bits(const Runs& r, const std::string& where, const std::string& line,
                            std::int64_t element, const Tensor& eager, const Tensor& compiled) {
  check_recording(r.block, r.call, r.inputs);
  if (const auto d = first_differing_node(r))
    fail_internal("{}{}: {} has {} at {} when it runs alone and {} in compiled code", line_of(d->line),
                  shown_name(r.block), d->node, d->was, d->what, d->now);
  fail(
      "{}{} computes other values eagerly than compiled: {}{} is {} eagerly and {} compiled. Its recording "
      "is "
      "up to date, so hybrid_forward computes differently while it is recorded: its results must not depend "
      "on is_traced() or on the number of its runs",
      line_of(line), shown_name(r.block), where, element < 0 ? "" : fmt::format(", element {},", element),
      value_text(eager, element), value_text(compiled, element));
}

void compare(const Runs& r) {
  const ir::Graph& graph = r.call.graph;
  if (r.eager.size() != r.compiled.size()) {
    check_recording(r.block, r.call, r.inputs);
    fail("{} returns {} tensors eagerly and {} compiled", shown_name(r.block), r.eager.size(),
         r.compiled.size());
  }
  for (std::size_t i = 0; i < r.eager.size(); ++i) {
    const auto element = detail::first_difference(r.eager[i], r.compiled[i]);
    if (!element) continue;
    const ir::Node& node = *graph.outputs[i].node;
    fail_bits(r, fmt::format("result {} of node '{}' ({})", i, node.name, node.op_name), node.location.str(),
              *element, r.eager[i], r.compiled[i]);
  }
  if (const auto d = r.arguments.first_difference())
    fail_bits(r, d->name + " after the call", "", d->element, d->eager, d->compiled);
}

}  // namespace

CheckScope::CheckScope() : outer_(std::exchange(checking, true)) {}
CheckScope::~CheckScope() { checking = outer_; }
bool CheckScope::active() { return checking; }

namespace {

Check read_checks() {
  Check all = Check::none;
  for (const std::string_view word : env_words("KILN_CHECK")) {
    if (word == "recording")
      all = all | Check::recording;
    else if (word == "bits")
      all = all | Check::bits;
    else if (word == "indices")
      all = all | Check::indices;
    else
      warn_once(
          "KILN_CHECK",
          fmt::format("KILN_CHECK: unknown check \"{}\"; the checks are recording, bits and indices", word));
  }
  return all;
}

}  // namespace

Check check_from_environment() { return once<read_checks>(); }

Tensors detail::run_checked(HybridBlock& block, const TracedCall& call, bool just_recorded,
                            std::span<const Tensor> inputs) {
  if (asks_for(call, Check::recording) && !just_recorded) check_recording(block, call, inputs);
  if (asks_for(call, Check::bits)) {
    Runs runs{
        block, call, inputs, Arguments(call, inputs), reserve_random(call.executable->plan().random_draws),
        {},    {}};
    run_both(runs);
    compare(runs);
    return std::move(runs.compiled);
  }
  Tensors out(call.results.size());
  call.run(inputs, out, is_recording());
  return out;
}

}  // namespace kiln
