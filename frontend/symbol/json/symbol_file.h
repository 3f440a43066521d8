// The contents of a -symbol.json, without the semantics of its operators.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The contents of a -symbol.json, without the semantics of its operators.
namespace kiln {

struct FileEntry {
  std::uint32_t node = 0, output = 0, version = 0;
};

struct FileGraph;

struct FileNode {
  std::string op, name;
  std::map<std::string, std::string> attrs;
  std::vector<FileEntry> inputs;
  std::vector<std::uint32_t> control_deps;
  std::vector<FileGraph> subgraphs;
  unsigned line = 0;  ///< line in the file
};

struct FileGraph {
  std::vector<FileNode> nodes;
  std::vector<std::uint32_t> arg_nodes;
  std::vector<std::uint64_t> node_row_ptr;
  std::vector<FileEntry> heads;
  std::map<std::string, std::int64_t> attrs;  ///< the graph's integer attributes
};

/// Parses a file of any version, or a subgraph. Validates that nodes refer only to earlier nodes. Throws,
/// naming `file`, line, node and key. Allocates at most a few times the size of the text.
FileGraph parse_symbol_file(std::string_view text, const std::string& file);

/// The JSON text, byte-identical to MXNet 1.9.1's. `subgraph`: without the graph's attributes.
std::string format_symbol_file(const FileGraph& graph);

}  // namespace kiln
