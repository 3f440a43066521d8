#include "frontend/eager/invoke.h"

#include "frontend/autograd/tape.h"
#include "frontend/call/array_call.h"
#include "frontend/eager/call_site.h"
#include "frontend/eager/eager_cache.h"
#include "frontend/tensor/elements.h"
#include "frontend/tensor/random_state.h"
#include "frontend/trace/trace.h"
#include "runtime/check.h"
#include "runtime/fail.h"
#include "runtime/small_array.h"

#include <kiln/memory.h>

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>
#include <typeinfo>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;

std::string input_name(const ir::OpDef& op, std::size_t i) {
  if (op.variadic || i >= op.inputs.size()) return "number " + std::to_string(i);
  return "'" + std::string(op.inputs[i]) + "'";
}

// Whether a line is the program's: not that of a default argument which the standard library (std::function,
// std::make_shared), a header of Kiln or Kiln itself evaluates.
bool is_of_program(std::string_view file) {
  constexpr std::string_view here = std::source_location::current().file_name(), name = "eager/invoke.cpp";
  static_assert(here.ends_with(name));
  constexpr std::string_view library = here.substr(0, here.size() - name.size());
  return !file.starts_with(library) && file.find("/include/kiln/") == std::string_view::npos &&
         file.find("/include/c++/") == std::string_view::npos;
}

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

}  // namespace

ir::Attrs given_attrs(const OpCall& call) {
  ir::Attrs given;
  for (const ir::Attrs::Item& item : call.given) given.set(item.name, item.value);
  if (call.op.variadic && !call.op.count_attr.empty() && !given.find(call.op.count_attr))
    given.set(call.op.count_attr, static_cast<std::int64_t>(call.inputs.size() + call.op.bodies));
  return given;
}

std::string line_prefix(std::source_location where) {
  const std::source_location resolved = CallSite::resolve(where);
  if (!is_of_program(resolved.file_name())) return {};
  const std::string line = SourceLocation(resolved).str();
  return line.empty() ? line : line + ": ";
}

std::string_view place_of(std::string_view message) {
  const std::size_t end = message.find(": ");
  if (end == std::string_view::npos) return {};
  const std::string_view place = message.substr(0, end);
  const std::size_t colon = place.rfind(':');
  const bool is_place = colon != std::string_view::npos && colon + 1 < place.size() &&
                        place.find(' ') == std::string_view::npos &&
                        place.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return is_place ? message.substr(0, end + 2) : std::string_view();
}

void rethrow_at_line(std::source_location where) {
  const std::string line = line_prefix(where);
  try {
    throw;
  } catch (const Error& e) {
    // Exceptions of the program's own types are rethrown unchanged.
    if (line.empty() || typeid(e) != typeid(Error) || !place_of(e.what()).empty()) throw;
    throw Error(line + e.what(), e.kind());
  } catch (const std::bad_alloc&) {
    fail("{}out of memory: {} bytes are held by live arrays", line, memory_report().live_bytes);
  } catch (const std::length_error&) {  // of a container of more elements than there are addresses
    fail("{}out of memory: {} bytes are held by live arrays", line, memory_report().live_bytes);
  }
}

Device device_of(const OpCall& call) {
  return common_device(
      call.inputs, call.op.name, [&](std::size_t i) { return "the input " + input_name(call.op, i); },
      call.where);
}

const ir::OpDef& find_op_or_throw(std::string_view op_name) {
  const ir::OpDef* op = ir::find_op(op_name);
  if (!op) fail("this version of Kiln has no operator {}; `kiln ops` lists the operators", op_name);
  return *op;
}

