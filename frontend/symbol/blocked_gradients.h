// Gradients that a recording blocks, in a file's form.
#pragma once
#include "ir/graph.h"

#include <vector>

namespace kiln {

/// The graph with BlockGrad on each edge from a node that is not recorded (ir::Node::recorded) to one that
/// is, and after the outputs of other nodes that are not recorded. A file has no other way to say it. With
/// it, a gradient of the file is the gradient of the recording.
std::vector<ir::Entry> with_blocked_gradients(const std::vector<ir::Entry>& heads);

}  // namespace kiln
