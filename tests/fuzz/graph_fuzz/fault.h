// The checks of random graphs.
#pragma once
#include "gradient_check.h"
#include "graphs/graph.h"

#include <optional>
#include <string>
#include <string_view>

namespace graphs {

/// Which checks a graph gets: all get some, and its number says which of the others.
struct Checks {
  std::uint64_t number = 0;
  std::uint64_t cpus_every = 1;  ///< one graph in this number is run on every instruction set; 0: none
  bool gradients = false;        ///< of its gradients instead
  bool gpu = false;              ///< compiled on the first GPU alone, against the CPU
};

/// The fault of a graph; nothing when all is well. Eager and compiled runs on one and two threads must give
/// the same bits, on every instruction set of the machine. Some graphs are also run without fusion, as a
/// SymbolBlock, and in a block that writes through views. Its file must be read as it was written. A GPU must
/// give the bits of the CPU. One graph in five has Precision::bf16. `coverage`: counts of the features that
/// checks of gradients met.
std::optional<std::string> fault(const Graph& graph, const Checks& checks, Coverage* coverage = nullptr);

/// A fault's text without names and numbers, which change as a graph gets smaller.
std::string_view kind_of(std::string_view text);

/// Prints the fault of a graph, and the graph reduced to what the fault needs as JSON and as a program.
void report(const Graph& graph, const Checks& checks, const std::string& text);

}  // namespace graphs
