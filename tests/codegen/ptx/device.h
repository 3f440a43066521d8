// The state that the functions of the emulated driver share.
#pragma once
#include "graph.h"
#include "kernel.h"
#include "launch.h"
#include "memory.h"
#include "stream.h"

#include <map>
#include <mutex>
#include <set>

namespace kiln::ptx {

struct Link;

/// Memory of cuMemHostAlloc.
struct PinnedMemory {
  std::size_t bytes;
  std::size_t copies = 0;  ///< that are not done
};

struct Device {
  std::mutex mutex;  ///< one call at a time: the device has one engine
  Memory memory;
  Streams streams;
  std::set<Kernel*> modules;
  std::map<const void*, PinnedMemory> pinned;
  Graphs graphs;
  std::uint64_t allocations = 0, launches = 0, compilations = 0;  ///< calls so far
  int contexts = 0;                                               ///< references to the primary context
  std::set<Link*> links;

  /// The pinned memory that has all of these bytes, or null.
  PinnedMemory* find_pinned(const void* at, std::size_t bytes);
  /// Does the work, and what the default stream's rules say before it.
  int do_now(std::function<int()> work);
};

Device& device();
using Lock = std::lock_guard<std::mutex>;

/// Of CUresult, which Kiln does not test.
constexpr int invalid_context = 201, no_binary = 209, invalid_handle = 400, not_ready = 600,
              launch_failed = 719;

/// The compute capability, 80 for 8.0.
unsigned capability();

/// Makes the work of a launch, which has copied the parameters. A result of the driver.
int prepare_launch(void* function, Extent grid, Extent block, unsigned shared_bytes, void** parameters,
                   std::function<int()>& work);

/// Whether the variable says that call number `count` fails.
bool is_to_fail(const char* variable, std::uint64_t count);

}  // namespace kiln::ptx
