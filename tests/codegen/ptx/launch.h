// One launch of a kernel on the emulated device.
#pragma once
#include "kernel.h"
#include "memory.h"
#include "thread.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace kiln::ptx {

class Fiber;

struct Extent {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// One launch of a kernel. Threads of a kernel without barriers and shuffles run one after another. Threads
/// of other kernels are fibers, which switch there, block by block. KILN_PTX_SEED chooses the orders.
///
/// The first defect is told on stderr and ends the launch. It leaves the fibers where they are: code that may
/// leave them owns nothing then.
class Launch {
 public:
  Launch(const Kernel& kernel, Extent grid, Extent block, std::size_t shared_bytes, const void* parameters,
         Memory& memory);

  enum Result { done, illegal_address, failed };
  Result run();

  // The functions that kernels call, thread.h.
  void* access(Thread&, std::uint64_t address, std::uint32_t bytes, bool writes, Space, std::uint32_t line);
  void barrier(Thread&, std::uint32_t id, bool is_aligned, std::uint32_t line);
  std::uint64_t shuffle(Thread&, std::uint32_t value, std::uint32_t by, std::uint32_t clamp,
                        std::uint32_t mask, Shuffle, std::uint32_t line);
  std::uint32_t vote(Thread&, bool value, std::uint32_t mask, Vote, std::uint32_t line);
  void mma(Thread&, MmaFragments&, Mma, std::uint32_t line);
  /// Ends the launch. Returns only if no fiber runs.
  void fail(const Thread&, const char* what, std::uint32_t line);

 private:
  static constexpr std::uint32_t warp_size = 32;
  struct Waiting;

  /// Tells message_, what the thread does at the line, and ends the launch.
  void fail(const Thread&, std::uint32_t line, Result result = failed);
  void print(const Thread&, std::uint32_t line) const;

  void run_plain();
  void run_blocks();
  void run_block(std::uint64_t block);
  void start_epoch();
  void prepare(Thread&, std::size_t slot);
  void place(Thread&, std::uint32_t block, std::uint32_t number);
  void leave();  ///< the fiber that runs now

  void* access_shared(Thread&, std::uint64_t offset, std::uint32_t bytes, bool writes, std::uint32_t line);
  void* access_global(Thread&, std::uint64_t address, std::uint32_t bytes, bool writes, bool is_constant,
                      std::uint32_t line);
  /// Sets message_.
  void describe(const Thread&, const Found&, const char* memory, std::uint64_t address, std::uint32_t bytes,
                bool writes);
  std::string name_of(std::uint64_t block, std::uint64_t thread) const;
  std::string name_of(Mark) const;

  /// Returns when the mask's lanes wait at the same instruction and have their results.
  void meet(Thread&, Waiting);
  bool all_there(const Thread&) const;
  void exchange(const Thread&);
  void multiply_fragments(const Thread&);
  void tell_deadlock();

  const Kernel& kernel_;
  Extent grid_, block_;
  std::size_t shared_bytes_;
  const void* parameters_;
  Memory& memory_;
  Result result_ = done;
  std::string message_;
  Period period_{}, shared_period_{};
  /// Blocks by their marks, for messages.
  struct Epoch {
    Mark first;
    std::uint64_t block;
  };
  std::vector<Epoch> epochs_;
  /// Of the instructions' last accesses, by line.
  std::array<Allocation*, 64> allocations_{};

  // Of the block that runs.
  struct Waiting {
    enum Kind { nothing, ended, barrier, shuffle, vote, mma } kind = nothing;
    std::uint32_t line = 0;
    std::uint32_t id = 0;  ///< of the barrier, or the mode; of an mma, the line
    bool is_aligned = false;
    bool is_ready = true;
    std::uint32_t mask = 0, value = 0, by = 0, clamp = 0;
    MmaFragments* fragments = nullptr;
    std::uint64_t result = 0;
  };
  std::vector<Thread> threads_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> order_;
  std::mt19937 random_;
  bool is_new_epoch_ = false;
  Fiber* running_ = nullptr;
  friend struct Machine;
};

}  // namespace kiln::ptx
