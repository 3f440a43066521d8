#pragma once
#include "frontend/gluon/hybridize/cached_call.h"
#include "ir/attrs.h"

#include <kiln/block.h>

#include <string>
#include <vector>

/// Whether a recorded graph means the same at other sizes of its inputs. hybrid_forward is recorded again at
/// larger extents, and the recordings are compared. This sees what the program computes from `x.shape()`; a
/// condition that none of these extents changes stays unseen.
namespace kiln {

/// What a recording depends on.
struct SizeDependence {
  /// By input: the extents that the graph is for; a hole is any.
  std::vector<ir::OptionalInts> fixed;
  /// A line for each node that another size changes: where, which, and its attribute at both sizes.
  std::vector<std::string> reasons;
  bool any() const;
};

/// Runs hybrid_forward a few times, on values to come; hooks do not run. `where`: the line that asks.
SizeDependence find_size_dependence(HybridBlock& block, const detail::TracedCall& recorded,
                                    std::source_location where);

}  // namespace kiln
