// Graphs as statements of a program.
#pragma once
#include "gradient_check.h"
#include "graphs/graph.h"

#include <memory>

namespace graphs {

/// Counts the loops and branches of a graph, in bodies too, by their contents.
void count_control_flow(const Graph& graph, Coverage& coverage);
bool has_control_flow(const Graph& graph);

/// A graph as the statements of a program. Each operator is a call; loops and branches are calls of
/// F::contrib, so that an eager run takes their steps one by one.
class StatementBlock : public kiln::HybridBlock {
 public:
  /// `inputs` are the names of the graph's variables, in the order of a call's values.
  StatementBlock(const Graph& graph, const std::vector<std::string>& inputs);
  ~StatementBlock() override;
  /// Where eager runs count while loops that ran no step, and loops and branches with a recorded result;
  /// null: nowhere.
  void count_in(Coverage* coverage);

 protected:
  kiln::Tensors hybrid_forward(kiln::F& f, const kiln::Tensors& inputs) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace graphs
