// The shared parts of an array.
#include "frontend/tensor/array.h"

#include <array>

namespace kiln::detail {

Mutex& history_mutex(const Array& array) {
  static constinit std::array<Mutex, 64> mutexes;
  return mutexes[reinterpret_cast<std::uintptr_t>(&array) / sizeof(Array) % mutexes.size()];
}

}  // namespace kiln::detail
