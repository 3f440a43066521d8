// A hybridized call that is an entry of the tape.
#include "frontend/call/call_site.h"
#include "frontend/call/random_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/tensor/elements.h"

#include <algorithm>

namespace kiln {

using detail::Array;
using detail::CallRecording;
using detail::TapeLink;
using detail::TensorAccess;
using detail::TracedCall;

bool TracedCall::part_with_history(std::span<const Tensor> inputs) const {
  const bool whole = std::all_of(in_place.begin(), in_place.end(), [&](const InPlace& w) {
    return TensorAccess::is_whole(argument(inputs, w.argument));
  });
  return !whole && (std::any_of(inputs.begin(), inputs.end(), detail::has_link) ||
                    std::any_of(captures.begin(), captures.end(),
                                [](const Capture& c) { return detail::has_link(c.whole()); }));
}

bool TracedCall::writes_variable(std::span<const Tensor> inputs) const {
  return std::any_of(in_place.begin(), in_place.end(), [&](const InPlace& w) {
    return !w.paused && detail::variable_of(argument(inputs, w.argument));
  });
}

std::optional<detail::CallRecording> TracedCall::recording(std::span<const Tensor> inputs,
                                                           std::source_location where) const {
  std::vector<Tensor> arguments;
  std::vector<TapeLink> links;
  bool any = false;
  if (where.line() == 0) where = CallSite::caller();
  for (std::size_t i = 0; i < inputs.size() + captures.size(); ++i) {
    arguments.push_back(argument(inputs, i));
    links.push_back(link_of(arguments.back(), where));
    any = any || links.back();
  }
  if (!any) return {};
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : arguments) pointers.push_back(&t);
  return CallRecording(gradient, pointers, links, where, joint);
}

std::uint64_t TracedCall::versions_of(const JointCode& code, std::span<const Tensor> inputs) const {
  std::uint64_t sum = 0;
  for (const std::uint32_t i : code.trained)
    sum += i < inputs.size() ? TensorAccess::array(inputs[i])->version()
                             : captures[i - inputs.size()].array->version();
  return sum;
}

void TracedCall::run_recorded(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                              std::source_location where) const {
  std::optional<CallRecording> recorded = recording(inputs, where);
  if (!recorded) return run_alone(inputs, outputs);
  const JointCode* const joint_code = recorded->joint();
  const auto forward = [&]() -> const Executable& {
    if (!joint_code->parameters_stay(versions_of(*joint_code, inputs))) return joint_code->forward();
    const CallSite site(std::nullopt, where);  // code that is compiled now has the line
    return joint_code->forward_prepacking();
  };
  detail::ArrayCall code(joint_code ? forward() : *executable);
  detail::ArgumentList arguments(code);
  fill_arguments(inputs, arguments);
  std::vector<std::shared_ptr<Array>> arrays;
  for (const TensorType& type : fresh) {
    arrays.push_back(std::make_shared<Array>(Buffer(type, code.device()), type.shape));
    code.set_result(arrays.size() - 1, *arrays.back());
  }
  if (joint_code) code.set_saved(recorded->saved_values().data());
  std::vector<Tensor> made;
  // The entry is open: it has chosen the code.
  const auto finish = [&](const RandomState& random) {
    for (std::size_t i = 0; i < fresh.size(); ++i)
      made.push_back(TensorAccess::make(arrays[i], 0, fresh[i].shape, fresh[i].dtype));
    for (const InPlace& w : in_place) made.push_back(argument(inputs, w.argument));
    recorded->finish(made, random);
  };
  const auto begin = [&] {
    if (code.writes_arguments()) end_history_of_states(inputs);
  };
  code.run(detail::TapeSteps{begin, finish}, reserve_random);
  fill_results(inputs, arrays, Made::taken, outputs);
  own_results(made, outputs);
}

}  // namespace kiln
