// Tensor::reshape: a view, recorded with the program's codes.
#include "frontend/autograd/tape.h"
#include "frontend/call/invoke.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/call/readable.h"
#include "frontend/call/trace.h"
#include "frontend/ops/reshape_codes.h"
#include "frontend/trace/traced_view.h"
#include "frontend/view/derivation.h"
#include "runtime/fail.h"

namespace kiln {

using detail::Array;
using detail::TensorAccess;

namespace {

Shape reshaped(const Shape& from, const Shape& spec, bool numpy, std::source_location where) {
  try {
    return numpy ? ops::numpy_reshape_target(from, spec) : ops::reshape_target(from, spec);
  } catch (const Error& e) {
    fail("{}{}{}", line_prefix(where), numpy ? "" : "reshape: ", e.what());
  }
}

}  // namespace

Tensor Tensor::reshape(const Shape& spec, std::source_location where) const {
  if (!array_) known_shape(*this, "reshape()", where);
  const bool numpy = NumpyScope::program();
  if (!array_->traced()) {
    const Tensor view = view_of(*this, offset_, reshaped(shape_, spec, numpy, where), spec);
    // On the tape here, where a trace has its node.
    if (Trace* const trace = Trace::current()) {
      if (trace->shapes_known()) value_of(trace->resolve(view), where);
    } else if (detail::is_recording() && detail::has_link(view)) {
      detail::link_of(view, where);
    }
    return view;
  }
  // The node is recorded here, not at the first use, and with the program's codes, as by MXNet.
  CallAttributes<1> given;
  given.set(numpy ? "newshape" : "shape", ir::AttrValue(spec));
  const Tensor* inputs[] = {this};
  const OpCall call{.op = find_op_or_throw(numpy ? "_np_reshape" : "Reshape"),
                    .inputs = inputs,
                    .given = given.items(),
                    .where = where,
                    .hint = "reshape"};
  if (!array_->shape_known) return invoke_one(call);
  const Shape shape = reshaped(shape_, spec, numpy, where);
  const Tensor node = invoke_one(call);
  // Inside the body of a loop or branch, the node reads the variable of a captured array.
  Trace* const trace = Trace::current();
  const Tensor view = view_of(*this, offset_, shape, spec);
  const Tensor read = trace ? trace->resolve(view) : view;
  detail::Array& array = *TensorAccess::array(read);
  array.views.push_back({detail::ViewKey(read), array.value, TensorAccess::array(node)->value, /*cut=*/true});
  return view;
}

}  // namespace kiln
