#pragma once
#include <kiln/export.h>

namespace kiln::autograd {

/// Whether operators of this thread run for training: BatchNorm uses the batch's statistics, Dropout drops.
KILN_API bool is_training();

/// While it lives, operators of this thread run for training (or, with false, for prediction), as in `with
/// autograd.train_mode():`. Scopes nest; one belongs to the thread that made it.
class KILN_API TrainMode {
 public:
  explicit TrainMode(bool train = true);
  ~TrainMode();
  TrainMode(const TrainMode&) = delete;
  TrainMode& operator=(const TrainMode&) = delete;

 private:
  bool outer_;
};

}  // namespace kiln::autograd
