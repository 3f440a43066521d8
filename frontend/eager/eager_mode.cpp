// Calls that run compiled code of one operator.
#include "frontend/call/array_call.h"
#include "frontend/call/line.h"
#include "frontend/call/random_state.h"
#include "frontend/eager/eager_cache.h"
#include "frontend/tensor/elements.h"
#include "runtime/check.h"
#include "runtime/fail.h"
#include "runtime/profile.h"

namespace kiln {
namespace {

using detail::TensorAccess;

// The attribute `scalar` as an array of one element.
Tensor number_tensor(const OpCall& call) {
  const ir::AttrValue& value = call.given[0].value;
  const auto* integer = std::get_if<std::int64_t>(&value);
  const double number = integer ? static_cast<double>(*integer) : std::get<double>(value);
  Tensor out =
      TensorAccess::empty({1}, TensorAccess::dtype(*call.inputs[0]), TensorAccess::device(*call.inputs[0]));
  set_elements(out, {&number, 1});
  return out;
}

/// Runs the code for a Profile, which is told the line of the call, for calls at other lines share the code.
/// A call without a line of the program's source is a node of a symbol file, which has a name.
template <class Compute>
[[gnu::noinline, gnu::cold]] void run_as_caller(Profile::Record& profile, const OpCall& call,
                                                const OpCode& code, const Compute& compute) {
  const bool is_of_file = call.where.line() == 0;
  const Profile::Record::Caller caller(profile, code.line, program_path_and_line(call.where),
                                       code.executable->plan().name,
                                       is_of_file ? std::string_view(call.name) : std::string_view());
  compute();
}

/// `steps` are the tape's part of the call, made from the number that the code takes as an array.
template <class Steps, class Reserve>
void run_code(const OpCall& call, const OpCode& code, std::span<Tensor> outputs, Steps&& steps,
              Reserve&& reserve) {
  if (outputs.size() > code.outputs.size())
    fail_internal("{} has {} outputs, {} were requested", call.op.name, code.outputs.size(), outputs.size());
  detail::ArrayCall run(*code.executable);
  std::size_t place = 0;
  for (const Tensor* t : call.inputs) {
    if (place == code.number_input) ++place;
    run.set_argument(place++, *t);
  }
  Tensor number;
  if (code.number_input) {
    number = number_tensor(call);
    run.set_argument(*code.number_input, number);
  }
  std::vector<Buffer> unwanted;
  for (std::size_t i = 0; i < run.result_count(); ++i) {
    const TensorType& type = code.outputs[i];
    if (i < outputs.size())
      outputs[i] = run.make_result(i, type);
    else
      run.set_result(i, unwanted.emplace_back(type, run.device()));
  }
  const auto compute = [&] { run.run(steps(number), reserve); };
  try {
    if (Profile::Record* const profile = Profile::Record::active()) [[unlikely]]
      run_as_caller(*profile, call, code, compute);
    else
      compute();
  } catch (const ValueError& e) {
    // An eager operator's code is shared by all lines that call it. A body belongs to this call and has its
    // own lines.
    if (!call.bodies.empty()) throw;
    throw Error(line_prefix(call.where) + e.message());
  }
}

/// The tape's part of a call that is not recorded.
detail::NoTape no_tape(const Tensor&) { return {}; }

auto random_from(const RandomState* random) {
  return [random](std::int64_t draws) { return random ? *random : reserve_random(draws); };
}

class Eager final : public EagerMode {
 public:
  Tensor first(const OpCall& call) const override {
    Tensor out;
    run_code(call, op_code(call), {&out, 1}, no_tape, reserve_random);
    return out;
  }
  std::vector<Tensor> all(const OpCall& call) const override {
    const OpCode& code = op_code(call);
    std::vector<Tensor> out(code.outputs.size());
    run_code(call, code, out, no_tape, reserve_random);
    return out;
  }
  void run(const OpCall& call, std::span<Tensor> outputs, const RandomState* random) const override {
    run_code(call, op_code(call), outputs, no_tape, random_from(random));
  }
  const OpCode& code_of(const OpCall& call) const override { return op_code(call); }
  void run(const OpCall& call, const OpCode& code, std::span<Tensor> outputs, const RandomState* random,
           OpTape& tape) const override {
    const auto steps = [&](const Tensor& number) {
      return detail::TapeSteps{[&] { tape.begin(number); }, [&](const RandomState& r) { tape.finish(r); }};
    };
    run_code(call, code, outputs, steps, random_from(random));
  }
};

}  // namespace

const EagerMode& eager_mode() {
  static constinit const Eager mode;
  return mode;
}

}  // namespace kiln
