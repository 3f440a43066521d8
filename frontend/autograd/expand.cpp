#include "frontend/autograd/expand.h"

#include "frontend/eager/invoke.h"
#include "frontend/trace/trace.h"
#include "ir/compose.h"
#include "runtime/fail.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::detail {
namespace {

struct Modes : autograd::detail::ModeScope {
  explicit Modes(bool training) : ModeScope(true, training) {}
};

bool has_elements(const Tensor& t) {
  return TensorAccess::array(t)->bytes() > 0 || TensorAccess::shape(t).elements() == 0;
}

/// A tensor of this type and history, without elements.
Tensor without_elements(const TensorType& type, const TapeLink& link) {
  Tensor t = TensorAccess::make(std::make_shared<Array>(Buffer(), type.shape), 0, type.shape, type.dtype);
  if (link) tape_of(*TensorAccess::array(t)).link = link;
  return t;
}

}  // namespace

const TapeLink& resolved(const TapeLink& link) {
  const TapeLink* at = &link;
  while (at->entry && !at->entry->expanded.empty()) at = &at->entry->expanded[at->output];
  return *at;
}

Tensor restored(const TapeEntry::Saved& saved) {
  const std::shared_ptr<Array> contents = saved.value->contents();
  if (!contents) fail_internal("the tape has lost an array");
  return TensorAccess::make(contents, saved.offset, saved.shape, saved.dtype);
}

Tensor restored(const TapeEntry::Saved& saved, const TapeLink& link) {
  const Tensor whole = restored(saved);
  if (!link || (has_link(whole) && link_of(whole, {}) == link)) return whole;
  const autograd::Pause pause(is_training());
  Tensor copy = whole.copy();
  tape_of(*TensorAccess::array(copy)).link = link;
  return copy;
}

void expand(TapeEntry& entry) {
  const ir::Subgraph& body = *entry.code->body();
  const Modes modes(entry.train);
  const NumberScope numbers(entry.number + 1 - entry.code->node_count());
  std::unordered_map<const ir::Node*, std::vector<Tensor>> values;
  for (std::size_t i = 0; i < body.inputs.size(); ++i)
    values[body.inputs[i].get()] = {without_elements(body.inputs[i]->types.at(0), entry.inputs[i])};
  for (std::size_t k = 0; k < entry.saved.inputs.size(); ++k) {
    const auto i = static_cast<std::size_t>(entry.saved.inputs[k]);
    values[body.inputs[i].get()] = {restored(entry.saved_inputs[k], entry.inputs[i])};
  }
  std::uint64_t draws = 0;
  for (const ir::NodePtr& ptr : body.nodes) {
    const ir::Node& node = *ptr;
    if (node.is_variable()) continue;
    std::vector<Tensor> inputs;
    for (const ir::Entry& e : node.inputs) inputs.push_back(values.at(e.node.get()).at(e.output));
    // What the call wrote stays as it wrote it.
    for (const int aux : node.op->aux)
      if (Tensor& t = inputs[static_cast<std::size_t>(aux)]; has_elements(t)) t = t.detach();
    std::vector<const Tensor*> pointers;
    for (const Tensor& t : inputs) pointers.push_back(&t);
    const OpCall call{.op = *node.op,
                      .inputs = pointers,
                      .given = node.attrs.items(),
                      .where = entry.where,
                      .bodies = node.subgraphs,
                      .np_shape = node.np_shape};
    const RandomState random{entry.random.seed, entry.random.counter + draws};
    draws += static_cast<std::uint64_t>(ir::random_draws(node, entry.train).count());
    const auto visible = static_cast<std::size_t>(node.op->outputs_visible(node.attrs));
    std::vector<Tensor>& out = values[&node];
    if (std::all_of(inputs.begin(), inputs.end(), has_elements)) {
      out.resize(visible);
      run_eagerly(call, out, &random);
      continue;
    }
    // No gradient reads these values, but for those that are saved as results of the block.
    std::vector<Tensor> given(visible);
    for (std::size_t k = 0; k < entry.saved.outputs.size(); ++k) {
      const ir::Entry& e = body.outputs[static_cast<std::size_t>(entry.saved.outputs[k])];
      if (e.node.get() == &node && e.output < visible) given[e.output] = restored(entry.saved_outputs[k]).detach();
    }
    out = record_on_tape(call, given);
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
