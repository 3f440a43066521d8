// Global memory of the emulated device.
#pragma once
#include "shadow.h"

#include <cstddef>
#include <cstdint>
#include <map>

namespace kiln::ptx {

struct Allocation {
  explicit Allocation(std::uint64_t address, std::size_t bytes)
      : begin(address), bytes(bytes), shadow(bytes) {}
  std::uint64_t begin;
  std::size_t bytes;
  Shadow shadow;
  bool has(std::uint64_t address, std::size_t n) const {
    return address >= begin && n <= bytes && address - begin <= bytes - n;
  }
};

/// The device's global memory, which is the process's. Fresh and freed memory is full of NaN.
class Memory {
 public:
  static constexpr unsigned char poison = 0xff;  // NaN

  /// 0 if there is none.
  std::uint64_t allocate(std::size_t bytes);
  bool free(std::uint64_t address);
  std::size_t free_bytes() const { return limit() - used_; }
  static std::size_t limit();  ///< KILN_PTX_MEMORY

  /// The allocation that has all of these bytes, or null.
  Allocation* find(std::uint64_t address, std::size_t bytes);

  bool upload(std::uint64_t to, const void* from, std::size_t bytes);
  bool download(void* to, std::uint64_t from, std::size_t bytes);
  bool copy(std::uint64_t to, std::uint64_t from, std::size_t bytes);
  bool fill(std::uint64_t to, unsigned char value, std::size_t bytes);

  /// The next mark; a launch takes as many as it needs.
  Mark next_mark = first_mark;
  /// Before a launch, which has 2^31 marks then. Whether marks started anew.
  bool renew_marks();

  const std::map<std::uint64_t, Allocation>& allocations() const { return allocations_; }

 private:
  std::map<std::uint64_t, Allocation> allocations_;
  std::size_t used_ = 0;
};

}  // namespace kiln::ptx
