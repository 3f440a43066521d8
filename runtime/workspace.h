// Temporary memory of calls.
#pragma once
#include "runtime/fail.h"
#include "runtime/memory_level.h"

#include <kiln/error.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace kiln {

/// Temporary memory of a call, counted as arena_bytes in the memory report of its device. `Memory`:
/// HostMemory or an Accelerator.
template <class Memory>
class Arena {
 public:
  /// `owner` is named in the error if there is no memory.
  Arena(Memory& memory, std::int64_t bytes, const std::string& owner)
      : memory_(memory), bytes_(static_cast<std::size_t>(bytes)) {
    if (bytes_ == 0) return;
    try {
      data_ = memory_.allocate(bytes_, memory::Use::arena);
    } catch (const Error& e) {
      fail("{}: no memory for its temporaries: {}", owner, e.what());
    }
  }
  ~Arena() {
    if (bytes_ > 0) memory_.deallocate(data_, bytes_, memory::Use::arena);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* data() const { return data_; }

 private:
  Memory& memory_;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace kiln
