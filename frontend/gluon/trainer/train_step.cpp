// A training step as one executable.
#include "codegen/driver/joint.h"
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/call/moved_from.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/gluon/hybridize/recording_history.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/gluon/trainer/loss_of_network.h"
#include "frontend/gluon/trainer/trainer_state.h"
#include "runtime/fail.h"
#include "runtime/once.h"
#include "runtime/small_array.h"

#include <kiln/amp.h>
#include <kiln/autograd.h>
#include <kiln/train_step.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace kiln {

using detail::Array;
using detail::ParameterAccess;
using detail::TensorAccess;
using detail::TracedCall;
using detail::TrainerAccess;
using detail::TrainerState;
using detail::UpdateChoice;

namespace {

/// Steps for more signatures than these are compiled again.
constexpr std::size_t max_steps = 64;

/// The arrays of one result in the last two calls. A loop that assigns the loss still has the last one while
/// the next is computed.
class ResultArrays {
 public:
  /// An array that nothing else refers to.
  const std::shared_ptr<Array>& next(const TensorType& type, Device device) {
    last_.swap(before_);
    // The tape may read the contents of an array that the program no longer has.
    if (!last_ || last_.use_count() > 1 || last_->history.load(std::memory_order_acquire) != nullptr)
      last_ = std::make_shared<Array>(Buffer(type, device), type.shape);
    return last_;
  }

 private:
  std::shared_ptr<Array> last_, before_;
};

/// A step for one signature and choice of parameters.
struct CompiledStep {
  std::shared_ptr<TracedCall> call;
  Precision precision;
  UpdateChoice choice;
  std::vector<Tensor> captured;                  ///< by the update, besides its arguments
  std::shared_ptr<const Executable> executable;  ///< null: such steps run line by line
  // Further objects that a call needs, made once.
  std::optional<detail::ArrayCall> code;
  detail::NextUpdate next;
  std::vector<ResultArrays> arrays;
  std::vector<std::shared_ptr<Array>> results;  ///< the last of `arrays`
};

/// The array of the loss among the arrays that a run allocates; the loss must be the whole of it.
std::optional<std::size_t> array_of_loss(const TracedCall& call) {
  const TracedCall::Result& loss = call.results.at(0);
  if (loss.own_value) return *loss.own_value;
  const bool whole = loss.of == TracedCall::Result::Of::fresh && loss.shape == call.fresh[loss.index].shape;
  return whole ? std::optional<std::size_t>(loss.index) : std::nullopt;
}

/// The gradient request for the chosen parameters, whose arrays the call captures. None if the call does not
/// read one of them, or the loss does not depend on it.
std::optional<ir::GradientRequest> request_for(const TracedCall& call, const TrainerState& trainer,
                                               std::span<const std::size_t> chosen) {
  const std::size_t inputs = call.signature.inputs.size();
  ir::GradientRequest request;
  request.sums.assign(inputs + call.captures.size(), ir::GradientRequest::none);
  request.running.assign(chosen.size(), false);
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const detail::ParameterState& parameter = ParameterAccess::state(trainer.parameters[chosen[k]].parameter);
    const auto capture = std::find_if(call.captures.begin(), call.captures.end(),
                                      [&](const auto& c) { return c.parameter.get() == &parameter; });
    if (capture == call.captures.end()) return {};
    request.sums[inputs + static_cast<std::size_t>(capture - call.captures.begin())] =
        static_cast<std::int64_t>(k);
  }
  // Other values that the network writes are no heads.
  const std::optional<std::size_t> loss = array_of_loss(call);
  if (!loss) return {};
  const ir::Entry& value = call.gradient->body()->outputs.at(*loss);
  request.heads.assign(call.gradient->body()->outputs.size(), false);
  request.heads[*loss] = is_floating(value.node->types.at(value.output).dtype);
  const std::vector<bool>& reached = call.gradient->known(request).uses.sums;
  if (std::find(reached.begin(), reached.end(), false) != reached.end()) return {};
  return request;
}

ir::StepGraph step_graph(ir::Graph graph, ir::GradientRequest request, detail::UpdateGraph update,
                         std::size_t parameters) {
  using Source = ir::StepGraph::Source;
  ir::StepGraph step{std::move(graph), std::move(request), std::move(update.graph), {}};
  // The first inputs of an update are the weights, then the gradients.
  for (std::size_t i = 0; i < step.update.inputs.size(); ++i) {
    if (i >= 2 * parameters) {
      step.sources.push_back({Source::Of::caller});
    } else if (i >= parameters) {
      step.sources.push_back({Source::Of::gradient, i - parameters});
    } else {
      const auto at =
          std::find(step.request.sums.begin(), step.request.sums.end(), static_cast<std::int64_t>(i));
      step.sources.push_back({Source::Of::input, static_cast<std::size_t>(at - step.request.sums.begin())});
      // A weight that changes in each call has no use for a prepacked constant.
      step.graph.is_parameter[step.sources.back().index] = false;
    }
  }
  return step;
}

}  // namespace

