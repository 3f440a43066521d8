// Recorded blocks in the form of their nodes.
#pragma once
#include "frontend/autograd/tape.h"

/// Recorded blocks and their nodes.
namespace kiln::detail {

/// Replaces the entry of a recorded call of several nodes by one entry for each node; `expanded` then tells
/// where its outputs come from. A loop or branch has one for each call of a step. Values that the nodes'
/// gradients read are computed again from the call's saved values. Derivatives of gradients need it: the
/// chain of a value within the block has terms from both passes, which a block would add up separately.
void expand(TapeEntry& entry);

/// The saved contents of an input or output of the entry's body.
Tensor restored_input(const TapeEntry& entry, std::int64_t i);
Tensor restored_output(const TapeEntry& entry, std::int64_t i);
/// A tensor with the elements of `value` whose history is `link`: `value` itself where that is so.
Tensor with_history(const Tensor& value, const TapeLink& link);

}  // namespace kiln::detail
