// The bandwidths of one core. Minima of short passes, in turns where two are compared: a disturbance makes a
// pass longer.
#include "codegen/target/measure.h"

#include "runtime/memory_system.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <emmintrin.h>
#include <memory>

namespace kiln::codegen {
namespace {

using Clock = std::chrono::steady_clock;

/// No new pass begins after it. The longest pass takes 15 ms where L3 is slow.
constexpr auto budget = std::chrono::milliseconds(30);
/// The longest array that is measured: twice as long ones are past any core's share of the caches.
constexpr std::int64_t longest = std::int64_t{16} << 20;
constexpr std::int64_t line = 64, page = 4096;

struct Free {
  std::size_t bytes;
  void operator()(char* block) const { memory::system_free(block, bytes); }
};
/// As arrays have it, not from the pool, which would keep it. So large a block is fresh: zeros, whose sums no
/// processor computes slowly. Null if there is none.
std::unique_ptr<char, Free> memory_of(std::int64_t bytes) {
  const auto count = static_cast<std::size_t>(bytes);
  return {static_cast<char*>(memory::system_allocate(count)), Free{count}};
}

using Vector128 = float __attribute__((vector_size(16)));
using Vector256 = float __attribute__((vector_size(32)));
using Vector512 = float __attribute__((vector_size(64)));
/// Bytes that a read loads at once, whatever the width.
constexpr std::int64_t read_unit = 4 * sizeof(Vector512);

/// Loads and sums all elements, a vector of the instruction set's own width at once: wider loads read L1 and
/// L2 faster, L3 and memory not. GCC keeps vectors wider than registers in memory: their sums would measure
/// its latency. Four accumulators hide the latency of additions.
template <class Vector>
[[gnu::always_inline]] inline void sum(const char* from, std::int64_t bytes) {
  Vector a = {}, b = {}, c = {}, d = {};
  const auto* at = reinterpret_cast<const Vector*>(from);
  for (const auto* const end = reinterpret_cast<const Vector*>(from + bytes); at < end; at += 4) {
    a += at[0];
    b += at[1];
    c += at[2];
    d += at[3];
  }
  const Vector total = (a + b) + (c + d);
  asm volatile("" : : "m"(total));
}
void read_baseline(const char* from, std::int64_t bytes) { sum<Vector128>(from, bytes); }
[[gnu::target("avx2")]] void read_avx2(const char* from, std::int64_t bytes) { sum<Vector256>(from, bytes); }
[[gnu::target("avx512f")]] void read_avx512(const char* from, std::int64_t bytes) {
  sum<Vector512>(from, bytes);
}

using Read = void (*)(const char*, std::int64_t);

/// The variant of a function for the processor.
template <class Function>
Function widest(Function avx512, Function avx2, Function baseline) {
  return __builtin_cpu_supports("avx512f") ? avx512 : __builtin_cpu_supports("avx2") ? avx2 : baseline;
}

/// The sums of two arrays, as kernels compute them, with and without prefetches a page ahead.
template <class Vector, bool prefetch>
[[gnu::always_inline]] inline void add(const char* a, const char* b, char* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += line) {
    if (prefetch) {
      __builtin_prefetch(a + i + page);
      __builtin_prefetch(b + i + page);
    }
    for (std::int64_t part = i; part < i + line; part += sizeof(Vector))
      *reinterpret_cast<Vector*>(to + part) =
          *reinterpret_cast<const Vector*>(a + part) + *reinterpret_cast<const Vector*>(b + part);
  }
  asm volatile("" : : : "memory");
}
using Add = void (*)(const char* a, const char* b, char* to, std::int64_t bytes);
template <bool prefetch>
void add_baseline(const char* a, const char* b, char* to, std::int64_t bytes) {
  add<Vector128, prefetch>(a, b, to, bytes);
}
template <bool prefetch>
[[gnu::target("avx2")]] void add_avx2(const char* a, const char* b, char* to, std::int64_t bytes) {
  add<Vector256, prefetch>(a, b, to, bytes);
}
template <bool prefetch>
[[gnu::target("avx512f")]] void add_avx512(const char* a, const char* b, char* to, std::int64_t bytes) {
  add<Vector512, prefetch>(a, b, to, bytes);
}

enum class Store { cached, past_caches };

template <Store store>
void copy(const char* from, char* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += line) {
    for (std::int64_t part = 0; part < line; part += 16) {
      const __m128 value = _mm_load_ps(reinterpret_cast<const float*>(from + i + part));
      auto* const place = reinterpret_cast<float*>(to + i + part);
      store == Store::cached ? _mm_store_ps(place, value) : _mm_stream_ps(place, value);
    }
  }
  if (store == Store::past_caches) _mm_sfence();
  asm volatile("" : : : "memory");
}

/// The seconds of `work`.
template <class Work>
double time(const Work& work) {
  const auto start = Clock::now();
  work();
  return std::max(std::chrono::duration<double>(Clock::now() - start).count(), 1e-9);
}

/// Least seconds.
struct Least {
  double seconds = 1e9;
  void add(double s) { seconds = std::min(seconds, s); }
  std::int64_t rate(std::int64_t bytes) const { return coarse(1e-9 * static_cast<double>(bytes) / seconds); }
};

