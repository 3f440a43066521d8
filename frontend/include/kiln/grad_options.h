// Options of gradients.
#pragma once
#include <kiln/export.h>

namespace kiln {

/// Treatment of a gradient by backward().
enum class GradReq {
  null,   ///< not computed
  write,  ///< replaces the stored one
  add,    ///< added to the stored one
};

namespace autograd {

/// Options of backward().
struct BackwardOptions {
  /// Keep the recorded calls, for another backward().
  bool retain_graph = false;
  /// The training mode of calls that are made meanwhile; recorded calls keep theirs.
  bool train = true;
};

}  // namespace autograd
}  // namespace kiln