namespace {

/// Whether the call must be recorded in `trace`, the thread's, or as a symbol. Throws for undefined tensors
/// and for values of a finished trace.
bool must_record(const OpCall& call, Trace* trace) {
  bool record = trace != nullptr;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Array* array = TensorAccess::array(*call.inputs[i]).get();
    if (!array) {
      fail("{}{}: the input {} is an undefined Tensor (made by Tensor() and never assigned)",
           line_prefix(call.where), call.op.name, input_name(call.op, i));
    }
    if (!array->traced()) continue;
    record = true;
    const bool known_here =
        array->trace ? trace && trace->sees(*array) : !trace || !trace->shapes_known() || trace->sees(*array);
    if (!known_here) {
      fail(
          "{}{}: the input {} is <Symbol {}>, a value of another trace: it has no elements here. A tensor "
          "made inside "
          "hybrid_forward must not be kept and used after it; return it instead",
          line_prefix(call.where), call.op.name, input_name(call.op, i), array->value.node->name);
    }
  }
  return record;
}

/// Whether the call is an entry of the tape, on a thread that records.
bool has_history(const OpCall& call) {
  return std::any_of(call.inputs.begin(), call.inputs.end(),
                     [](const Tensor* t) { return detail::has_link(*t); });
}

/// The inputs of a recorded call, with their links.
struct RecordedInputs {
  /// Makes the links of views, too: not between a look-up of an entry and its use.
  explicit RecordedInputs(const OpCall& call)
      : count(call.inputs.size()), inputs(count + 1), links(count + 1) {
    for (std::size_t i = 0; i < count; ++i) {
      inputs[i] = call.inputs[i];
      links[i] = detail::link_of(*call.inputs[i], call.where);
    }
  }

  /// `number`: the number that the code takes as an array, if it does.
  detail::CallRecording record(const OpCall& call, const EagerEntry& entry, const Tensor& number) {
    if (number.defined()) {
      const std::size_t at = *entry.number_input;
      inputs[count] = &number;
      std::rotate(inputs.begin() + at, inputs.begin() + count, inputs.end());
      std::rotate(links.begin() + at, links.begin() + count, links.end());
      ++count;
    }
    return {entry.gradient, {inputs.data(), count}, {links.data(), count}, CallSite::resolve(call.where)};
  }

  std::size_t count;
  SmallArray<const Tensor*, 5> inputs;  // with a place for the number
  SmallArray<detail::TapeLink, 5> links;
};

/// The arrays that an operator updates in place. Their new contents are constants, as those of a recorded
/// update are. An array with a gradient attached stays one.
void end_histories(const OpCall& call, const ExecutablePlan& plan) {
  for (const ExecutablePlan::WriteBack& w : plan.write_backs)
    if (const Tensor& t = *call.inputs[w.input]; detail::has_link(t) && !detail::variable_of(t))
      detail::record_write(t, Tensor(), /*has_rest=*/false, call.where);
}

/// A call that is no entry of the tape.
struct Unrecorded {
  void begin(const Tensor&) const {}
  void finish(const RandomState&) const {}
};

/// A call that is one, unless no gradient passes its operator.
struct Recorded {
  const OpCall& call;
  const EagerEntry& entry;
  RecordedInputs& inputs;
  std::span<const Tensor> outputs;  ///< all of them
  std::optional<detail::CallRecording> recording = {};

  void begin(const Tensor& number) {
    if (entry.gradient) recording = inputs.record(call, entry, number);
  }
  void finish(const RandomState& random) {
    if (recording) recording->finish(outputs, random);
  }
};

/// Runs the code of a call. `tape.begin(number)` is called with the number that the code takes as an array,
/// if it does; random numbers start from what `reserve` returns.
template <class Tape, class Reserve>
void run_entry(const OpCall& call, const EagerEntry& entry, std::span<Tensor> outputs, Tape&& tape,
               Reserve&& reserve) {
  if (outputs.size() > entry.outputs.size())
    fail_internal("{} has {} outputs, {} were requested", call.op.name, entry.outputs.size(), outputs.size());
  detail::ArrayCall code(*entry.executable);
  std::size_t place = 0;
  for (const Tensor* t : call.inputs) {
    if (place == entry.number_input) ++place;
    code.set_argument(place++, *t);
  }
  Tensor number;
  if (entry.number_input) {
    number = number_tensor(call);
    code.set_argument(*entry.number_input, number);
  }
  std::vector<Buffer> unwanted;
  for (std::size_t i = 0; i < code.result_count(); ++i) {
    const TensorType& type = entry.outputs[i];
    if (i < outputs.size())
      outputs[i] = code.make_result(i, type);
    else
      code.set_result(i, unwanted.emplace_back(type, code.device()));
  }
  // The end of a history may look up other code, which may end this entry.
  std::shared_ptr<const Executable> writing;
  if (code.writes_arguments() && !entry.number_input) [[unlikely]]
    writing = entry.executable;
  const auto begin = [&] {
    tape.begin(number);
    if (writing) [[unlikely]]
      end_histories(call, writing->plan());
  };
  try {
    code.run(detail::TapeSteps{begin, [&](const RandomState& random) { tape.finish(random); }}, reserve);
  } catch (const ValueError& e) {
    // An eager operator's code is shared by all lines that call it. A body belongs to this call and has its
    // own lines.
    if (!call.bodies.empty()) throw;
    throw Error(line_prefix(call.where) + e.message());
  }
}

