// Writes through views.
#include "frontend/call/ended_value.h"
#include "frontend/call/trace.h"
#include "frontend/call/view_recorder.h"
#include "frontend/view/view.h"
#include "runtime/fail.h"

namespace kiln {

using detail::TensorAccess;

void write_view(const Tensor& view, const Tensor& value, std::source_location where) {
  write_part(view, view, value, where);
}

void write_part(const Tensor& view, const Tensor& part, const Tensor& value, std::source_location where) {
  if (TensorAccess::dtype(view) != TensorAccess::dtype(value) && TensorAccess::array(view)->shape_known)
    fail_internal("a value of {} is written into an array of {}", name_of(TensorAccess::dtype(value)),
                  name_of(TensorAccess::dtype(view)));
  Trace* const trace = Trace::current();
  check_known(view, trace, "a write changes", where);
  check_known(value, trace, "a write stores", where);
  if (trace)
    return traced_views().write(trace->resolve(view), trace->resolve(part), trace->resolve(value), where);
  recorder_of(view).write(view, part, value, where);
}

}  // namespace kiln
