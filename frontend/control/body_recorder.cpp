// Records the body of a loop or branch.
#include "frontend/control/body_recorder.h"

#include "frontend/call/line.h"
#include "frontend/control/loop_values.h"
#include "frontend/trace/control_node.h"
#include "frontend/trace/traced_view.h"
#include "runtime/fail.h"

#include <algorithm>

namespace kiln {

using detail::TensorAccess;

namespace {

void check_defined(const std::vector<Tensor>& results, std::source_location where) {
  for (const Tensor& t : results)
    if (!t.defined()) fail("{}the body returned an undefined Tensor", line_prefix(where));
}

}  // namespace

Tensor BodyRecorder::variable(const Tensor& outer, bool row) {
  const ir::Entry& value = TensorAccess::array(outer)->value;
  const std::string name = fmt::format("{}-{}", value.node->name, value.output);
  const Shape& shape = TensorAccess::shape(outer);
  return trace_->input(name, {TensorAccess::dtype(outer), row ? detail::row_shape(shape) : shape});
}

BodyAliases BodyRecorder::aliases(const std::vector<Tensor>& results, std::source_location where,
                                  const std::vector<Tensor>& states) {
  check_defined(results, where);
  return aliases_of(*trace_, results, states);
}

ir::SubgraphPtr BodyRecorder::finish(const std::vector<Tensor>& results, std::source_location where,
                                     bool keep_unused, std::size_t stacked) {
  std::vector<Tensor> heads;
  std::vector<ir::Entry> seen, values;
  check_defined(results, where);
  for (const Tensor& result : results) values.push_back(value_of(trace_->resolve(result), where));
  for (std::size_t i = 0; i < results.size(); ++i) {
    Tensor head = trace_->resolve(results[i]);
    const ir::Entry value = value_of(head, where);
    const auto times = [&](const std::vector<ir::Entry>& list) {
      return std::count_if(list.begin(), list.end(), [&](const ir::Entry& e) {
        return e.node == value.node && e.output == value.output;
      });
    };
    const bool known = times(seen) > 0 || (i < stacked && times(values) > 2);
    if (value.node->is_variable() || known) {
      head = recorded_copy(head, where);
      value_of(head, where).node->copies_result = true;
    }
    seen.push_back(value_of(head, where));
    heads.push_back(head);
  }
  variables_ = trace_->input_variables();
  subgraph_ = trace_->finish(heads, keep_unused);
  for (const Captured& o : trace_->outside()) outside_.emplace(o.variable.get(), o.tensor);
  trace_.reset();
  return subgraph_;
}

Tensor BodyRecorder::outside(const ir::NodePtr& variable) const {
  const auto found = outside_.find(variable.get());
  return found == outside_.end() ? Tensor() : found->second;
}

std::int64_t BodyRecorder::position(const ir::NodePtr& variable) const {
  const auto& list = subgraph_->inputs;
  return std::find(list.begin(), list.end(), variable) - list.begin();
}

}  // namespace kiln
