#pragma once
#include "frontend/tensor/random_state.h"

namespace kiln {

class CallSite;
class NumpyScope;
class Trace;

/// What an operator call depends on besides its arguments: the scopes of the thread that makes it. One
/// thread-local variable, since each access to one of a shared library costs a call. The scopes' own classes
/// change it.
struct CallContext {
  Trace* trace = nullptr;             ///< records the call; null: it runs at once
  bool training = false;              ///< autograd::TrainMode
  const NumpyScope* numpy = nullptr;  ///< innermost
  const CallSite* site = nullptr;     ///< innermost
  RandomStream stream = RandomStream::program;
  RandomState* random_block = nullptr;  ///< counters that were taken before; null: the stream's next

  static CallContext& current();
};

namespace detail {
extern constinit thread_local CallContext call_context;
}
inline CallContext& CallContext::current() { return detail::call_context; }

}  // namespace kiln
