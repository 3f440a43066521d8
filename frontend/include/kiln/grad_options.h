#pragma once
#include <kiln/export.h>

namespace kiln {

/// What backward() does with a gradient: nothing is computed, it replaces the stored one, or it is added to
/// that.
enum class GradReq { null, write, add };

namespace autograd {

struct BackwardOptions {
  /// Keep what was recorded, for another backward().
  bool retain_graph = false;
  /// The training mode of calls that are made meanwhile; recorded calls keep theirs.
  bool train = true;
};

}  // namespace autograd
}  // namespace kiln
