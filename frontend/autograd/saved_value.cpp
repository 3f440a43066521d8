#include "frontend/autograd/saved_value.h"

#include "frontend/autograd/tape.h"
#include "runtime/accelerator.h"

#include <array>

namespace kiln::detail {

Mutex& tape_mutex(const Array& array) {
  static constinit std::array<Mutex, 64> mutexes;
  return mutexes[reinterpret_cast<std::uintptr_t>(&array) / sizeof(Array) % mutexes.size()];
}

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
  if (ArrayTape* tape = array.tape.load(std::memory_order_acquire)) return *tape;
  const std::lock_guard lock(tape_mutex(array));
  if (ArrayTape* tape = array.tape.load(std::memory_order_relaxed)) return *tape;
  auto* made = new ArrayTape;
  array.tape.store(made, std::memory_order_release);
  return *made;
}

std::shared_ptr<SavedValue> save(const std::shared_ptr<Array>& array) {
  ArrayTape& tape = tape_of(*array);
  const std::lock_guard lock(tape_mutex(*array));
  if (!tape.saved) tape.saved = std::make_shared<SavedValue>(array);
  return tape.saved;
}

void before_write(Array& array) {
  ArrayTape* const tape = array.tape.load(std::memory_order_acquire);
  if (!tape) return;
  const std::shared_ptr<SavedValue> saved = [&] {
    const std::lock_guard lock(tape_mutex(array));
    return std::exchange(tape->saved, nullptr);
  }();
  if (!saved || saved.use_count() == 1) return;
  auto copy = std::make_shared<Array>(Buffer(array.bytes(), array.device()), array.shape);
  copy_bytes(accelerator_of(array.device()), copy->data(), array.data(), array.bytes());
  saved->keep(std::move(copy));
}

/// The end of an array: what entries of the tape need of it lives on.
void end_tape(Array& array, ArrayTape* tape) {
  const std::unique_ptr<ArrayTape> ended(tape);
  // An entry that nothing else leads to ends here, and needs no contents of its own outputs.
  ended->link = {};
  ended->views.clear();
  if (!ended->saved || ended->saved.use_count() == 1) return;
  ended->saved->keep(std::make_shared<Array>(array.take_buffer(), array.shape));
}

}  // namespace kiln::detail
