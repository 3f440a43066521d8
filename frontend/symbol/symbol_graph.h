// Conversion between a -symbol.json and the operator graph.
#pragma once
#include "frontend/symbol/json/symbol_file.h"
#include "ir/graph.h"

#include <string>
#include <vector>

/// Conversion between a -symbol.json and the operator graph.
namespace kiln {

/// The graph of a symbol file: its outputs.
struct SymbolGraph {
  std::vector<ir::Entry> heads;
};

/// Builds the nodes of a file, upgraded from older versions. Validates attributes and numbers of inputs of
/// known operators; keeps nodes of unknown ones. Throws, naming file and node.
SymbolGraph build_symbol_graph(const FileGraph& file_graph, const std::string& file);
SymbolGraph parse_symbol_graph(std::string_view text, const std::string& file);

/// The file of a graph, numbered as by MXNet 1.9.1.
FileGraph to_file_graph(const SymbolGraph& graph);

/// Whether a node was composed in MXNet's numpy mode; the file then has that mode.
bool in_numpy_mode(const std::vector<ir::NodePtr>& nodes);

/// Removes amp_cast and amp_multicast nodes.
std::vector<ir::Entry> without_amp_casts(const std::vector<ir::Entry>& heads);

/// "FILE, line 3: node 2 'fc' (FullyConnected)" or "...: variable 'data'", for messages.
std::string place_in_file(const std::string& file, const ir::Node& node, std::size_t number);

/// Throws if nodes have unknown operators, in subgraphs too: names each of these, the nearest known operator,
/// how many nodes have it and the first. `file` may be empty.
void require_known_operators(const std::vector<ir::NodePtr>& nodes, const std::string& file);

/// Whether input i is an auxiliary state: a node updates it, or would in training.
bool is_auxiliary_input(const ir::Node& node, std::size_t i);

}  // namespace kiln
