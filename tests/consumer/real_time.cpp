// A thread with a deadline: the allocations and locks of a bound call, as docs/audio-thread.md lists them.
#include <kiln/kiln.h>

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

void expect(const char* what, bool is_right, long found_allocations, long found_locks) {
  std::cout << what << ": " << found_allocations << " allocations, " << found_locks << " locks\n";
  if (is_right) return;
  std::cout << "  which docs/audio-thread.md does not say\n";
  ++failures;
}

/// Calls `fn`, which must allocate nothing and take at most `max_locks` locks.
template <class Fn>
void expect_no_allocation(const char* what, long max_locks, Fn&& fn) {
  const long allocations_before = allocations, locks_before = locks;
  fn();
  const long found = allocations - allocations_before, found_locks = locks - locks_before;
  expect(what, found == 0 && found_locks <= max_locks, found, found_locks);
}

/// A network whose temporaries have 8 bytes for each row and unit.
nn::HybridSequential make_network(std::int64_t units) {
  nn::HybridSequential net;
  net.add(nn::Dense(units, {.activation = "tanh"}), nn::LayerNorm(), nn::Dense(units), nn::LayerNorm(),
          nn::Dense(1));
  net.initialize();
  net.hybridize();
  return net;
}

void test(std::int64_t rows, std::int64_t units, bool is_small) {
  nn::HybridSequential net = make_network(units);
  Tensor x = zeros({rows, units});
  BoundCall step = net.bind({x});
  const std::size_t arena = net.compiled_calls().front().arena_bytes;
  std::cout << rows << " rows, " << units << " units: temporaries of " << arena << " bytes\n";
  if ((arena <= 32 * 1024) != is_small) {
    std::cout << "  not the size that this test is for\n";
    ++failures;
  }
  std::thread([&] {
    const ThreadLimit one(1);
    const std::vector<float> in(static_cast<std::size_t>(x.size()), 0.5f);
    std::vector<float> out(static_cast<std::size_t>(rows));
    const long before = allocations;
    for (int i = 0; i < 2; ++i) step();
    expect("warm-up", allocations > before, allocations - before, locks);  // else nothing is counted

    const long max_locks = is_small ? 0 : 2;
    for (int i = 0; i < 3; ++i) expect_no_allocation("run", max_locks, [&] { step(); });
    expect_no_allocation("copy_from", 0, [&] { x.copy_from(in.data(), DType::f32); });
    expect_no_allocation("mutable_data", 0, [&] { static_cast<float*>(x.mutable_data())[0] = 1; });
    expect_no_allocation("run after a write to the input", max_locks, [&] { step(); });
    expect_no_allocation("copy_to", 0, [&] { step.results()[0].copy_to(out.data(), DType::f32); });
    expect_no_allocation("data", 0, [&] { out[0] = *static_cast<const float*>(step.results()[0].data()); });
  }).join();
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
  ++allocations;
  return __libc_malloc(bytes);
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
}

int main() {
  test(1, 64, /*is_small=*/true);
  test(16, 512, /*is_small=*/false);
  return failures == 0 ? 0 : 1;
}
