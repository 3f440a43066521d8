#pragma once
#include "frontend/autograd/tape.h"
#include "frontend/gluon/trainer/number_arrays.h"
#include "frontend/gluon/trainer/update_graph.h"
#include "runtime/executable.h"

#include <kiln/trainer.h>

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace kiln::detail {

/// A parameter of a Trainer.
struct TrainedParameter {
  Parameter parameter;
  std::string name;  ///< by Options::param_idx2name; empty without
  std::int64_t count = 0;
  /// In the order of state_names(); empty before the first update. The arrays are fixed then, and written in
  /// place.
  std::vector<Tensor> states;
};

/// The code of a choice of parameters.
struct CompiledUpdate {
  std::vector<std::size_t> chosen;  ///< indices into TrainerState::parameters
  std::vector<UpdatedParameter> parameters;
  UpdateGraph update;
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<const Executable> all_finite;  ///< compiled at the first check
};

/// The counts of updates, as far as the next one changes them.
struct UpdateCounts {
  std::int64_t num_update = 0;
  std::vector<std::int64_t> counts;  ///< of the chosen parameters
  optimizer::Memory memory;
};

/// What the handles of a Trainer share. A step is: choose(), make_states(), counted(), numbers(), a run of
/// the code of graph(), finish(). A step that is part of a larger graph takes trained() in the place of
/// choose(), and inlines graph(). Nothing changes before finish() but for states that are made. Thread rule:
/// as Trainer.
struct TrainerState {
  std::shared_ptr<optimizer::Optimizer> optimizer;
  TrainerOptions options;
  std::vector<TrainedParameter> parameters;
  std::int64_t num_update = 0;
  optimizer::Memory memory;
  /// The codes that were used last, the latest first.
  std::vector<std::shared_ptr<CompiledUpdate>> compiled;

  /// The parameters that training changes: all but those with GradReq::null. Throws for one without values.
  std::vector<std::size_t> trained(std::source_location where) const;
  /// Those of them that a step updates. Throws for a stale gradient, too, or leaves its parameter out.
  std::vector<std::size_t> choose(bool ignore_stale, std::source_location where) const;
  /// What the code of a parameter, or of these, depends on.
  UpdatedParameter described(const TrainedParameter& p) const;
  std::vector<UpdatedParameter> described(std::span<const std::size_t> chosen) const;
  /// Makes the states of parameters that have none.
  void make_states(std::span<const std::size_t> chosen);
  /// The update of these parameters as a graph; see update_graph().
  UpdateGraph graph(std::span<const std::size_t> chosen, std::source_location where) const;
  /// The counts after one more update.
  UpdateCounts counted(std::span<const std::size_t> chosen) const;
  /// The numbers of that update, in the order of the graph's inputs. Updates `counts.memory`.
  std::vector<double> numbers(std::span<const std::size_t> chosen, UpdateCounts& counts,
                              std::int64_t batch_size) const;
  /// Sets a frame's arguments from number `first` on to what an update's graph takes behind weights and
  /// gradients: the states of these parameters, the numbers, and the arrays that the rule captures.
  void set_arguments(CallFrame& frame, std::size_t first, std::span<const std::size_t> chosen,
                     const NumberArrays& numbers, std::span<const Tensor> captured) const;
  /// Saves what an update is about to write, if the tape needs it: for a second backward pass.
  void before_update(std::span<const std::size_t> chosen, std::span<const Tensor> captured) const;
  /// The update has run: takes over the counts, and marks the gradients as read.
  void finish(std::span<const std::size_t> chosen, UpdateCounts counts);
};

/// Throws for a batch size below 1.
void check_batch_size(std::int64_t batch_size);

struct TrainerAccess {
  static TrainerState& state(const Trainer& trainer) { return *trainer.state_; }
};

}  // namespace kiln::detail
