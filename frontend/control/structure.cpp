// Records loops and branches of a program as nodes, for their structure.
#include "frontend/control/structure.h"

#include "frontend/autograd/tape.h"
#include "frontend/call/op_call.h"
#include "frontend/tensor/view_scope.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/control_node.h"
#include "ir/differentiate.h"

#include <kiln/autograd.h>

#include <algorithm>

namespace kiln::detail {
namespace {

/// The history of a value that depends on `others` too.
TapeLink link_behind(const Tensor& value, const std::vector<Tensor>& others, std::source_location where) {
  if (others.empty()) return link_of(value, where);
  std::vector<const Tensor*> inputs{&value};
  for (const Tensor& t : others) inputs.push_back(&t);
  const ir::Attrs::Item given[] = {{"num_args", static_cast<std::int64_t>(inputs.size())}};
  const OpCall call{.op = find_op_or_throw("_depends_on"), .inputs = inputs, .given = given, .where = where};
  return link_of(record_on_tape(call), where);
}

}  // namespace

std::optional<Structure> Structure::of(const Tensors& inputs, const Recorded& recorded) {
  if (!is_recording()) return {};
  try {
    return Structure(inputs, recorded);
  } catch (...) {
    // Steps that run may do things that no graph can express, and steps that do not run may fail.
    return {};
  }
}

Structure::Structure(const Tensors& inputs, const Recorded& recorded)
    : values_(inputs), inputs_(inputs.size()) {
  const bool train = is_training();
  const autograd::Pause pause(train);
  const SubgraphNameScope names;
  CallTrace trace(/*recording=*/true);
  Tensors variables;
  for (const Tensor& t : inputs)
    variables.push_back(trace.input("variable", {TensorAccess::dtype(t), TensorAccess::shape(t)}));
  const ir::Graph graph = trace.finish(recorded(variables));
  for (const Captured& c : trace.captured()) values_.push_back(c.tensor);
  body_ = {graph.inputs, graph.nodes, graph.outputs};
  std::vector<TensorType> types;
  for (const ir::NodePtr& input : graph.inputs) types.push_back(input->types.at(0));
  for (std::size_t k = 0; k < values_.size(); ++k) {
    std::vector<bool>& reached = reached_.emplace_back();
    if (!has_history(values_[k])) continue;
    std::vector<bool> reaching(values_.size());
    reaching[k] = true;
    reached = ir::reached_outputs(body_, reaching, types, train);
  }
}

std::vector<Tensor> Structure::dependencies(std::size_t i) const {
  Tensors list;
  for (std::size_t k = 0; k < values_.size(); ++k)
    if (i < reached_[k].size() && reached_[k][i]) list.push_back(values_[k]);
  return list;
}

bool Structure::captures(const Tensor& t) const {
  return std::any_of(values_.begin() + static_cast<std::ptrdiff_t>(inputs_), values_.end(),
                     [&](const Tensor& v) { return TensorAccess::array(v) == TensorAccess::array(t); });
}

std::vector<Tensor> Structure::dependent(const Tensors& results, std::source_location where) const {
  std::vector<TapeLink> links;
  for (std::size_t i = 0; i < results.size(); ++i)
    links.push_back(link_behind(results[i], dependencies(i), where));
  // An array that the body made has the new history. One from outside keeps its own: the result is another
  // value in the same memory, or in new memory if the array has no history.
  Tensors all = results;
  std::vector<const Array*> made;
  std::vector<bool> done(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!links[i]) continue;
    const bool outside = captures(all[i]) || !TensorAccess::is_array(all[i]);
    if (outside && has_link(all[i])) continue;
    if (outside) all[i] = all[i].copy(where);
    Array& array = *TensorAccess::array(all[i]);
    if (std::find(made.begin(), made.end(), &array) != made.end()) continue;
    tape_of(array).link = links[i];
    made.push_back(&array);
    done[i] = true;
  }
  // The other results in such an array are separate values, also the ones without a history.
  const auto has_new_history = [&](const Tensor& t) {
    return std::find(made.begin(), made.end(), TensorAccess::array(t).get()) != made.end();
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!done[i] && (links[i] || has_new_history(all[i])))
      all[i] = own_value(all[i], links[i], ViewScope::call());
  return all;
}

}  // namespace kiln::detail