struct TrainStep::State {
  HybridBlock* net;
  loss::Loss* loss;
  std::weak_ptr<const void> net_alive, loss_alive;
  Trainer trainer;
  LossOfNetwork block;
  std::vector<std::shared_ptr<CompiledStep>> steps;  // the last used first
  bool compiled = false;
  detail::RecordingHistory history;

  State(HybridBlock& n, loss::Loss& l, std::weak_ptr<const void> na, std::weak_ptr<const void> la,
        const Trainer& t)
      : net(&n), loss(&l), net_alive(std::move(na)), loss_alive(std::move(la)), trainer(t), block(n, l) {}

  Tensor line_by_line(std::span<const Tensor> inputs, std::int64_t batch_size, std::source_location where) {
    compiled = false;
    Tensor l;
    {
      const autograd::Record record;
      l = block.checked_loss({inputs.begin(), inputs.end()});
    }
    if (TrainerAccess::state(trainer).scaler)
      amp::scale_loss(l, trainer, where).backward(where);
    else
      l.backward({}, {}, where);
    trainer.step(batch_size, false, where);
    return l;
  }

  /// The parameters that a step updates. Throws for one without values. None if a step must run line by line.
  static const UpdateChoice& choose(TrainerState& t, std::source_location where) {
    const UpdateChoice& none = once<[] { return UpdateChoice(); }>();
    if (t.options.check_finite || t.scaler) return none;
    const UpdateChoice& choice = t.train(where);
    for (const std::size_t i : choice.chosen)
      if (const Parameter& p = t.parameters[i].parameter;
          p.grad_req() != GradReq::write || !is_floating(p.dtype()))
        return none;
    return choice;
  }

  /// Notes the options that choose() reads. The choice is compared apart from the recording.
  static void note_options(TracedCall& call, const TrainerState& t) {
    for (const detail::TrainedParameter& p : t.parameters)
      call.dependencies.add(
          detail::option_read(ParameterAccess::handle(p.parameter), detail::ParameterOption::grad_req));
  }

  /// That of the network, as line by line.
  Precision precision_of(const TracedCall& call) const {
    return block.precision().value_or(call.signature.precision);
  }

  CompiledStep& step_for(std::span<const Tensor> inputs, TrainerState& t, std::source_location where) {
    const auto usable = [&](const CompiledStep& s) {
      return s.call->matches(inputs, {.train = true, .recording = true}) && s.call->current() &&
             s.precision == precision_of(*s.call) && s.choice == choose(t, where);
    };
    const auto found = std::find_if(steps.begin(), steps.end(), [&](const auto& s) { return usable(*s); });
    if (found != steps.end()) {
      std::rotate(steps.begin(), found, found + 1);
      return *steps.front();
    }
    return make_step(inputs, t, where);
  }

