// The number of cores, and the parallel loop.
#include "runtime/threads.h"

#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/float_env.h"
#include "runtime/fork_gate.h"
#include "runtime/log.h"
#include "runtime/memory_system.h"
#include "runtime/threads_tbb.h"

#include <kiln/threads.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <sched.h>
#include <string>
#include <thread>

namespace kiln {
namespace {

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

/// The cgroup's quota in whole cores, rounded up; 0 for none. Version 2 first, then version 1.
int cgroup_cores() {
  std::string quota;
  double period = 0;
  if (std::ifstream f("/sys/fs/cgroup/cpu.max"); f >> quota >> period) {
    if (quota == "max" || period <= 0) return 0;
    return static_cast<int>((std::atof(quota.c_str()) + period - 1) / period);
  }
  double q = 0;
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota_file >> q && period_file >> period && q > 0 && period > 0)
    return static_cast<int>((q + period - 1) / period);
  return 0;
}

constexpr int max_threads = 1024;

int default_threads() {
  if (const auto text = env("KILN_NUM_THREADS")) {
    if (const auto n = parse_size(*text); n && *n >= 1)
      return static_cast<int>(std::min<std::size_t>(*n, max_threads));
    warn_once("KILN_NUM_THREADS",
              fmt::format("KILN_NUM_THREADS is \"{}\", not a number from 1 on; it is not used", *text));
  }
  const int cores = allowed_cores();
  const int quota = cgroup_cores();
  return std::clamp(quota > 0 ? std::min(cores, quota) : cores, 1, max_threads);
}

std::atomic<int> process_threads{0};             // 0: not determined yet
constinit thread_local int limit_of_thread = 0;  // 0: none, process_threads applies
std::atomic<int> max_workers{0};                 // maximum of any loop so far
std::atomic<bool> lost_workers{false};           // child of a fork() whose parent had workers

/// Without memory for their stacks, oneTBB would wait for threads that the system cannot start.
bool may_have(int workers) {
  constexpr std::size_t thread_bytes = std::size_t{16} << 20;
  int most = max_workers.load(std::memory_order_relaxed);
  if (workers > most && !memory::can_map(thread_bytes * static_cast<std::size_t>(workers - most)))
    return false;
  while (workers > most && !max_workers.compare_exchange_weak(most, workers)) {
  }
  return true;
}

std::int64_t pieces_of(std::int64_t extent, std::int64_t grain) {
  return extent / grain + (extent % grain != 0);
}

void check(int n) {
  if (n < 1) fail("the number of threads must be at least 1, got {}", n);
}

/// One loop, on the caller's stack. Workers synchronise by these atomics, not by oneTBB alone, whose internal
/// ordering the thread sanitizer does not see.
struct SharedLoop {
  /// Each thread starts with the same share of every loop, so that it finds its data in its own caches again.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  static constexpr int max_shares = 32;

  PieceFn piece;
  void* context;
  std::int64_t extent, grain, grains, parts;
  int share_count;
  std::array<Share, max_shares> shares{};
  std::atomic<bool> open{false};
  std::atomic<int> joined{0};
  std::atomic<int> finished{0};

  void deal() {
    for (int s = 0; s < share_count; ++s) {
      shares[static_cast<std::size_t>(s)].next = parts * s / share_count;
      shares[static_cast<std::size_t>(s)].end = parts * (s + 1) / share_count;
    }
  }

  void work() {
    const FloatEnv env;
    const int worker = joined.fetch_add(1, std::memory_order_relaxed), own = worker_slot() % share_count;
    for (int i = 0; i < share_count; ++i) {
      Share& share = shares[static_cast<std::size_t>((own + i) % share_count)];
      for (std::int64_t part; (part = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
        piece(context, worker, edge(part), edge(part + 1));
    }
  }

  /// The start of a part.
  std::int64_t edge(std::int64_t part) const {
    // grains * part / parts without overflow
    const std::int64_t g = grains / parts * part + grains % parts * part / parts;
    return part == parts ? extent : g * grain;
  }
};

void work_on(void* context) {
  const ForkGuardOfWorker guard;
  SharedLoop& loop = *static_cast<SharedLoop*>(context);
  (void)loop.open.load(std::memory_order_acquire);
  loop.work();
  loop.finished.fetch_add(1, std::memory_order_release);
}

}  // namespace

int num_threads() {
  if (lost_workers.load(std::memory_order_relaxed)) return 1;
  if (limit_of_thread > 0) return limit_of_thread;
  int n = process_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    int none = 0;
    n = default_threads();
    if (!process_threads.compare_exchange_strong(none, n)) n = none;
  }
  return n;
}

void set_num_threads(int n) {
  check(n);
  process_threads.store(std::min(n, max_threads));
}

ThreadLimit::ThreadLimit(int n) : outer_(limit_of_thread) {
  check(n);
  limit_of_thread = std::min(n, max_threads);
}

ThreadLimit::~ThreadLimit() { limit_of_thread = outer_; }

int workers_for(std::int64_t extent, std::int64_t grain, int threads) {
  return static_cast<int>(std::min<std::int64_t>(threads, pieces_of(extent, grain)));
}

void forget_workers() noexcept {
  if (max_workers.exchange(0) == 0) return;
  lost_workers = true;
  forget_arena();
}

void parallel_pieces(std::int64_t extent, std::int64_t grain, int threads, PieceFn piece, void* context) {
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t grains = pieces_of(extent, grain);
  const int workers = workers_for(extent, grain, threads);
  if (workers <= 1 || !may_have(workers)) {
    const FloatEnv env;
    if (extent > 0) piece(context, 0, 0, extent);
    return;
  }
  const ForkGuard guard;
  // More parts than threads, so that a delayed thread costs one part instead of its whole share.
  const std::int64_t parts = std::min<std::int64_t>(grains, std::int64_t{4} * workers);
  SharedLoop loop{.piece = piece,
                  .context = context,
                  .extent = extent,
                  .grain = grain,
                  .grains = grains,
                  .parts = parts,
                  .share_count = std::min(workers, SharedLoop::max_shares)};
  loop.deal();
  loop.open.store(true, std::memory_order_release);
  run_on_workers(threads, workers, work_on, &loop);
  while (loop.finished.load(std::memory_order_acquire) != workers) std::this_thread::yield();
}

}  // namespace kiln
