// Contents of arrays that recorded calls save.
#pragma once
#include "frontend/tensor/array.h"
#include "runtime/fork_gate.h"

#include <memory>

namespace kiln::detail {

class ArrayTape;

/// The contents that an array had when a recorded call read or made them, for the call's backward pass.
/// Shared by the array and all entries of the tape that need these contents. No copy is made until the array
/// is written: then its old contents are copied (keep_contents); and when the array dies, its memory
/// moves here. So an entry never keeps an array alive that leads to the entry, and a write never changes a
/// gradient.
///
/// Thread rule: any thread may save and read; a write to the array is ordered by the program, as writes are.
class SavedValue {
 public:
  explicit SavedValue(const std::shared_ptr<Array>& array) : array_(array) {}

  /// An array with the contents: the array itself while it still has them.
  std::shared_ptr<Array> contents() const;

 private:
  friend class ArrayTape;
  void keep(std::shared_ptr<Array> contents);

  mutable Mutex mutex_;
  std::weak_ptr<Array> array_;
  std::shared_ptr<Array> kept_;
};

/// The present contents of `array`, saved.
std::shared_ptr<SavedValue> save(const std::shared_ptr<Array>& array);

}  // namespace kiln::detail
