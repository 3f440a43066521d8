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
  /// `inputs`: null if the call is not recorded. `outputs`: all of them.
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
  constexpr explicit TapeMode(bool records) : records_(records) {}
  Tensor first(const OpCall& call) const override {
    Tensor out;
    run(call, {&out, 1}, nullptr);
    return out;
  }
  std::vector<Tensor> all(const OpCall& call) const override {
    std::vector<Tensor> out;
    run_into(call, nullptr, [&](const OpCode& code) {
      out.resize(code.outputs.size());
      return std::span<Tensor>(out);
    });
    return out;
  }
  void run(const OpCall& call, std::span<Tensor> wanted, const RandomState* random) const override {
    run_into(call, random, [&](const OpCode&) { return wanted; });
  }

 private:
  /// `wanted(code)`: the places for the first outputs.
  template <class Wanted>
  void run_into(const OpCall& call, const RandomState* random, Wanted&& wanted) const {
    if (!records_) return run_code(call, random, wanted, nullptr);
    RecordedInputs inputs(call);
    run_code(call, random, wanted, &inputs);
  }
  /// `inputs`: null if the call is not recorded.
  template <class Wanted>
  static void run_code(const OpCall& call, const RandomState* random, Wanted&& wanted,
                       RecordedInputs* inputs) {
    const OpCode& code = eager_mode().code_of(call);
    const auto run = [&](std::span<Tensor> outputs) {
      CallTape tape(call, code, inputs, outputs);
      eager_mode().run(call, code, outputs, random, tape);
    };
    const std::span<Tensor> first = wanted(code);
    const std::size_t count = code.outputs.size();
    if (first.size() >= count) return run(first);
    SmallArray<Tensor, 2> all(count);  // an entry knows all outputs
    run({all.data(), count});
    std::move(all.data(), all.data() + first.size(), first.begin());
  }

  bool records_;
};

}  // namespace

const RunningMode& tape_mode(bool records) {
  static constinit const TapeMode recording(true), paused(false);
  return records ? recording : paused;
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
