// The compiled code of operator calls, one for each operator, attributes and input types.
#pragma once
#include "frontend/call/mode.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace kiln {

/// The code of a call in the cache.
struct EagerEntry : OpCode {
  std::string key;
  /// The key has the addresses of bodies, so the entry keeps them alive.
  std::vector<ir::SubgraphPtr> bodies;
  /// Whether a call used it since the table last dropped entries.
  mutable std::atomic<bool> used{true};
};

/// The code of a call, compiled at its first use in the process. Looked up by a key built on the stack: first
/// among the thread's recent entries, then in a table shared by all threads. The reference is valid until the
/// thread's next look-up.
const OpCode& op_code(const OpCall& call);

}  // namespace kiln
