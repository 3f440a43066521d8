#pragma once
#include <kiln/export.h>

namespace kiln::autograd {

/// This thread's training mode: BatchNorm uses the batch's statistics, Dropout drops elements.
KILN_API bool is_training();

/// Sets this thread's training mode during its lifetime (false: prediction), as `with
/// autograd.train_mode():`. Scopes nest. Destroy it on the thread that created it.
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
