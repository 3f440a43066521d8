#pragma once
#include <kiln/model_zoo.h>

/// What the families share.
namespace kiln::model_zoo::vision {

/// A sequence without a name of its own: its children are named in the scope that is open.
inline nn::HybridSequential sequence() { return nn::HybridSequential(BlockOptions{.prefix = ""}); }

inline nn::Activation relu() { return nn::Activation("relu"); }

}  // namespace kiln::model_zoo::vision
