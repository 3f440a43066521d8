// Recorded blocks in the form of their nodes.
#pragma once
#include "frontend/autograd/tape.h"

/// Recorded blocks and their nodes.
namespace kiln::detail {

/// Replaces the entry of a recorded call of several nodes by one entry for each node. TapeEntry::expanded
/// then has the entries that make its outputs. A loop or branch has an entry for each call of a step. Values
/// that the nodes' gradients read are computed again from the call's saved values.
///
/// Second derivatives need the expansion. The gradient of a value within the block then has terms from both
/// passes in one chain of additions, where a block would add up each pass separately.
void expand(TapeEntry& entry);

/// The saved contents of an input or output of the entry's body.
Tensor restored_input(const TapeEntry& entry, std::int64_t i);
Tensor restored_output(const TapeEntry& entry, std::int64_t i);
/// A tensor with the elements of `value` whose history is `link`: `value` itself if that is its history.
Tensor with_history(const Tensor& value, const TapeLink& link);

}  // namespace kiln::detail
