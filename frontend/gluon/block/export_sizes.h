// The input extents that a recorded graph depends on.
#pragma once
#include "frontend/gluon/hybridize/cached_call.h"
#include "ir/attrs.h"

#include <kiln/block.h>

#include <set>
#include <string>
#include <vector>

/// Finds the input extents that a recorded graph depends on: records hybrid_forward again at larger extents
/// and compares the recordings. Detects arithmetic with `x.shape()`, but no condition whose outcome is the
/// same at all these extents.
namespace kiln {

/// The dependence of a recording on extents.
struct SizeDependence {
  /// Per input: the extents that the graph is limited to; no value: any.
  std::vector<ir::OptionalInts> fixed;
  /// One line per changed node: location, node, and its attribute at both sizes.
  std::vector<std::string> reasons;
  /// Names of elemwise nodes (`x + positions` for a batch of one) that other extents record as broadcasting
  /// ones. The file has the broadcasting operator, which computes the same where shapes are equal.
  std::set<std::string> broadcasts;
  bool any() const;
};

/// Traces hybrid_forward a few times, without hooks. `where`: the caller's location.
SizeDependence find_size_dependence(HybridBlock& block, const detail::TracedCall& recorded,
                                    std::source_location where);

}  // namespace kiln
