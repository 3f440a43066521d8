#pragma once
#include "frontend/gluon/hybridize/cached_call.h"

#include <optional>
#include <string>

namespace kiln::detail {

/// Where two recordings of one block for one signature part.
struct RecordingDifference {
  std::string node;      ///< "net0_dense0_fwd (FullyConnected)", or what else differs
  std::string line;      ///< "net.cpp:12" of the node; may be empty
  std::string what;      ///< "the attribute scalar"
  std::string was, now;  ///< both values
};

/// The first difference, in program order, that leads to other code; nothing where the code of one computes
/// what the code of the other does. Names and lines do not count.
std::optional<RecordingDifference> code_difference(const TracedCall& was, const TracedCall& now);
/// The same, and arrays that hybrid_forward captured: another one, or one that it made with other elements.
std::optional<RecordingDifference> recording_difference(const TracedCall& was, const TracedCall& now);

}  // namespace kiln::detail
