#pragma once
#include "frontend/autograd/gradient_code.h"
#include "frontend/eager/invoke.h"
#include "runtime/executable.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

/// The compiled code of an eager call: one operator with its attributes and input types.
struct EagerEntry {
  std::string key;
  std::shared_ptr<const Executable> executable;
  std::vector<TensorType> outputs;  // the visible ones
  /// For backward passes of recorded calls; null if no gradient passes the operator.
  std::shared_ptr<const detail::GradientCode> gradient;
  /// The key has the addresses of bodies, so the entry keeps them alive.
  std::vector<ir::SubgraphPtr> bodies;
  /// The position of the input that replaces the attribute `scalar`, as an array of shape (1,). A scalar that
  /// varies is thus not compiled into the code each time.
  std::optional<std::size_t> number_input;
  /// Whether a call used it since the table last dropped entries.
  mutable std::atomic<bool> used{true};
};

/// The entry of a call, compiled at its first use in the process. Looked up by a key built on the stack:
/// first among the thread's recent entries, then in a table shared by all threads. The reference is valid
/// until the thread's next look-up.
const EagerEntry& eager_entry(const OpCall& call);

}  // namespace kiln
