#include "frontend/trace.h"

#include <kiln/context.h>

namespace kiln {
namespace {
thread_local bool training = false;
}

bool is_training() { return training; }

namespace autograd {
bool is_training() { return training; }
TrainMode::TrainMode(bool train) : outer_(training) { training = train; }
TrainMode::~TrainMode() { training = outer_; }
}  // namespace autograd
}  // namespace kiln
