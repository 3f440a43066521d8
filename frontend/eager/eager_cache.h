#pragma once
#include "frontend/eager/invoke.h"
#include "runtime/executable.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

/// The code for one operator with given attributes on inputs of given types: what an eager call needs to run.
struct EagerEntry {
  std::string key;
  std::shared_ptr<const Executable> executable;
  std::vector<TensorType> outputs;  // the visible ones
  /// The key names bodies by address, so the entry keeps them.
  std::vector<ir::SubgraphPtr> bodies;
  /// The code takes the attribute `scalar` as an array of shape (1,), so that a number that varies is not
  /// compiled in each time: that argument's place among the inputs.
  std::optional<std::size_t> number_input;
  /// Whether a call used it since the table last made room.
  mutable std::atomic<bool> used{true};
};

/// The entry for a call, compiled if this is its first of the kind in the process. Looked up by a key built
/// on the stack, first among the thread's own recent entries, then in a table shared by all threads. The
/// reference is good until the thread's next look-up.
const EagerEntry& eager_entry(const OpCall& call);

}  // namespace kiln
