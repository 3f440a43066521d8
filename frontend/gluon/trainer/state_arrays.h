// A Trainer's states as named arrays, for its files and checkpoints.
#pragma once
#include "frontend/gluon/trainer/trainer_state.h"

#include <kiln/io.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::detail {

/// The bytes of a text as an array.
NamedArray text_array(std::string name, std::string_view text);

/// `state:PARAMETER:STATE`, and as `kiln:json` what Trainer::save_states() lists.
std::vector<NamedArray> state_arrays(const TrainerState& state);

/// The contents of such arrays, checked and not yet taken over.
struct LoadedStates {
  double learning_rate = 0;
  std::int64_t num_update = 0;
  optimizer::Memory memory;
  std::vector<std::int64_t> counts;
  std::vector<std::vector<Tensor>> states;
  LossScaler scaler;  ///< a new one if the file has none
};

/// The shape of a parameter, if it is known.
using ShapeOf = std::function<std::optional<Shape>(const Parameter&)>;

/// Throws, naming `file`, for arrays that are not the states of such a trainer: of another optimizer, or of
/// parameters with other names or shapes.
LoadedStates check_states(const TrainerState& state, std::vector<NamedArray> arrays, const ShapeOf& shape_of,
                          const std::string& file);
void take_states(TrainerState& state, LoadedStates loaded);

}  // namespace kiln::detail
