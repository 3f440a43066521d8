// Computes the nodes of a recorded block again, each with an entry of the tape.
#include "frontend/autograd/expand.h"

#include "frontend/autograd/control_steps.h"
#include "frontend/autograd/function_call.h"
#include "frontend/call/invoke.h"
#include "frontend/tensor/elements.h"
#include "ir/compose.h"
#include "runtime/fail.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::detail {
namespace {

struct Modes : autograd::detail::ModeScope {
  explicit Modes(bool training) : ModeScope(true, training) {}
};

Tensor restored(const TapeEntry::Saved& saved, const TensorType& type) {
  const std::shared_ptr<Array> contents = saved.value ? saved.value->contents() : nullptr;
  if (!contents) fail_internal("the tape has lost an array");
  return TensorAccess::make(contents, saved.offset, type.shape, type.dtype);
}

/// The place of `i` among the numbers of saved values.
std::size_t place_of(const std::vector<std::int64_t>& numbers, std::int64_t i) {
  const auto found = std::find(numbers.begin(), numbers.end(), i);
  if (found == numbers.end()) fail_internal("the tape has not saved a value that a gradient reads");
  return static_cast<std::size_t>(found - numbers.begin());
}

}  // namespace

Tensor restored_input(const TapeEntry& entry, std::int64_t i) {
  return restored(entry.saved[place_of(entry.uses->inputs, i)],
                  entry.code->body()->inputs[static_cast<std::size_t>(i)]->types.at(0));
}

Tensor restored_output(const TapeEntry& entry, std::int64_t i) {
  const ir::Entry& e = entry.code->body()->outputs[static_cast<std::size_t>(i)];
  return restored(entry.saved[entry.uses->inputs.size() + place_of(entry.uses->outputs, i)],
                  e.node->types.at(e.output));
}

namespace {

/// A copy with this history, or with none.
Tensor copy_with(const TapeLink& link, const Tensor& value) {
  const autograd::Pause pause(is_training());
  Tensor copy = value.copy();
  tape_of(*TensorAccess::array(copy)).link = link;
  return copy;
}

}  // namespace

Tensor with_history(const Tensor& value, const TapeLink& link) {
  if (!has_link(value)) return link ? copy_with(link, value) : value;
  // A view would be a separate value in each step and branch that reads it.
  const bool has_it = TensorAccess::is_array(value) && link_of(value, {}) == link;
  return has_it ? value : copy_with(link, value);
}

namespace {

/// The results of a node that the call has saved, by output; undefined: not saved. To compute them again may
/// need inputs that are not saved.
std::vector<Tensor> saved_results(const TapeEntry& entry, const ir::Node& node) {
  std::vector<Tensor> results(static_cast<std::size_t>(node.op->outputs_visible(node.attrs)));
  for (const std::int64_t i : entry.uses->outputs) {
    const ir::Entry& e = entry.code->body()->outputs[static_cast<std::size_t>(i)];
    if (e.node.get() == &node && e.output < results.size()) results[e.output] = restored_output(entry, i);
  }
  return results;
}

}  // namespace

void expand(TapeEntry& entry) {
  const ir::Subgraph& body = *entry.code->body();
  const Modes modes(entry.train);
  const DeviceScope device(entry.device);
  const PrecisionScope precision(entry.code->precision());
  const NumberScope numbers(entry.number + 1 - entry.code->entries());
  std::unordered_map<const ir::Node*, std::vector<Tensor>> values;
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    // No gradient reads the elements of an input that is not saved, nor values computed from them.
    const auto number = static_cast<std::int64_t>(i);
    const bool saved =
        std::find(entry.uses->inputs.begin(), entry.uses->inputs.end(), number) != entry.uses->inputs.end();
    const TensorType& type = body.inputs[i]->types.at(0);
    const Tensor input = saved ? restored_input(entry, number) : filled(type, 0, entry.device);
    values[body.inputs[i].get()] = {with_history(input, entry.inputs[i])};
  }
  std::uint64_t draws = 0;
  for (const ir::NodePtr& ptr : body.nodes) {
    const ir::Node& node = *ptr;
    if (node.is_variable()) continue;
    std::vector<Tensor> inputs;
    for (const ir::Entry& e : node.inputs) inputs.push_back(values.at(e.node.get()).at(e.output));
    // States that the call wrote keep their new contents.
    for (const int aux : node.op->aux) {
      Tensor& state = inputs[static_cast<std::size_t>(aux)];
      state = copy_with(link_of(state, entry.where), state);
    }
    const NodeModes of_node(node);
    const RandomState random{entry.random.seed, entry.random.counter + draws};
    draws += static_cast<std::uint64_t>(ir::random_draws(node, entry.train).count());
    const std::vector<Tensor> known = saved_results(entry, node);
    std::vector<Tensor>& out = values[&node];
    if (node.op->shares_sum) {
      const TapeLink link = link_of(inputs[0], entry.where);
      const bool saved = !known.empty() && known[0].defined();
      out = {saved ? copy_with(link, known[0]) : with_history(inputs[1], link)};
      continue;
    }
    if (is_control_flow(node)) {
      const RandomBlock block(random);
      out = run_steps(node, inputs, entry.where);
      for (std::size_t k = 0; k < known.size(); ++k)
        if (known[k].defined()) out[k] = copy_with(link_of(out[k], entry.where), known[k]);
      continue;
    }
    if (node.op->name == "_function") {
      const RandomBlock block(random);
      out = run_function(function_call(node, known, entry.where), inputs, entry.where);
      continue;
    }
    std::vector<const Tensor*> pointers;
    for (const Tensor& t : inputs) pointers.push_back(&t);
    const OpCall call{.op = *node.op,
                      .inputs = pointers,
                      .given = node.attrs.items(),
                      .where = entry.where,
                      .bodies = node.subgraphs,
                      .np_shape = node.np_shape};
    out.resize(known.size());
    run_on_arrays(call, out, &random);
    for (std::size_t k = 0; k < out.size(); ++k)
      if (known[k].defined()) copy_elements(out[k], known[k]);
    if (node.op->aux.empty()) continue;
    // The updated states come after all outputs.
    out.resize(static_cast<std::size_t>(node.op->outputs_counted(node.attrs)));
    for (const int aux : node.op->aux) out.push_back(inputs[static_cast<std::size_t>(aux)].detach());
  }
  std::vector<TapeLink> expanded;
  for (const ir::Entry& e : body.outputs) {
    const std::vector<Tensor>& of = values.at(e.node.get());
    expanded.push_back(e.output < of.size() ? link_of(of[e.output], entry.where) : TapeLink());
  }
  entry.consume();
  entry.consumed = false;
  entry.expanded = std::move(expanded);
}

}  // namespace kiln::detail
