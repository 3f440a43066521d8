// The structure of loops and branches that a program runs step by step.
#pragma once
#include "ir/graph.h"

#include <kiln/tensor.h>

#include <functional>
#include <optional>
#include <source_location>
#include <vector>

/// The dependences of a loop or branch by its structure. The structure of a program, not its numbers, decides
/// which values have a gradient (definition 5 in ir/README.md). A branch that is not taken, and steps that do
/// not run, pass the gradient -0 on.
namespace kiln::detail {

/// A loop or branch that a program runs step by step, as a graph.
class Structure {
 public:
  using Tensors = std::vector<Tensor>;
  using Recorded = std::function<Tensors(const Tensors& variables)>;

  /// The structure, on a thread that records calls; none on other threads. Called before the loop or branch
  /// runs, so that parameters with deferred initialization draw their numbers in the order of a recording.
  /// `recorded` records the loop or branch as one node on the innermost trace; its variables stand for
  /// `inputs`, which are separate values. None if it cannot be recorded: then no block that contains it can.
  static std::optional<Structure> of(const Tensors& inputs, const Recorded& recorded);

  /// The results of the run. Each gets an entry on the tape whose inputs are all values that it may depend
  /// on.
  Tensors dependent(const Tensors& results, std::source_location where) const;

 private:
  Structure(const Tensors& inputs, const Recorded& recorded);
  /// The values with a history that result `i` may depend on.
  Tensors dependencies(std::size_t i) const;
  bool captures(const Tensor& t) const;

  Tensors values_;  // the inputs, then the captured values
  std::size_t inputs_;
  ir::Subgraph body_;
  std::vector<std::vector<bool>> reached_;  // by value: the results that depend on it; empty: no history
};

}  // namespace kiln::detail
