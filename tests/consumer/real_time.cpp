// A thread with a deadline: the allocations and locks of a bound call, as docs/audio-thread.md lists them.
#include "real_time_networks.h"

#include <kiln/kiln.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <iostream>
#include <pthread.h>
#include <thread>
#include <vector>

using namespace kiln;

namespace {

thread_local long allocations = 0, locks = 0;  // of this thread

int failures = 0;

void expect(const std::string& what, bool is_right, long found_allocations, long found_locks) {
  std::cout << "  " << what << ": " << found_allocations << " allocations, " << found_locks << " locks\n";
  if (is_right) return;
  std::cout << "    which docs/audio-thread.md does not say\n";
  ++failures;
}

/// Calls `fn`, which must allocate nothing and take at most `max_locks` locks.
template <class Fn>
void expect_nothing(const char* what, Fn&& fn, long max_locks = 0) {
  const long allocations_before = allocations, locks_before = locks;
  fn();
  const long found = allocations - allocations_before, found_locks = locks - locks_before;
  expect(what, found == 0 && found_locks <= max_locks, found, found_locks);
}

/// Reads and writes of arrays.
void test_access(Tensor x, const Tensor& y) {
  const std::vector<float> in(static_cast<std::size_t>(x.size()), 0.5f);
  std::vector<float> out(static_cast<std::size_t>(y.size()));
  expect_nothing("copy_from", [&] { x.copy_from(in.data(), DType::f32); });
  expect_nothing("mutable_data", [&] { static_cast<float*>(x.mutable_data())[0] = 1; });
  expect_nothing("copy_to", [&] { y.copy_to(out.data(), DType::f32); });
  expect_nothing("data", [&] { out[0] = *static_cast<const float*>(y.data()); });
}

void test(const RealTimeCase& c) {
  BoundCall call = c.bind();
  const std::size_t arena = c.net->compiled_calls().front().arena_bytes;
  std::cout << c.name << ", temporaries of " << arena << " bytes\n";
  const bool is_small = arena <= 32 * 1024;
  if (c.temporaries != (is_small ? RealTimeCase::Temporaries::small : RealTimeCase::Temporaries::large) &&
      c.temporaries != RealTimeCase::Temporaries::any) {
    std::cout << "  not the size that this test is for\n";
    ++failures;
  }
  std::thread([&] {
    const ThreadLimit one(1);
    const autograd::TrainMode mode(c.training);
    const long before = allocations, locks_before = locks;
    call.warm_up();
    // Else nothing is counted.
    expect("warm-up", allocations > before, allocations - before, locks - locks_before);
    const long max_locks = c.training ? 2 : 0;
    for (int i = 0; i < 3; ++i)
      expect_nothing(
          "run", [&] { call.run(); }, max_locks);
    test_access(c.inputs[0], call.results()[0]);
    expect_nothing(
        "run after a write to the input", [&] { call.run(); }, max_locks);
    bool has_run = false;
    expect_nothing(
        "try_run", [&] { has_run = static_cast<bool>(call.try_run()); }, max_locks);
    if (!has_run) ++failures;
  }).join();
}

/// Another part of the program, which uses the pool, trains another network and packs its weights again and
/// again. A run must not wait for it.
class Neighbour {
 public:
  Neighbour()
      : thread_([this] {
          const ThreadLimit one(1);
          nn::HybridSequential net;
          net.add(nn::Dense(64), nn::Dense(8));
          net.initialize();
          net.hybridize();
          const Tensor x = ones({16, 64});
          while (!stop_) {
            net[0].as<nn::Dense>().weight.set_data(ones({64, 64}));
            (void)net(x);
            const Tensor large = zeros({256, 256});
            release_pooled_memory();
          }
        }) {}
  ~Neighbour() {
    stop_ = true;
    thread_.join();
  }
  Neighbour(const Neighbour&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void __libc_free(void* block);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) noexcept {
  ++allocations;
  return __libc_realloc(block, bytes);
}
void free(void* block) noexcept {
  if (block != nullptr) ++allocations;  // it may lock as an allocation does
  __libc_free(block);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  ++allocations;
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return lock(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* mutex) noexcept {
  using Lock = int (*)(pthread_rwlock_t*);
  static const auto lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_rwlock_rdlock"));
  ++locks;
  return lock(mutex);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* mutex) noexcept {
  using Lock = int (*)(pthread_rwlock_t*);
  static const auto lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_rwlock_wrlock"));
  ++locks;
  return lock(mutex);
}
}

int main() {
  const std::vector<RealTimeCase> networks = real_time::networks();
  const Neighbour neighbour;
  for (const RealTimeCase& c : networks) test(c);
  return failures == 0 ? 0 : 1;
}
