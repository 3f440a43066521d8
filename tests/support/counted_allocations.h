// Counts of the program's allocations.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

/// Counts the allocations of the whole program by operator new, the library included. It defines these
/// operators, so one file of a program includes it.
struct Allocations {
  static inline std::atomic<std::size_t> made{0}, freed{0}, bytes{0};  // bytes: of all made
  static std::size_t alive() { return made - freed; }
};

// Sanitizers define these operators themselves. Inlined, GCC takes these for functions that do not belong
// together.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool allocations_counted = false;
#else
constexpr bool allocations_counted = true;
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++Allocations::made;
  Allocations::bytes += bytes;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  if (p != nullptr) ++Allocations::freed;
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
#endif
