// Runs of many graphs, in several processes.
#pragma once
#include "gradient_check.h"

#include <kiln/pass_counts.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace graphs {

/// The outcome of a range of graphs.
struct Tally {
  std::uint64_t graphs = 0, nodes = 0, failed = 0;
  std::set<std::string> operators;
  std::vector<kiln::PassCount> passes;  ///< in the pipeline's order
  Coverage coverage = {};               ///< of checks of gradients

  void add(const Tally& other);
};

/// Runs each of the numbers of [0, count) in one of `jobs` processes, which begin with nothing of Kiln's, and
/// sums up what they came to. `run` gets a process's numbers one at a time, and a tally to add to. A process
/// that ends otherwise than by returning counts as a failure, and is reported with the number it was at.
/// To be called before the first use of Kiln. Throws std::system_error when no process can be made.
Tally in_processes(std::uint64_t count, std::uint64_t jobs,
                   const std::function<void(std::uint64_t, Tally&)>& run,
                   const std::function<void(Tally&)>& finish);

}  // namespace graphs
