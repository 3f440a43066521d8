#include "frontend/eager/call_context.h"

#include "frontend/trace/trace.h"

#include <kiln/context.h>

#include <utility>

namespace kiln {

constinit thread_local CallContext detail::call_context;

bool is_training() { return CallContext::current().training; }

namespace autograd {
bool is_training() { return kiln::is_training(); }
TrainMode::TrainMode(bool train) : outer_(std::exchange(CallContext::current().training, train)) {}
TrainMode::~TrainMode() { CallContext::current().training = outer_; }
}  // namespace autograd
}  // namespace kiln