  /// Records and compiles a step. Apart from step_for(), so that a call whose code exists saves no registers
  /// for it.
  [[gnu::noinline]] CompiledStep& make_step(std::span<const Tensor> inputs, TrainerState& t,
                                            std::source_location where) {
    std::erase_if(steps, [](const auto& s) { return !s->call->current(); });
    auto made = std::make_shared<CompiledStep>();
    // Records first: shapes of parameters may not be known before.
    CallSignature signature(inputs, true);
    std::optional<PrecisionScope> precision;
    if (const auto chosen = block.precision()) precision.emplace(*chosen);
    const bool separate_calls = block.needs_separate_calls();
    const auto started = std::chrono::steady_clock::now();
    const detail::Recorded recorded = detail::record_call(block, std::move(signature), inputs, true);
    precision.reset();
    made->call = recorded.call;
    made->precision = precision_of(*made->call);
    made->call->options.precision = made->precision;
    made->choice = choose(t, where);
    note_options(*made->call, t);
    RecordingReason& reason = made->call->reason;
    reason = history.reason(block, *made->call, detail::shown_name(*net) + "_step");
    const std::vector<std::size_t>& chosen = made->choice.chosen;
    if (!separate_calls && !chosen.empty() && made->call->eager_because.empty() &&
        !made->call->writes_inputs) {
      if (auto request = request_for(*made->call, t, chosen)) {
        detail::UpdateGraph update = t.graph(made->choice, where);
        made->captured = update.captured;
        ir::Graph graph = recorded.to_compile;
        graph.name = detail::shown_name(*net) + "_step";
        CompileOptions options = on_device(default_options(), made->call->signature.device);
        options.precision = made->precision;
        detail::set_purpose(options, reason);
        made->executable = compile_step(
            step_graph(std::move(graph), *std::move(request), std::move(update), chosen.size()), options);
        reason.kernels_compiled = made->executable->plan().kernels_compiled;
        reason.kernels_reused = made->executable->plan().kernels_reused;
        made->code.emplace(*made->executable);
        made->arrays.resize(made->call->fresh.size());
        made->results.resize(made->call->fresh.size());
      }
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
    reason.milliseconds = took.count();
    history.report(block, *made->call, reason);
    steps.insert(steps.begin(), std::move(made));
    if (steps.size() > max_steps) steps.pop_back();
    return *steps.front();
  }

  /// Whether an argument shares memory with a parameter, or the network writes into an array that has a
  /// history: the code knows nothing of either.
  bool overlaps(const CompiledStep& s, const TrainerState& t, std::span<const Tensor> inputs) const {
    if (s.call->overlaps(inputs)) return true;
    if (std::any_of(s.call->in_place.begin(), s.call->in_place.end(),
                    [&](const auto& w) { return detail::has_link(s.call->argument(inputs, w.argument)); }))
      return true;
    for (const std::size_t i : s.choice.chosen) {
      const Array& weight = *TensorAccess::array(ParameterAccess::state(t.parameters[i].parameter).data);
      if (detail::shares_memory(weight, inputs)) return true;
    }
    return false;
  }

  Tensor run(CompiledStep& s, TrainerState& t, std::span<const Tensor> inputs, std::int64_t batch_size) {
    compiled = true;
    const TracedCall& call = *s.call;
    t.make_states(s.choice);
    t.prepare(s.choice, batch_size, s.next);

    detail::ArgumentList arguments(*s.code);
    call.fill_arguments(inputs, arguments);
    t.add_arguments(arguments, s.choice, s.next, s.captured);
    for (std::size_t i = 0; i < call.fresh.size(); ++i)
      s.results[i] = s.arrays[i].next(call.fresh[i], s.executable->device());
    s.code->set_results(s.results);
    s.code->run(detail::NoTape(), reserve_random);
    t.finish(s.choice, s.next);
    Tensor out;
    call.fill_results(inputs, s.results, TracedCall::Made::taken, {&out, 1});
    return out;
  }
};

TrainStep HybridBlock::train_step(const loss::Loss& loss, const Trainer& trainer) const {
  // A block is a handle; only hybrid_forward, which the program writes, is not const.
  auto& net = const_cast<HybridBlock&>(*this);
  auto& criterion = const_cast<loss::Loss&>(loss);
  return TrainStep(std::make_shared<TrainStep::State>(net, criterion, detail::BlockAccess::identity(net),
                                                      detail::BlockAccess::identity(criterion), trainer));
}

Tensor TrainStep::call(std::span<const Tensor> data, const Tensor& label, std::int64_t batch_size,
                       Where where) {
  State& s = detail::live_state(state_, "TrainStep", where);
  if (s.net_alive.expired() || s.loss_alive.expired())
    fail("{}the {} of this train_step() has ended or moved: it must stay where it was when the step was made",
         line_prefix(where), s.net_alive.expired() ? "network" : "loss");
  if (Trace::current() || detail::is_recording())
    fail("{}a training step records, differentiates and updates by itself: call it outside of {}",
         line_prefix(where), Trace::current() ? "hybrid_forward" : "autograd::Record");
  const std::source_location line = CallSite::resolve(where);
  const CallSite site(std::nullopt, line);
  s.block.where = line;
  const autograd::TrainMode mode;
  return at_line(where, [&] {
    SmallArray<Tensor, 4> all(data.size() + 1);
    *std::copy(data.begin(), data.end(), all.data()) = label;
    const std::span<const Tensor> inputs(all.data(), data.size() + 1);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i].defined())
        fail("{} of the step is an undefined Tensor",
             i < data.size() ? fmt::format("input {}", i) : "the label");
    if (batch_size == 0) {
      const int axis = s.loss->batch_axis();
      if (data.empty() || axis < 0 || axis >= data[0].shape().rank())
        fail("the batch size is not known: the first input has no axis {}; give it", axis);
      batch_size = data[0].shape()[static_cast<std::size_t>(axis)];
    }
    detail::check_batch_size(batch_size);
    TrainerState& t = TrainerAccess::state(s.trainer);
    CompiledStep& step = s.step_for(inputs, t, where);
    if (!step.executable || s.overlaps(step, t, inputs)) return s.line_by_line(inputs, batch_size, where);
    return s.run(step, t, inputs, batch_size);
  });
}

bool TrainStep::compiled() const { return detail::live_state(state_, "TrainStep").compiled; }

}  // namespace kiln
