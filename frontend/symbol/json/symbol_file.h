#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// What stands in a -symbol.json, before anybody asks what its operators mean.
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
  unsigned line = 0;  ///< where it begins in the file
};

struct FileGraph {
  std::vector<FileNode> nodes;
  std::vector<std::uint32_t> arg_nodes;
  std::vector<std::uint64_t> node_row_ptr;
  std::vector<FileEntry> heads;
  std::map<std::string, std::int64_t> attrs;  ///< the whole numbers among the graph's attributes
};

/// Reads the text of a file, of any version, or of a subgraph. What is read is well formed: nodes name only
/// nodes before them, or it throws, naming `file`, line, node and key. A few times the size of the text is
/// the most memory it takes, whatever the text says.
FileGraph parse_symbol_file(std::string_view text, const std::string& file);

/// The text that MXNet 1.9.1 writes, byte for byte. `subgraph`: without arguments of the graph.
std::string format_symbol_file(const FileGraph& graph);

}  // namespace kiln
