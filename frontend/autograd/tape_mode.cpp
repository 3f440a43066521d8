// Calls that run and are entries of the tape.
#include "frontend/autograd/tape.h"
#include "frontend/call/call_site.h"
#include "frontend/call/mode.h"

#include <algorithm>
#include <optional>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;

/// The inputs of a recorded call, with their links.
struct RecordedInputs {
  /// Makes the links of views, too: not between a look-up of code and its use.
  explicit RecordedInputs(const OpCall& call)
      : count(call.inputs.size()), inputs(count + 1), links(count + 1) {
    for (std::size_t i = 0; i < count; ++i) {
      inputs[i] = call.inputs[i];
      links[i] = detail::link_of(*call.inputs[i], call.where);
    }
  }

  /// `number`: the number that the code takes as an array, if it does.
  detail::CallRecording record(const OpCall& call, const OpCode& code, const Tensor& number) {
    if (number.defined()) {
      const std::size_t at = *code.number_input;
      inputs[count] = &number;
      std::rotate(inputs.begin() + at, inputs.begin() + count, inputs.end());
      std::rotate(links.begin() + at, links.begin() + count, links.end());
      ++count;
    }
    return {code.gradient, {inputs.data(), count}, {links.data(), count}, CallSite::resolve(call.where)};
  }

  std::size_t count;
  SmallArray<const Tensor*, 5> inputs;  // with a place for the number
  SmallArray<detail::TapeLink, 5> links;
};

/// The arrays that an operator updates in place. Their new contents are constants, as in a recorded update.
/// An array with a gradient attached stays one.
void end_histories(const OpCall& call, const ExecutablePlan& plan) {
  for (const ExecutablePlan::WriteBack& w : plan.write_backs)
    if (const Tensor& t = *call.inputs[w.input]; detail::has_link(t) && !detail::variable_of(t))
      detail::record_write(t, Tensor(), /*has_rest=*/false, call.where);
}

class CallTape final : public OpTape {
 public:
  /// `outputs`: all of them. `recorded`: whether the call becomes an entry, unless no gradient passes its
  /// operator.
  CallTape(const OpCall& call, const OpCode& code, RecordedInputs* inputs, std::span<const Tensor> outputs)
      : call_(call), code_(code), inputs_(inputs), outputs_(outputs) {
    // The end of a history may look up other code, which may end this one.
    if (!call.op.aux.empty()) writing_ = code.executable;
  }
  void begin(const Tensor& number) override {
    if (inputs_ && code_.gradient) recording_.emplace(inputs_->record(call_, code_, number));
    if (writing_) end_histories(call_, writing_->plan());
  }
  void finish(const RandomState& random) override {
    if (recording_) recording_->finish(outputs_, random);
  }

 private:
  const OpCall& call_;
  const OpCode& code_;
  RecordedInputs* const inputs_;
  const std::span<const Tensor> outputs_;
  std::optional<detail::CallRecording> recording_;
  std::shared_ptr<const Executable> writing_;
};

class TapeMode final : public RunningMode {
 public:
  Tensor first(const OpCall& call) const override {
    Tensor out;
    run(call, {&out, 1}, nullptr);
    return out;
  }
  std::vector<Tensor> all(const OpCall& call) const override {
    std::vector<Tensor> out(eager_mode().code_of(call).outputs.size());
    run(call, out, nullptr);
    return out;
  }
  void run(const OpCall& call, std::span<Tensor> wanted, const RandomState* random) const override {
    std::optional<RecordedInputs> inputs;
    if (detail::is_recording()) inputs.emplace(call);
    const OpCode& code = eager_mode().code_of(call);
    SmallArray<Tensor, 2> all(code.outputs.size());
    const std::span<Tensor> outputs(all.data(), all.size());
    CallTape tape(call, code, inputs ? &*inputs : nullptr, outputs);
    eager_mode().run(call, code, outputs, random, tape);
    std::move(outputs.begin(), outputs.begin() + wanted.size(), wanted.begin());
  }
};

}  // namespace

const RunningMode& tape_mode() {
  static constinit const TapeMode mode;
  return mode;
}

Tensor detail::record_on_tape(const OpCall& call) {
  RecordedInputs inputs(call);
  const OpCode& code = eager_mode().code_of(call);
  const TensorType& type = code.outputs.at(0);
  Tensor out = TensorAccess::make(std::make_shared<Array>(Buffer::none(device_of(call)), type.shape), 0,
                                  type.shape, type.dtype);
  inputs.record(call, code, {}).finish({&out, 1}, {});
  return out;
}

}  // namespace kiln
