// Texts of Graphviz's dot format.
#pragma once
#include "ir/graph.h"

#include <string>
#include <string_view>

namespace kiln {

/// A quoted string; a line break in it begins a new line of a label.
std::string dot_quoted(std::string_view text);
/// Name, operator and attributes of a node.
std::string dot_label(const ir::Node& node);

}  // namespace kiln
