#include "frontend/eager/call_context.h"

#include "frontend/trace/trace.h"
#include "runtime/accelerator.h"

#include <utility>

namespace kiln {

constinit thread_local CallContext detail::call_context;

bool is_training() { return CallContext::current().training; }

DeviceScope::DeviceScope(Device device) : outer_(CallContext::current().device) {
  (void)accelerator_of(device);
  CallContext::current().device = device;
}
DeviceScope::~DeviceScope() { CallContext::current().device = outer_; }
Device DeviceScope::current() { return CallContext::current().device; }

}  // namespace kiln
