// Fibers: functions on separate stacks.
#pragma once
#include <cstddef>

namespace kiln::ptx {

/// A function on a separate stack. It runs until it leaves, and continues when it is entered again. An ended
/// fiber's stack is dropped without destructors.
class Fiber {
 public:
  explicit Fiber(std::size_t stack_bytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// `run` never returns. It starts with the first enter().
  void start(void (*run)(void*), void* argument);
  /// Goes on in the fiber. Returns when it leaves.
  void enter();
  /// From within the fiber: returns from enter().
  void leave();

 private:
  static void begin(Fiber* self);

  void *here_ = nullptr, *caller_ = nullptr;  ///< stack pointers of what does not run
  std::byte* stack_ = nullptr;
  std::size_t bytes_;
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;
  // Of sanitizers.
  void* fake_stack_ = nullptr;
  void* caller_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_bytes_ = 0;
  void *tsan_here_ = nullptr, *tsan_caller_ = nullptr;
};

}  // namespace kiln::ptx
