// Keeps saved contents when their array is written or dies.
#include "frontend/autograd/saved_value.h"

#include "frontend/autograd/tape.h"
#include "runtime/accelerator.h"

namespace kiln::detail {

std::shared_ptr<Array> SavedValue::contents() const {
  const std::lock_guard lock(mutex_);
  return kept_ ? kept_ : array_.lock();
}

void SavedValue::keep(std::shared_ptr<Array> contents) {
  const std::lock_guard lock(mutex_);
  kept_ = std::move(contents);
  array_.reset();
}

ArrayTape& tape_of(Array& array) {
  if (ArrayTape* const tape = known_tape(array)) return *tape;
  const std::lock_guard lock(history_mutex(array));
  if (ArrayTape* const tape = known_tape(array)) return *tape;
  auto* made = new ArrayTape;
  array.history.store(made, std::memory_order_release);
  return *made;
}

std::shared_ptr<SavedValue> save(const std::shared_ptr<Array>& array) {
  ArrayTape& tape = tape_of(*array);
  const std::lock_guard lock(history_mutex(*array));
  if (!tape.saved) tape.saved = std::make_shared<SavedValue>(array);
  return tape.saved;
}

void ArrayTape::keep_contents(Array& array) {
  const std::shared_ptr<SavedValue> old = [&] {
    const std::lock_guard lock(history_mutex(array));
    return std::exchange(saved, nullptr);
  }();
  if (!old || old.use_count() == 1) return;
  auto copy = std::make_shared<Array>(Buffer(array.bytes(), array.device()), array.shape);
  copy_bytes(accelerator_of(array.device()), copy->data(), array.data(), array.bytes());
  old->keep(std::move(copy));
}

void ArrayTape::end(Array& array) {
  // An entry that nothing else leads to ends here, and needs no contents of its outputs.
  link = {};
  views.clear();
  if (!saved || saved.use_count() == 1) return;
  saved->keep(std::make_shared<Array>(array.take_buffer(), array.shape));
}

}  // namespace kiln::detail
