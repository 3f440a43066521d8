// Comparison of eager and compiled runs of a graph.
#pragma once
#include "graphs/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace graphs {

/// The outcome of a run: its outputs and, in training, the auxiliary states, with their names for messages.
struct Result {
  std::vector<kiln::Tensor> arrays;
  std::vector<std::string> names;
};

/// A graph made ready in one mode. Its inputs are copies of the variables' values.
class Runner {
 public:
  Runner(const Graph& graph, kiln::RunMode mode, bool fuse = true, kiln::Device device = {});
  /// On at most this number of threads, beginning with the graph's seed.
  Result run(int threads);
  /// Other values for the variables named, of the same shapes and dtypes.
  void set(const std::map<std::string, kiln::Tensor>& values);

 private:
  std::map<std::string, kiln::Tensor> inputs_;
  std::vector<std::string> names_;
  std::uint64_t seed_;
  bool train_;
  std::optional<kiln::PreparedModel> prepared_;
};

/// The first element whose bits differ, all NaNs counting as one; nothing when there is none.
std::optional<std::string> first_difference(const Result& expected, const Result& actual);

struct Comparison {
  bool valid = true;       ///< false: not a graph that Kiln takes, and Kiln said so in both modes
  std::string error = {};  ///< why it is not valid
  std::optional<std::string> difference = {};
};

/// Runs a graph eagerly, and compiled on one and two threads, on its values and then on each of `more`. An
/// exception is a difference too, if it is no error for users or if the other mode does not throw it. On
/// another device than the CPU, compiled runs there alone, where threads make no difference.
Comparison compare(const Graph& graph, const std::vector<std::map<std::string, kiln::Tensor>>& more = {},
                   bool fuse = true, kiln::Device device = {});

}  // namespace graphs
