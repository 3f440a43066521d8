// The state of a Trainer.
#pragma once
#include "frontend/autograd/tape.h"
#include "frontend/call/moved_from.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/gluon/trainer/number_arrays.h"
#include "frontend/gluon/trainer/update_graph.h"
#include "runtime/dtype_table.h"
#include "runtime/executable.h"

#include <kiln/trainer.h>

#include <cstdint>
#include <memory>
#include <optional>
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

/// The factor of losses, which follows the overflows of gradients (kiln/amp.h).
class LossScaler {
 public:
  LossScaler() = default;
  /// Continues another one. Throws for values that none has.
  LossScaler(double scale, std::int64_t steps);
  double scale() const { return scale_; }
  /// Without overflow, since the factor last changed.
  std::int64_t steps() const { return steps_; }
  /// After each step. Returns whether the factor can still change.
  bool stepped(bool overflow);

 private:
  static constexpr double max_scale = 0x1p24, min_scale = 0x1p-16;
  static constexpr std::int64_t steps_to_double = 2000;
  double scale_ = 0x1p16;
  std::int64_t steps_ = 0;
};

/// The parameters that a step updates.
struct UpdateChoice {
  std::vector<std::size_t> chosen;           ///< indices into TrainerState::parameters
  std::vector<UpdatedParameter> parameters;  ///< these, as far as code depends on them
  Device device;                             ///< of them
  bool operator==(const UpdateChoice&) const = default;
};

/// The counts and numbers of the next update. Steps with the same code have one, whose memory each step uses
/// again.
struct NextUpdate {
  std::int64_t num_update = 0;
  std::vector<std::int64_t> counts;  ///< of the chosen parameters
  optimizer::Memory memory;
  std::vector<double> numbers;  ///< in the order of the graph's inputs
  NumberArrays arrays;          ///< of them
};

/// The code of a choice of parameters.
struct CompiledUpdate {
  UpdateChoice choice;
  UpdateGraph update;
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<const Executable> all_finite;  ///< compiled at the first check
  NextUpdate next;
  std::optional<ArrayCall> call;  ///< of `executable`
};

/// The state that the handles of a Trainer share. A step is: choose(), make_states(), prepare(), a run of the
/// code of graph(), finish(). A step that is part of a larger graph calls train() in place of choose(), and
/// inlines graph(). Nothing changes before finish() except that states are made. A step whose code exists
/// allocates nothing. Thread rule: as Trainer.
struct TrainerState {
  std::shared_ptr<optimizer::Optimizer> optimizer;
  TrainerOptions options;
  std::vector<TrainedParameter> parameters;
  std::size_t state_count = 0;  ///< per parameter, without a master copy
  std::int64_t num_update = 0;
  optimizer::Memory memory;
  bool has_amp = false;              ///< amp::init_trainer()
  std::optional<LossScaler> scaler;  ///< with float16
  double gradient_scale = 1;         ///< a factor of all gradients, for the losses that were scaled
  /// The codes that were used last, the latest first.
  std::vector<std::shared_ptr<CompiledUpdate>> compiled;

  /// The last choice.
  UpdateChoice choice;

  /// amp::init_trainer() continues it: of a file of states that was loaded before.
  LossScaler loaded_scaler;

  /// Chooses the parameters that training changes: all except with GradReq::null. Throws for one without
  /// values.
  const UpdateChoice& train(std::source_location where);
  /// Chooses, among them, the parameters with a new gradient. One with a stale gradient is an error, or is
  /// left out.
  const UpdateChoice& choose(bool ignore_stale, std::source_location where);
  /// The properties of a parameter that the code depends on.
  UpdatedParameter described(const TrainedParameter& p) const {
    const ParameterState& state = ParameterAccess::state(p.parameter);
    const DType dtype = state.options.dtype;
    return {{dtype, state.shape}, p.name, optimizer->options().multi_precision && is_narrow_float(dtype)};
  }
  /// Makes the states of parameters that have none.
  void make_states(const UpdateChoice& of);
  /// The update of these parameters as a graph; see update_graph().
  UpdateGraph graph(const UpdateChoice& of, std::source_location where) const;
  /// Counts one more update, and computes its numbers.
  void prepare(const UpdateChoice& of, std::int64_t batch_size, NextUpdate& next) const;
  /// Adds the arguments of an update that follow weights and gradients: the states of these parameters, the
  /// numbers, and the arrays that the rule captures.
  void add_arguments(ArgumentList& arguments, const UpdateChoice& of, const NextUpdate& next,
                     std::span<const Tensor> captured) const;
  /// The update has run: takes over the counts, and marks the gradients as read.
  void finish(const UpdateChoice& of, NextUpdate& next);
};

/// Throws for a batch size below 1.
void check_batch_size(std::int64_t batch_size);

struct TrainerAccess {
  /// Throws for a trainer that was moved from.
  static TrainerState& state(const Trainer& trainer, std::source_location where = {}) {
    return live_state(trainer.state_, "Trainer", where);
  }
};

}  // namespace kiln::detail
