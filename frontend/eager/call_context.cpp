#include "frontend/eager/call_context.h"

#include "frontend/trace/trace.h"

namespace kiln {

constinit thread_local CallContext detail::call_context;

bool is_training() { return CallContext::current().training; }

}  // namespace kiln
