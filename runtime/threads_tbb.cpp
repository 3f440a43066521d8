// oneTBB's arenas and workers.
#include "runtime/threads_tbb.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <optional>

namespace kiln {
namespace {

/// oneTBB starts at most as many workers as the machine has cores, unless the program requests more threads.
void raise_worker_limit(int n) {
  static const int natural = tbb::info::default_concurrency();
  if (n <= natural) return;
  static std::mutex mutex;
  static int raised = 0;
  static auto* control = new std::optional<tbb::global_control>;
  const std::lock_guard lock(mutex);
  if (n <= raised) return;
  control->emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(n));
  raised = n;
}

/// One arena per calling thread: callers do not wait for each other, and a waiting caller runs no task but
/// its own.
thread_local std::unique_ptr<tbb::task_arena> arena;
tbb::task_arena& arena_for(int threads) {
  static thread_local int size = 0;
  if (size != threads) {
    raise_worker_limit(threads);
    arena = std::make_unique<tbb::task_arena>(threads);
    size = threads;
  }
  return *arena;
}

}  // namespace

void run_on_workers(int threads, int times, void (*work)(void*), void* context) {
  arena_for(threads).execute([=] {
    tbb::task_group group;
    for (int i = 1; i < times; ++i) group.run([=] { work(context); });
    work(context);
    group.wait();
  });
}

void forget_arena() noexcept { (void)arena.release(); }

int worker_slot() { return std::max(tbb::this_task_arena::current_thread_index(), 0); }

}  // namespace kiln
