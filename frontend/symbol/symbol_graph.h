#pragma once
#include "frontend/symbol/json/symbol_file.h"
#include "ir/graph.h"

#include <string>
#include <vector>

/// Between a -symbol.json and the operator graph.
namespace kiln {

/// What a symbol file means: the outputs of a graph.
struct SymbolGraph {
  std::vector<ir::Entry> heads;
};

/// The nodes of a file, brought up to date if an older MXNet wrote it. Attributes and numbers of inputs are
/// checked where Kiln has the operator; nodes of other operators are kept. Throws naming file and node.
SymbolGraph build_symbol_graph(const FileGraph& file_graph, const std::string& file);
SymbolGraph parse_symbol_graph(std::string_view text, const std::string& file);

/// The file of a graph, as MXNet 1.9.1 numbers and counts it.
FileGraph to_file_graph(const SymbolGraph& graph);

/// Whether one of the nodes was composed in MXNet's numpy mode, and so a file of them is one of that mode.
bool in_numpy_mode(const std::vector<ir::NodePtr>& nodes);

/// The same outputs without amp_cast and amp_multicast nodes.
std::vector<ir::Entry> without_amp_casts(const std::vector<ir::Entry>& heads);

/// Throws for the first node whose operator Kiln does not have, naming it, its operator and the operator
/// nearest to it. `file` may be empty.
void require_known_operators(const std::vector<ir::NodePtr>& nodes, const std::string& file);

/// Whether a node updates its input number i.
bool is_auxiliary_input(const ir::Node& node, std::size_t i);

}  // namespace kiln
