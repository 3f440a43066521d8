// C++ programs that compute the nodes of one kernel.
#pragma once
#include "ir/graph.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kiln {

/// The nodes of the graphs of a page: by name, and which of their outputs others use.
class PageNodes {
 public:
  /// Adds a graph with its bodies. `is_parameter`, by input, may be shorter than the list. `train`: in
  /// training mode.
  void add(const std::vector<ir::NodePtr>& inputs, const std::vector<bool>& is_parameter,
           const std::vector<ir::NodePtr>& nodes, const std::vector<ir::Entry>& outputs, bool train);

  /// Operators, in the order of the graphs.
  const std::vector<ir::NodePtr>& operators() const { return operators_; }
  /// The number of the operator with this name, and at this line if several have it; -1: none.
  int find(const std::string& name, const std::string& file, unsigned line) const;
  bool is_parameter(const ir::Node& variable) const { return parameters_.contains(&variable); }
  /// The types of the outputs, as far as they are known. A node of a body of a file has none of its own.
  const std::vector<TensorType>& types_of(const ir::Node& node) const;
  /// Whether a node that is not in `inside`, or the result of a graph, is this output.
  bool is_used_outside(const ir::Entry& e, const std::unordered_set<const ir::Node*>& inside) const;

 private:
  void add_nodes(const std::vector<ir::NodePtr>& nodes);

  std::vector<ir::NodePtr> operators_;
  std::unordered_multimap<std::string, std::size_t> by_name_;
  std::unordered_map<const ir::Node*, std::vector<TensorType>> body_types_;
  std::unordered_set<const ir::Node*> seen_, parameters_;
  struct Use {
    std::uint32_t output;
    const ir::Node* user;  ///< null: a result
  };
  std::unordered_multimap<const ir::Node*, Use> uses_;
};

/// The program that computes some operators of the page and prints the times of their kernels; or, where
/// there is none, the reason.
struct Reproducer {
  std::string program, because;
};
struct ReproducerOptions {
  std::string kernel;                   ///< for the comment
  bool train = false;                   ///< in training mode
  bool backward = false;                ///< with a backward pass
  bool leaves_out_update = false;       ///< whether the kernel also updates parameters, for the comment
  std::vector<std::string> parts = {};  ///< operators with a part in another kernel, for the comment
};
Reproducer reproduce(const PageNodes& nodes, const std::vector<std::size_t>& operators,
                     const ReproducerOptions& options);

}  // namespace kiln
