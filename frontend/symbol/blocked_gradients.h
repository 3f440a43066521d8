#pragma once
#include "ir/graph.h"

#include <vector>

namespace kiln {

/// The graph with BlockGrad between nodes that are not recorded (ir::Node::recorded) and those that are, and
/// behind the outputs of others. A file has no other way to say it; with it, a gradient of the file is that
/// of the recording.
std::vector<ir::Entry> with_blocked_gradients(const std::vector<ir::Entry>& heads);

}  // namespace kiln
