// The remedies of recordings that a program can avoid.
#pragma once
#include <kiln/compiled_call.h>

#include <string>

namespace kiln::detail {

/// How a program avoids recordings for such a difference, as an imperative clause; empty if each value is
/// recorded once and no remedy is needed.
std::string remedy_for(const RecordingReason::Difference& difference);

}  // namespace kiln::detail
