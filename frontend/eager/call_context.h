#pragma once
#include "frontend/tensor/random_state.h"

#include <kiln/device.h>

namespace kiln {

class CallSite;
class NumpyScope;
class Trace;

/// The thread state that an operator call depends on. A single thread-local variable, because each access to
/// one in a shared library costs a call. The scope classes modify it.
struct CallContext {
  Trace* trace = nullptr;             ///< records the call; null: eager
  bool training = false;              ///< autograd::TrainMode
  bool recording = false;             ///< autograd::Record
  const NumpyScope* numpy = nullptr;  ///< innermost
  const CallSite* site = nullptr;     ///< innermost
  RandomStream stream = RandomStream::program;
  RandomState* random_block = nullptr;  ///< reserved counters; null: take them from the stream
  Device device;                        ///< DeviceScope

  static CallContext& current();
};

namespace detail {
extern constinit thread_local CallContext call_context;
}
inline CallContext& CallContext::current() { return detail::call_context; }

}  // namespace kiln
