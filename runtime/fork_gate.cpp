// Handlers of fork(), and the counters of the gate.
#include "runtime/fork_gate.h"

#include "runtime/memory_pool.h"
#include "runtime/reclaim.h"
#include "runtime/threads.h"

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <pthread.h>
#include <thread>

namespace kiln {
namespace {

/// The number of threads inside the gate, in counters on separate cache lines.
struct alignas(64) Count {
  std::atomic<int> inside{0};
};
std::array<Count, 64> counts;
std::atomic<bool> forking{false};
std::mutex one_fork;
constinit thread_local int depth = 0;  // nesting depth of this thread's guards

Count& own_count() { return counts[(reinterpret_cast<std::uintptr_t>(&depth) >> 12) % counts.size()]; }

void before_fork() {
  one_fork.lock();
  forking.store(true);
  const int own = depth > 0 ? 1 : 0;
  for (Count& count : counts)
    while (count.inside.load() > (&count == &own_count() ? own : 0))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void open_gate() {
  forking.store(false);
  forking.notify_all();
  one_fork.unlock();
}

void in_child() {
  // Another thread may have been counted for the moment in which it saw that this one forks.
  for (Count& count : counts) count.inside.store(0);
  if (depth > 0) own_count().inside.store(1);
  open_gate();
  memory::forget_other_threads();
  forget_readers();
  forget_workers();
}

[[maybe_unused]] const int registered = ::pthread_atfork(before_fork, open_gate, in_child);

}  // namespace

void ForkGuard::enter() noexcept {
  if (depth++ > 0) return;
  std::atomic<int>& inside = own_count().inside;
  inside.fetch_add(1);
  // Sequentially consistent: either this thread sees `forking`, or the forking thread sees `inside`.
  while (forking.load()) {
    inside.fetch_sub(1);
    forking.wait(true);
    inside.fetch_add(1);
  }
}

void ForkGuard::leave() noexcept {
  if (--depth == 0) own_count().inside.fetch_sub(1);
}

ForkGuardOfWorker::ForkGuardOfWorker() noexcept {
  if (depth++ == 0) own_count().inside.fetch_add(1);
}

}  // namespace kiln
