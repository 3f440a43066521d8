// Recording an operator call: a node of a trace, or of a Symbol outside of any trace.

#include "frontend/trace/record.h"

#include "frontend/call/call_site.h"
#include "frontend/call/mode.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/naming.h"
#include "frontend/trace/traced_view.h"
#include "frontend/view/view.h"
#include "ir/graph.h"

#include <algorithm>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;

// An operator that updates a variable increments the entry's version, as in MXNet's files.
void count_aux_update(const ir::OpDef& op, std::size_t input, const Tensor& tensor, ir::Entry& entry) {
  if (!entry.node->is_variable()) return;
  if (std::find(op.aux.begin(), op.aux.end(), static_cast<int>(input)) == op.aux.end()) return;
  Array& array = *TensorAccess::array(tensor);
  if (Trace* const trace = Trace::current(); trace && is_training()) trace->will_update(array);
  entry.version = ++array.value.version;
}

std::string_view hint_of(const OpCall& call) {
  if (!NumpyScope::hint().empty()) return NumpyScope::hint();
  // Gluon's layers call npx in that mode: batch_flatten0, not flatten0.
  if (NumpyScope::program())
    for (std::string_view alias : call.op.aliases)
      if (alias.starts_with("_npx_")) return alias;
  return call.hint.empty() ? call.op.name : call.hint;
}

// If an auxiliary state is a view of a variable, or an array that the program made, the updated value is
// written to it.
void write_computed_states(const OpCall& call, Trace* trace, const ir::NodePtr& node) {
  const auto counted = static_cast<std::size_t>(call.op.outputs_counted(node->attrs));
  for (std::size_t k = 0; counted + k < node->types.size(); ++k) {
    const auto input = static_cast<std::size_t>(call.op.aux[k]);
    if (node->inputs[input].node->is_variable()) continue;
    const auto output = static_cast<std::uint32_t>(counted + k);
    const TensorType& type = node->types[output];
    auto array = std::make_shared<Array>(trace, ir::Entry{node, output, 0}, type.shape, true);
    write_view(*call.inputs[input], TensorAccess::make(std::move(array), 0, type.shape, type.dtype),
               call.where);
  }
}

bool infer(const ir::NodePtr& node, bool train) {
  std::vector<ir::NodePtr> order;
  for (const ir::Entry& e : node->inputs)
    if (e.node->is_variable() && std::find(order.begin(), order.end(), e.node) == order.end())
      order.push_back(e.node);
  order.push_back(node);
  return ir::infer_types(order, train).complete;
}

class TraceMode final : public Mode {
 public:
  Tensor first(const OpCall& call) const override { return record_node(call).at(0); }
  std::vector<Tensor> all(const OpCall& call) const override { return record_node(call); }
};

}  // namespace

const Mode& trace_mode() {
  static constinit const TraceMode mode;
  return mode;
}

std::vector<Tensor> record_node(const OpCall& call) {
  Trace* const trace = Trace::current();
  const ir::Attrs given = given_attrs(call);
  auto node = std::make_shared<ir::Node>();
  node->op = &call.op;
  node->op_name = std::string(call.op.name);
  node->attrs = call.op.complete(given);
  node->subgraphs.assign(call.bodies.begin(), call.bodies.end());
  for (const ir::Attrs::Item& item : given.items())
    node->attr_text[std::string(item.name)] = ir::to_text(item.value);
  node->location = CallSite::resolve(call.where);
  node->np_shape = call.np_shape;
  bool known = trace ? trace->shapes_known() : false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor t = trace ? trace->resolve(*call.inputs[i]) : *call.inputs[i];
    ir::Entry entry = value_of(t, call.where);
    count_aux_update(call.op, i, t, entry);
    node->inputs.push_back(std::move(entry));
  }
  node->name = NameScope::node_name(call.name, hint_of(call));
  CallTrace* const whole = trace ? trace->call() : nullptr;
  if (whole)
    whole->set_modes(node);
  else
    node->recorded = !trace || records_nodes();
  if (known) known = infer(node, whole ? whole->train() : is_training());
  if (trace) trace->record(node);
  if (known) write_computed_states(call, trace, node);

  std::vector<Tensor> out;
  for (int i = 0; i < call.op.outputs_visible(node->attrs); ++i) {
    const TensorType type = known ? node->types.at(static_cast<std::size_t>(i)) : TensorType{};
    const ir::Entry entry{node, static_cast<std::uint32_t>(i), 0};
    out.push_back(TensorAccess::make(std::make_shared<Array>(trace, entry, type.shape, known), 0, type.shape,
                                     type.dtype));
  }
  return out;
}

}  // namespace kiln
