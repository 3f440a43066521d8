// The model of the machine that kernels are tuned for.
#pragma once
#include <kiln/export.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::codegen {

/// Where a number of the model is from: Linux or the C library, KILN_MACHINE, a measurement of this process,
/// one that the disk cache kept, or none of them.
enum class Source { assumed, sysfs, sysconf, pinned, measured, kept };
const char* name_of(Source source);

/// A data cache.
struct Cache {
  std::int64_t bytes = 0;
  int ways = 0;
  Source source = Source::assumed;
};

/// How one core streams through arrays. Nothing reports these numbers, or truly: a virtual machine of two
/// cores may report the L3 of its host. Rates are in GB/s, and coarse: see coarse().
struct Streams {
  /// The share of L3 that serves a core, a power of two; 0 if L3 is no faster than memory. It is the largest
  /// result that is written and read again faster through the caches than past them.
  std::int64_t l3_bytes = std::int64_t{16} << 20;
  std::int64_t l1_read = 192, l2_read = 96, l3_read = 32, memory_read = 16;
  /// Copies: results stored through L3 and past the caches.
  std::int64_t cached_write = 12, streaming_write = 12;
  std::int64_t l3_latency = 64;  ///< of a load that misses L2, in ns
  /// Speed of a streaming loop with prefetches, in percent of the same loop without.
  std::int64_t prefetch_speed = 100;
  Source source = Source::assumed;

  bool operator==(const Streams&) const = default;
};

/// A number of Streams: its name in KILN_MACHINE and in the disk cache, and how it is written.
struct StreamFact {
  enum class Unit { bytes, rate, nanoseconds, percent };
  std::string_view name;
  std::int64_t Streams::*value;
  Unit unit;
  const char* meaning;  ///< for people
};
const std::array<StreamFact, 9>& stream_facts();

/// The nearest of 1, 1.5, 2, 3, 4, 6, 8, 12 ...: half an octave is more than two measurements differ by.
KILN_API std::int64_t coarse(double value);
/// "l3=16M,read-l1=192,...": every number of `streams`, as KILN_MACHINE and the disk cache have them.
KILN_API std::string text_of(const Streams& streams);

/// The machine to tune kernels for, beyond its instruction set. Its numbers choose sizes of blocks,
/// prefetches and kinds of stores, by the formulas of choices.h; no bit depends on them.
class Machine {
 public:
  /// Every number assumed.
  Machine() : streams_(Streams{}) {}
  /// This machine: caches from sysfs, else from the C library; Streams at first use.
  KILN_API static Machine of_host();
  /// The machine that `text` describes: "l1=48K/12,l2=2M/16,l3=16M,read-l3=24" and so on. Other numbers are
  /// assumed, so that nothing depends on the machine at hand; if the text begins with "host", they are this
  /// machine's. Throws kiln::Error for any other text.
  KILN_API static Machine of_text(std::string_view text);

  Cache l1{32 * 1024, 8}, l2{1024 * 1024, 16};
  /// As reported, for people; its share of a core is Streams::l3_bytes.
  std::optional<Cache> l3;
  std::int64_t l3_cpus = 1;  ///< that share it

  /// Taken from the disk cache, or measured in 50 ms and kept there: at the first call in a process for this
  /// machine. Choices ask only for arrays that do not fit L2. Any thread; fork() waits for it.
  KILN_API const Streams& streams() const;

 private:
  std::optional<Streams> streams_;  // null: the host's
};

/// The machine for code that is for no CPU in particular, such as a GPU's threads. Prefetch instructions do
/// not speed up its streaming loops, which thus have none.
const Machine& assumed_machine();
/// The model that KILN_MACHINE describes; this machine's if it is unset. Made once. Any thread. Throws
/// kiln::Error if KILN_MACHINE is no description.
const Machine& machine();

}  // namespace kiln::codegen
