// Loops and branches as programs call them: each is recorded as a node, or runs step by step.
#include "frontend/call/line.h"
#include "frontend/call/readable.h"
#include "frontend/call/trace.h"
#include "frontend/control/loop_values.h"
#include "frontend/control/record_control.h"
#include "frontend/control/run_control.h"
#include "frontend/control/structure.h"
#include "frontend/tensor/array.h"
#include "runtime/fail.h"

#include <kiln/control_flow.h>

#include <initializer_list>

namespace kiln {
namespace {

/// Whether to record: within a trace, or on Symbols.
bool recording(std::initializer_list<const F::Tensors*> lists, std::source_location where) {
  bool symbols = false, arrays = false;
  for (const F::Tensors* list : lists)
    for (const Tensor& t : *list) {
      if (!t.defined()) fail("{}a loop or branch was given an undefined Tensor", line_prefix(where));
      (detail::TensorAccess::array(t)->traced() ? symbols : arrays) = true;
    }
  if (Trace::current()) return true;
  if (symbols && arrays) fail_mixed(where);
  return symbols;
}

}  // namespace

LoopResults F::contrib::foreach (const StepBody& body, const Tensors& data, const Tensors& states,
                                 Where where) {
  if (data.empty()) fail("{}foreach needs data to go through", line_prefix(where));
  if (!body) fail("{}foreach needs a body", line_prefix(where));
  if (recording({&data, &states}, where)) return record_foreach(body, data, states, where);
  return run_foreach(body, data, states, where);
}

LoopResults F::contrib::while_loop(const Condition& condition, const LoopBody& body, const Tensors& variables,
                                   std::int64_t max_iterations, Where where) {
  if (max_iterations < 1)
    fail("{}while_loop needs max_iterations of at least 1, got {}", line_prefix(where), max_iterations);
  if (variables.empty()) fail("{}while_loop needs loop variables", line_prefix(where));
  if (!condition || !body) fail("{}while_loop needs a condition and a body", line_prefix(where));
  if (recording({&variables}, where)) return record_while(condition, body, variables, max_iterations, where);
  const auto structure = detail::Structure::of(variables, [&](const Tensors& v) {
    return detail::joined(record_while(condition, body, v, max_iterations, where));
  });
  Results results = run_while(condition, body, variables, max_iterations, where);
  if (!structure) return results;
  return detail::parted(structure->dependent(detail::joined(results), where), results.outputs.size());
}

F::Tensors F::contrib::cond(const Tensor& condition, const Branch& then, const Branch& otherwise,
                            Where where) {
  if (!then || !otherwise) fail("{}cond needs two branches", line_prefix(where));
  const Tensors tested{condition};
  if (recording({&tested}, where)) return record_cond(condition, then, otherwise, where);
  const auto structure = detail::Structure::of(
      {}, [&](const Tensors&) { return record_cond(condition, then, otherwise, where); });
  const Tensors results = run_cond(condition, then, otherwise, where);
  return structure ? structure->dependent(results, where) : results;
}

}  // namespace kiln
