// Helpers of the networks of all families.
#pragma once

#include "frontend/call/line.h"

#include <kiln/model_zoo.h>

/// Helpers of all families.
namespace kiln::model_zoo::vision {

/// A sequence with an empty prefix: its children are named in the enclosing scope.
inline nn::HybridSequential sequence() { return nn::HybridSequential(BlockOptions{.prefix = ""}); }

inline nn::Activation relu() { return nn::Activation("relu"); }

}  // namespace kiln::model_zoo::vision
