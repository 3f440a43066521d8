#pragma once
#include "runtime/accelerator.h"
#include "runtime/fail.h"
#include "runtime/memory_pool.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace kiln {

/// Temporary memory of a call, counted as arena_bytes in the memory report of its device.
class Arena {
 public:
  /// `owner` is named in the error if there is no memory. A null accelerator is the CPU.
  Arena(std::int64_t bytes, const std::string& owner, Accelerator* accelerator)
      : bytes_(static_cast<std::size_t>(bytes)), accelerator_(accelerator) {
    if (bytes_ == 0) return;
    try {
      data_ = accelerator_ ? accelerator_->allocate(bytes_, memory::Use::arena)
                           : static_cast<std::byte*>(memory::allocate(bytes_, memory::Use::arena));
    } catch (const Error& e) {
      fail("{}: no memory for its temporaries: {}", owner, e.what());
    }
  }
  ~Arena() {
    if (bytes_ == 0) return;
    if (accelerator_)
      accelerator_->deallocate(data_, bytes_, memory::Use::arena);
    else
      memory::deallocate(data_, bytes_, memory::Use::arena);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  Accelerator* accelerator_;
  std::byte* data_ = nullptr;
};

/// The scratch memory that the launches of a call share. It is allocated before the first of them: a step
/// that follows a write to an input cannot fail for want of memory.
struct Workspace {
  int threads;  ///< that the memory was counted for; 0: there is none
  Arena scratch;
};

}  // namespace kiln