class Measurement {
 public:
  Measurement(const Machine& machine, char* memory)
      : machine_(machine), from_(memory), to_(memory + longest), deadline_(Clock::now() + budget) {}

  Streams run() {
    const std::int64_t first = std::min(
        2 * static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(machine_.l2.bytes))), longest);
    result_.source = Source::measured;
    result_.l3_bytes = 0;
    touch(first);
    result_.l1_read = rate_of_reads(machine_.l1.bytes / 2);
    result_.l2_read = rate_of_reads(std::min(machine_.l2.bytes / 2, longest));
    measure_latency(first);
    compare_writes(first, true);
    std::int64_t bytes = first;
    while (bytes < longest && !late()) {
      touch(bytes *= 2);
      compare_writes(bytes, false);
    }
    measure_prefetch(bytes / 2);
    return result_;
  }

 private:
  bool late() const { return Clock::now() > deadline_; }

  /// Makes the first `bytes` separate pages: pages that are only read would all be one.
  void touch(std::int64_t bytes) {
    for (std::int64_t i = 0; i < bytes; i += page) from_[i] = to_[i] = 0;
  }

  std::int64_t rate_of_reads(std::int64_t bytes) {
    bytes = bytes / read_unit * read_unit;
    const std::int64_t times = std::max<std::int64_t>(page * line / bytes, 1);
    Least least;
    for (int pass = 0; pass < 5; ++pass)
      least.add(time([&] {
        for (std::int64_t i = 0; i < times; ++i) read(from_, bytes);
      }));
    return least.rate(bytes * times);
  }

  /// Whether a result of this size is written and read again faster through the caches than past them: then
  /// it is in the core's share of L3. It must be faster by an eighth: stores past the caches leave them to
  /// other arrays.
  void compare_writes(std::int64_t bytes, bool keeps_rates) {
    // Short passes are disturbed more: up to 8 of them, 2 of the longest.
    const std::int64_t passes = std::clamp<std::int64_t>(longest / bytes, 2, 8);
    Least cached, cached_read, past, past_read;
    for (std::int64_t pass = 0; pass < passes && (pass == 0 || !late()); ++pass) {
      // Twice each: the first finds the result where the other kind of store has left it.
      for (int twice = 0; twice < 2; ++twice) {
        cached.add(time([&] { copy<Store::cached>(from_, to_, bytes); }));
        cached_read.add(time([&] { read(to_, bytes); }));
      }
      for (int twice = 0; twice < 2; ++twice) {
        past.add(time([&] { copy<Store::past_caches>(from_, to_, bytes); }));
        past_read.add(time([&] { read(to_, bytes); }));
      }
    }
    if (9 * (cached.seconds + cached_read.seconds) < 8 * (past.seconds + past_read.seconds))
      result_.l3_bytes = bytes;
    if (!keeps_rates) return;
    result_.cached_write = cached.rate(bytes);
    result_.streaming_write = past.rate(bytes);
    result_.l3_read = cached_read.rate(bytes);
    result_.memory_read = past_read.rate(bytes);
  }

  /// Loads that wait for each other, in an order that no prefetcher detects.
  void measure_latency(std::int64_t bytes) {
    constexpr int loads = 512;
    read(from_, bytes);  // its second half drives the first from L2
    const auto lines = static_cast<std::uint64_t>(bytes / 2 / line);
    Least least;
    std::uint64_t at = 1;
    for (int pass = 0; pass < 12; ++pass)
      least.add(time([&] {
        for (int i = 0; i < loads; ++i) {
          at = at * 6364136223846793005U + 1442695040888963407U;
          const volatile char* const place = from_ + (at >> 33) % lines * line;
          at += static_cast<std::uint64_t>(*place);
        }
      }));
    result_.l3_latency = coarse(1e9 * least.seconds / loads);
  }

  /// For two operands of `bytes` bytes each.
  void measure_prefetch(std::int64_t bytes) {
    const Add add = widest<Add>(add_avx512<false>, add_avx2<false>, add_baseline<false>),
              add_ahead = widest<Add>(add_avx512<true>, add_avx2<true>, add_baseline<true>);
    deadline_ = Clock::now() + budget / 3;
    Least plain, ahead;
    for (int pass = 0; pass < 2 || (pass < 12 && !late()); ++pass) {
      plain.add(time([&] { add(from_, from_ + bytes, to_, bytes); }));
      ahead.add(time([&] { add_ahead(from_, from_ + bytes, to_, bytes); }));
    }
    const auto percent = static_cast<std::int64_t>(100 * plain.seconds / ahead.seconds);
    result_.prefetch_speed = std::clamp<std::int64_t>((percent + 2) / 5 * 5, 50, 200);
  }

  const Machine& machine_;
  char *from_, *to_;
  const Read read = widest<Read>(read_avx512, read_avx2, read_baseline);
  Clock::time_point deadline_;
  Streams result_;
};

}  // namespace

Streams measure_streams(const Machine& machine) {
  // Prefetches run a page ahead of the end.
  const auto memory = memory_of(2 * longest + page);
  return memory ? Measurement(machine, memory.get()).run() : Streams();
}

}  // namespace kiln::codegen
