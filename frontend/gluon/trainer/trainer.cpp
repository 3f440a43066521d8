// Trainer: the updates of all parameters as one executable.
#include "codegen/driver/compile.h"
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/call/random_state.h"
#include "frontend/call/trace.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/gluon/trainer/trainer_state.h"
#include "runtime/fail.h"

#include <kiln/trainer.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace kiln {

using detail::CompiledUpdate;
using detail::ParameterAccess;
using detail::TensorAccess;
using detail::TrainerState;
using detail::UpdateChoice;

namespace {

/// Codes for more choices of parameters than these are compiled again: a program alternates between a few.
constexpr std::size_t max_updates = 16;

void check_kvstore(const std::string& name) {
  constexpr std::string_view one_device[] = {
      "", "device", "local", "local_allreduce_cpu", "nccl", "local_update_cpu", "local_allreduce_device"};
  if (std::find(std::begin(one_device), std::end(one_device), name) != std::end(one_device)) return;
  if (name.starts_with("dist") || name == "horovod" || name == "byteps" || name == "p3")
    fail("kvstore '{}' is distributed; a Trainer updates parameters on one device: leave kvstore out", name);
  fail("there is no kvstore '{}'; with one device \"device\" and \"local\" mean the same", name);
}

std::shared_ptr<TrainerState> make_state(const std::vector<Parameter>& params,
                                         std::shared_ptr<optimizer::Optimizer> optimizer,
                                         const TrainerOptions& options, std::source_location where) {
  return at_line(where, [&] {
    if (!optimizer) fail("the Trainer's optimizer is a null pointer");
    if (params.empty())
      fail("a Trainer needs parameters: net.collect_params() has those of the network and its children");
    check_kvstore(options.kvstore);
    auto state = std::make_shared<TrainerState>();
    std::unordered_set<std::string> names;
    const auto& idx2name = optimizer->options().param_idx2name;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (!params[i].defined()) fail("parameter {} of the Trainer is empty", i);
      if (!names.insert(params[i].name()).second)
        fail("the Trainer has two parameters of the name '{}'", params[i].name());
      const auto name = idx2name.find(static_cast<std::int64_t>(i));
      state->parameters.push_back(
          {params[i], name == idx2name.end() ? "" : name->second, optimizer->options().begin_num_update, {}});
    }
    state->num_update = optimizer->options().begin_num_update;
    state->state_count = optimizer->states().size();
    state->optimizer = std::move(optimizer);
    state->options = options;
    return state;
  });
}

/// In the order of their names, which is MXNet's.
std::vector<Parameter> sorted(const ParameterDict& params) {
  std::vector<Parameter> out = params.items();
  std::sort(out.begin(), out.end(),
            [](const Parameter& a, const Parameter& b) { return a.name() < b.name(); });
  return out;
}

/// The code for these parameters; compiled if it is not among the last ones.
CompiledUpdate& code_for(TrainerState& state, const UpdateChoice& choice, std::source_location where) {
  const auto found = std::find_if(state.compiled.begin(), state.compiled.end(),
                                  [&](const auto& c) { return c->choice == choice; });
  if (found != state.compiled.end()) {
    std::rotate(state.compiled.begin(), found, found + 1);
    return *state.compiled.front();
  }
  auto made = std::make_shared<CompiledUpdate>();
  made->choice = choice;
  made->update = state.graph(choice, where);
  CompileOptions options = on_device(default_options(), choice.device);
  options.purpose = {"", "update", fmt::format("the update of {} parameters", choice.chosen.size())};
  made->executable = compile(made->update.graph, options);
  made->call.emplace(*made->executable);
  state.compiled.insert(state.compiled.begin(), std::move(made));
  if (state.compiled.size() > max_updates) state.compiled.pop_back();
  return *state.compiled.front();
}

const Tensor& weight_of(const detail::TrainedParameter& p) {
  return ParameterAccess::state(p.parameter).data;
}
const Tensor& gradient_of(const detail::TrainedParameter& p) {
  return detail::gradient_of(*detail::variable_of(weight_of(p)));
}

