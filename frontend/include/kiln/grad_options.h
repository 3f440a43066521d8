// Options of gradients.
#pragma once
#include <kiln/export.h>

namespace kiln {

/// Treatment of a gradient by backward(): not computed, replaces the stored one, or added to it.
enum class GradReq { null, write, add };

namespace autograd {

struct BackwardOptions {
  /// Keep the recorded calls, for another backward().
  bool retain_graph = false;
  /// The training mode of calls that are made meanwhile; recorded calls keep theirs.
  bool train = true;
};

}  // namespace autograd
}  // namespace kiln
