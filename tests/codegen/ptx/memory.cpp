// Allocations of the emulated device, filled with NaN.
#include "memory.h"

#include <cstdlib>
#include <cstring>

namespace kiln::ptx {
namespace {

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

std::size_t Memory::limit() {
  static const std::size_t bytes = [] {
    const char* const text = std::getenv("KILN_PTX_MEMORY");
    return text ? std::strtoull(text, nullptr, 10) : std::size_t{4} << 30;
  }();
  return bytes;
}

std::uint64_t Memory::allocate(std::size_t bytes) {
  if (bytes > free_bytes()) return 0;
  void* const data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!data) return 0;
  std::memset(data, poison, bytes);
  used_ += bytes;
  const auto address = reinterpret_cast<std::uint64_t>(data);
  allocations_.try_emplace(address, address, bytes);
  return address;
}

bool Memory::free(std::uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  std::memset(pointer(address), poison, found->second.bytes);
  used_ -= found->second.bytes;
  allocations_.erase(found);
  std::free(pointer(address));
  return true;
}

Allocation* Memory::find(std::uint64_t address, std::size_t bytes) {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  Allocation& a = std::prev(after)->second;
  return a.has(address, bytes) ? &a : nullptr;
}

bool Memory::upload(std::uint64_t to, const void* from, std::size_t bytes) {
  Allocation* const a = find(to, bytes);
  if (!a) return false;
  std::memcpy(pointer(to), from, bytes);
  a->shadow.set(to - a->begin, bytes, host);
  return true;
}
bool Memory::download(void* to, std::uint64_t from, std::size_t bytes) {
  if (!find(from, bytes)) return false;
  std::memcpy(to, pointer(from), bytes);
  return true;
}
bool Memory::copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  Allocation *const a = find(to, bytes), *const b = find(from, bytes);
  if (!a || !b) return false;
  std::memmove(pointer(to), pointer(from), bytes);
  a->shadow.copy(to - a->begin, b->shadow, from - b->begin, bytes);
  return true;
}
bool Memory::fill(std::uint64_t to, unsigned char value, std::size_t bytes) {
  Allocation* const a = find(to, bytes);
  if (!a) return false;
  std::memset(pointer(to), value, bytes);
  a->shadow.set(to - a->begin, bytes, host);
  return true;
}

bool Memory::renew_marks() {
  if (next_mark < Mark{1} << 31) return false;
  for (auto& [address, a] : allocations_) a.shadow.forget_launches();
  next_mark = first_mark;
  return true;
}

}  // namespace kiln::ptx