/// The first parameter whose gradient has an infinite element or NaN; null if there is none.
const Parameter* first_overflow(const TrainerState& state, CompiledUpdate& code, std::source_location where) {
  if (!code.all_finite) {
    const CallSite site(where, where);
    code.all_finite = compile(detail::finite_graph(code.choice.parameters),
                              on_device(default_options(), code.choice.device));
  }
  const std::vector<std::size_t>& chosen = code.choice.chosen;
  detail::ArrayCall call(*code.all_finite);
  detail::ArgumentList arguments(call);
  for (const std::size_t i : chosen) arguments.add(gradient_of(state.parameters[i]));
  const Tensor all = call.make_results()[0];
  call.run(detail::NoTape(), reserve_random);
  const std::vector<float> sums = all.to_vector<float>();
  for (std::size_t k = 0; k < sums.size(); ++k)
    if (std::isnan(sums[k])) return &state.parameters[chosen[k]].parameter;
  return nullptr;
}

[[noreturn]] void refuse_gradient(const Parameter& parameter, std::source_location where) {
  fail(
      "{}the gradient of Parameter '{}' has infinite elements or NaN; no parameter was updated. Lower "
      "the learning rate, clip gradients (clip_gradient, clip_global_norm()), or look for a division by "
      "zero in the loss",
      line_prefix(where), parameter.name());
}

/// Whether the update may run; under a loss scale none runs whose gradients overflow.
bool may_update(TrainerState& state, CompiledUpdate& code, std::source_location where) {
  if (!state.scaler && !state.options.check_finite) return true;
  const Parameter* const overflow = first_overflow(state, code, where);
  const bool goes_on = state.scaler && state.scaler->stepped(overflow != nullptr);
  if (!overflow) return true;
  if (!goes_on) refuse_gradient(*overflow, where);
  return false;
}

/// Runs the update that is prepared.
void run(const TrainerState& state, CompiledUpdate& code) {
  detail::ArgumentList arguments(*code.call);
  for (const std::size_t i : code.choice.chosen) arguments.add(weight_of(state.parameters[i]));
  for (const std::size_t i : code.choice.chosen) arguments.add(gradient_of(state.parameters[i]));
  state.add_arguments(arguments, code.choice, code.next, code.update.captured);
  code.call->run(detail::NoTape(), reserve_random);
}

}  // namespace

Trainer::Trainer(const ParameterDict& params, std::string_view optimizer, const optimizer::Options& options,
                 const TrainerOptions& trainer_options, Where where)
    : Trainer(sorted(params), optimizer::create(optimizer, options, where), trainer_options, where) {}
Trainer::Trainer(const ParameterDict& params, std::shared_ptr<optimizer::Optimizer> optimizer,
                 const TrainerOptions& options, Where where)
    : Trainer(sorted(params), std::move(optimizer), options, where) {}
Trainer::Trainer(const std::vector<Parameter>& params, std::string_view optimizer,
                 const optimizer::Options& options, const TrainerOptions& trainer_options, Where where)
    : Trainer(params, optimizer::create(optimizer, options, where), trainer_options, where) {}
Trainer::Trainer(const std::vector<Parameter>& params, std::shared_ptr<optimizer::Optimizer> optimizer,
                 const TrainerOptions& options, Where where)
    : state_(make_state(params, std::move(optimizer), options, where)) {}

void Trainer::step(std::int64_t batch_size, bool ignore_stale_grad, Where where) {
  allreduce_grads();
  update(batch_size, ignore_stale_grad, where);
}

void Trainer::allreduce_grads() {}

void Trainer::update(std::int64_t batch_size, bool ignore_stale_grad, Where where) {
  at_line(where, [&] {
    detail::check_batch_size(batch_size);
    if (Trace::current())
      fail("Trainer::step() inside hybrid_forward, which is being traced: update parameters outside of it");
    const autograd::Pause pause;
    TrainerState& state = detail::TrainerAccess::state(*this);
    const UpdateChoice& choice = state.choose(ignore_stale_grad, where);
    if (choice.chosen.empty()) return;
    state.make_states(choice);
    CompiledUpdate& code = code_for(state, choice, where);
    if (!may_update(state, code, where)) return;
    state.prepare(choice, batch_size, code.next);
    run(state, code);
    state.finish(choice, code.next);
  });
}

double Trainer::learning_rate() const {
  const TrainerState& s = detail::TrainerAccess::state(*this);
  return s.optimizer->learning_rate(s.num_update);
}
void Trainer::set_learning_rate(double rate, Where where) {
  detail::TrainerAccess::state(*this, where).optimizer->set_learning_rate(rate, where);
}
const std::shared_ptr<optimizer::Optimizer>& Trainer::optimizer() const {
  return detail::TrainerAccess::state(*this).optimizer;
}
std::int64_t Trainer::num_update() const { return detail::TrainerAccess::state(*this).num_update; }

}  // namespace kiln
