// The scopes that modify a thread's state of calls.

#include "frontend/call/call_context.h"

#include "frontend/call/line.h"
#include "ir/graph.h"
#include "runtime/accelerator.h"

#include <utility>

namespace kiln {

constinit thread_local CallContext detail::call_context;

RecordingScopeIs::RecordingScopeIs(RecordingScope scope)
    : outer_(std::exchange(CallContext::current().scope, scope)) {}
RecordingScopeIs::~RecordingScopeIs() { CallContext::current().scope = outer_; }

NodeModes::NodeModes(const ir::Node& node)
    : training_(CallContext::current().training),
      recording_(CallContext::current().recording),
      scope_(CallContext::current().scope) {
  CallContext& now = CallContext::current();
  now.training = node.train.value_or(training_);
  if (!node.recorded) {
    now.recording = false;
    now.scope = RecordingScope::pause;
  }
  if (node.precision) precision_.emplace(*node.precision);
}
NodeModes::~NodeModes() {
  CallContext& now = CallContext::current();
  now.training = training_;
  now.recording = recording_;
  now.scope = scope_;
}

bool is_training() { return CallContext::current().training; }

DeviceScope::DeviceScope(Device device, std::source_location where) : outer_(CallContext::current().device) {
  at_line(where, [&] { (void)accelerator_of(device); });
  CallContext::current().device = device;
}
DeviceScope::~DeviceScope() { CallContext::current().device = outer_; }
Device DeviceScope::current() { return CallContext::current().device; }

}  // namespace kiln
