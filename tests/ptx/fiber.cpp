#include "fiber.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define KILN_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define KILN_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KILN_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define KILN_TSAN 1
#endif
#endif
#ifdef KILN_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef KILN_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace kiln::ptx {

Fiber::Fiber(std::size_t stack_bytes) : bytes_(stack_bytes) {
  // Pages that are never touched take no memory.
  void* const stack = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<std::byte*>(stack);
  mprotect(stack_, 4096, PROT_NONE);  // a stack that is too small ends the process
}

Fiber::~Fiber() {
#ifdef KILN_TSAN
  if (tsan_here_) __tsan_destroy_fiber(tsan_here_);
#endif
#ifdef KILN_ASAN
  __asan_unpoison_memory_region(stack_, bytes_);
#endif
  munmap(stack_, bytes_);
}

void Fiber::start(void (*run)(void*), void* argument) {
  run_ = run;
  argument_ = argument;
#ifdef KILN_TSAN
  if (tsan_here_) __tsan_destroy_fiber(tsan_here_);
  tsan_here_ = __tsan_create_fiber(0);
#endif
#ifdef KILN_ASAN
  __asan_unpoison_memory_region(stack_, bytes_);
  fake_stack_ = nullptr;
#endif
  getcontext(&here_);
  here_.uc_stack.ss_sp = stack_;
  here_.uc_stack.ss_size = bytes_;
  here_.uc_link = nullptr;
  // Arguments of makecontext are of type int.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&here_, reinterpret_cast<void (*)()>(&Fiber::trampoline), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
}

void Fiber::trampoline(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
#ifdef KILN_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &self->caller_stack_, &self->caller_bytes_);
#endif
  self->run_(self->argument_);
  std::abort();
}

void Fiber::enter() {
#ifdef KILN_TSAN
  tsan_caller_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_here_, 0);
#endif
#ifdef KILN_ASAN
  __sanitizer_start_switch_fiber(&caller_fake_stack_, stack_, bytes_);
#endif
  swapcontext(&caller_, &here_);
#ifdef KILN_ASAN
  __sanitizer_finish_switch_fiber(caller_fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::leave() {
#ifdef KILN_TSAN
  __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
#ifdef KILN_ASAN
  __sanitizer_start_switch_fiber(&fake_stack_, caller_stack_, caller_bytes_);
#endif
  swapcontext(&here_, &caller_);
#ifdef KILN_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &caller_stack_, &caller_bytes_);
#endif
}

}  // namespace kiln::ptx
