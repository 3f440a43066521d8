// Stacks and the switch between them, in assembly.
#include "fiber.h"

#include <algorithm>
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

extern "C" {
/// Continues at the stack pointer `to`, and leaves the present one in `from`. swapcontext would also ask the
/// kernel for the mask of signals: five times as long as all else that a barrier takes. The control words of
/// floating point are the same in all fibers of a launch.
void kiln_ptx_switch(void** from, void* to);
/// Where a new fiber begins: rbx is its argument, r12 its function.
void kiln_ptx_begin();
}
// Registers that a function of the System V ABI keeps for its caller are on the stack while a fiber does not
// run.
asm(R"(
.text
.hidden kiln_ptx_switch, kiln_ptx_begin
.type kiln_ptx_switch, @function
kiln_ptx_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size kiln_ptx_switch, .-kiln_ptx_switch
.type kiln_ptx_begin, @function
kiln_ptx_begin:
  .cfi_startproc
  .cfi_undefined %rip
  movq %rbx, %rdi
  callq *%r12
  ud2
  .cfi_endproc
.size kiln_ptx_begin, .-kiln_ptx_begin
)");

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
  // The frame that kiln_ptx_switch pops: r15, r14, r13, r12, rbx, rbp and the return address.
  auto* const top = reinterpret_cast<std::uintptr_t*>(stack_ + bytes_);
  auto* const frame = top - 7;
  std::fill(frame, top, 0);
  frame[3] = reinterpret_cast<std::uintptr_t>(&Fiber::begin);
  frame[4] = reinterpret_cast<std::uintptr_t>(this);
  frame[6] = reinterpret_cast<std::uintptr_t>(&kiln_ptx_begin);
  here_ = frame;
}

void Fiber::begin(Fiber* self) {
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
  kiln_ptx_switch(&caller_, here_);
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
  kiln_ptx_switch(&here_, caller_);
#ifdef KILN_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &caller_stack_, &caller_bytes_);
#endif
}

}  // namespace kiln::ptx
