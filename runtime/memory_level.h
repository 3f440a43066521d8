// Counts of bytes for the memory report.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

/// The bytes of arrays and arenas for the memory report. Each thread has a separate count, and adds its
/// change to the level of the process only when the change exceeds `slack`. An atomic addition to shared
/// memory costs several nanoseconds, and a small call would do four of them.
namespace kiln::memory {

/// The purpose of a block: elements of an array, temporaries of a running call, or a constant of an
/// executable.
enum class Use : std::uint8_t { array, arena, constant };

/// The maximum of a thread's bytes that the level of the process does not include yet.
constexpr std::int64_t slack = 64 * 1024;

/// The level of the process, shared by all threads.
class ProcessLevel {
 public:
  /// `highest` is the maximum of `change` since the last addition.
  void add(std::int64_t change, std::int64_t arenas, std::int64_t highest) noexcept {
    if (arenas != 0) arenas_.fetch_add(arenas, std::memory_order_relaxed);
    const std::int64_t before = held_.fetch_add(change, std::memory_order_relaxed);
    std::int64_t seen = peak_.load(std::memory_order_relaxed);
    while (before + highest > seen &&
           !peak_.compare_exchange_weak(seen, before + highest, std::memory_order_relaxed)) {
    }
  }
  std::int64_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
  std::int64_t arenas() const noexcept { return arenas_.load(std::memory_order_relaxed); }
  std::int64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  void reset_peak(std::int64_t level) noexcept { peak_.store(level, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> held_{0};  // arrays and arenas
  std::atomic<std::int64_t> arenas_{0};
  std::atomic<std::int64_t> peak_{0};  // of held_
};

/// The change of one thread since its last addition to the level of the process. Written by its thread; any
/// thread may read it.
class ThreadLevel {
 public:
  /// `bytes` are negative for a freed block.
  void count(ProcessLevel& process, std::int64_t bytes, Use use) noexcept {
    if (use == Use::arena) arenas_.store(arenas() + bytes, std::memory_order_relaxed);
    const std::int64_t now = change() + bytes;
    change_.store(now, std::memory_order_relaxed);
    if (now > highest()) highest_.store(now, std::memory_order_relaxed);
    if (now > slack || now < -slack) [[unlikely]]
      add_to(process);
  }
  void add_to(ProcessLevel& process) noexcept {
    process.add(change(), arenas(), highest());
    change_.store(0, std::memory_order_relaxed);
    arenas_.store(0, std::memory_order_relaxed);
    highest_.store(0, std::memory_order_relaxed);
  }
  std::int64_t change() const noexcept { return change_.load(std::memory_order_relaxed); }
  std::int64_t arenas() const noexcept { return arenas_.load(std::memory_order_relaxed); }
  std::int64_t highest() const noexcept { return highest_.load(std::memory_order_relaxed); }
  void reset_highest() noexcept { highest_.store(change(), std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> change_{0};   // arrays and arenas
  std::atomic<std::int64_t> arenas_{0};   // the part of change_ that is arenas
  std::atomic<std::int64_t> highest_{0};  // maximum of change_
};

}  // namespace kiln::memory
