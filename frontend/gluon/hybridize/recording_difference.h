// Differences between two recordings of one block.
#pragma once
#include "frontend/gluon/hybridize/cached_call.h"

#include <optional>
#include <string>

namespace kiln::detail {

/// A difference between two recordings of one block for one signature.
struct RecordingDifference {
  std::string node;      ///< "net0_dense0_fwd (FullyConnected)", or another subject
  std::string line;      ///< "net.cpp:12" of the node; may be empty
  std::string what;      ///< "the attribute scalar"
  std::string was, now;  ///< both values
};

/// The first difference, in program order, that changes the code; nothing if both compute the same. Names and
/// lines do not count.
std::optional<RecordingDifference> code_difference(const TracedCall& was, const TracedCall& now);
/// The same, and differences in captured arrays: another array, or one created by hybrid_forward with other
/// elements.
std::optional<RecordingDifference> recording_difference(const TracedCall& was, const TracedCall& now);

}  // namespace kiln::detail