/// A call that is an entry of the tape too, which knows all outputs.
void run_recorded(const OpCall& call, std::span<Tensor> wanted, const RandomState* random) {
  RecordedInputs inputs(call);
  const EagerEntry& entry = eager_entry(call);
  SmallArray<Tensor, 2> all(entry.outputs.size());
  const std::span<Tensor> outputs(all.data(), all.size());
  run_entry(call, entry, outputs, Recorded{call, entry, inputs, outputs},
            [&](std::int64_t draws) { return random ? *random : reserve_random(draws); });
  std::move(outputs.begin(), outputs.begin() + wanted.size(), wanted.begin());
}

}  // namespace

void run_eagerly(const OpCall& call, std::span<Tensor> outputs, const RandomState* random) {
  if (detail::is_recording() && has_history(call)) return run_recorded(call, outputs, random);
  const EagerEntry& entry = eager_entry(call);
  if (random)
    run_entry(call, entry, outputs, Unrecorded(), [&](std::int64_t) { return *random; });
  else
    run_entry(call, entry, outputs, Unrecorded(), reserve_random);
}

Tensor record_on_tape(const OpCall& call) {
  RecordedInputs inputs(call);
  const EagerEntry& entry = eager_entry(call);
  const TensorType& type = entry.outputs.at(0);
  Tensor out = TensorAccess::make(std::make_shared<Array>(Buffer::none(device_of(call)), type.shape), 0,
                                  type.shape, type.dtype);
  inputs.record(call, entry, {}).finish({&out, 1}, {});
  return out;
}

Tensor invoke_one(const OpCall& call) {
  return at_line(call.where, [&]() -> Tensor {
    // The thread's state is read once: each access costs a call.
    const CallContext& context = CallContext::current();
    if (must_record(call, context.trace)) return record_node(call).at(0);
    Tensor out;
    if (context.recording && has_history(call)) [[unlikely]]
      run_recorded(call, {&out, 1}, nullptr);
    else
      run_entry(call, eager_entry(call), {&out, 1}, Unrecorded(), reserve_random);
    return out;
  });
}

std::vector<Tensor> invoke_all(const OpCall& call) {
  return at_line(call.where, [&]() -> std::vector<Tensor> {
    if (must_record(call, Trace::current())) return record_node(call);
    std::vector<Tensor> out(eager_entry(call).outputs.size());
    run_eagerly(call, out);
    return out;
  });
}

std::vector<Tensor> invoke(const ir::OpDef& op, std::span<const Tensor> inputs, const ir::Attrs& given,
                           std::source_location where, std::string name,
                           std::span<const ir::SubgraphPtr> bodies, bool np_shape) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return invoke_all({.op = op,
                     .inputs = pointers,
                     .given = given.items(),
                     .where = where,
                     .bodies = bodies,
                     .name = name,
                     .np_shape = np_shape});
}

Tensor invoke(std::string_view op_name, std::initializer_list<Tensor> inputs, const ir::Attrs& given,
              std::source_location where, std::string name) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return invoke_one({.op = find_op_or_throw(op_name),
                     .inputs = pointers,
                     .given = given.items(),
                     .where = where,
                     .name = name,
                     .hint = op_name});
}

}  // namespace kiln
