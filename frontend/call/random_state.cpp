// The streams of random numbers.
#include "frontend/call/random_state.h"

#include "frontend/call/call_context.h"
#include "frontend/call/trace.h"
#include "runtime/fork_gate.h"

#include <kiln/random.h>

#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <utility>

namespace kiln {
namespace {

// The key of the initializers is at a fixed distance from the program's.
constexpr std::uint64_t initializer_key = 0x9e3779b97f4a7c15ull;

/// A stream whose counters any thread takes without a lock, as a bound call in real time does. A thread
/// that sets it makes `version` odd meanwhile. Counters that were taken of the old and the new state at once
/// are left out, and the thread takes others.
class Stream {
 public:
  constexpr explicit Stream(std::uint64_t seed) : seed_(seed) {}

  RandomState take(std::int64_t draws) {
    for (;;) {
      const std::uint64_t before = version_.load(std::memory_order_acquire);
      if (before % 2 != 0) continue;
      RandomState taken;
      taken.seed = seed_.load(std::memory_order_acquire);
      taken.counter = counter_.fetch_add(static_cast<std::uint64_t>(draws), std::memory_order_acq_rel);
      if (version_.load(std::memory_order_relaxed) == before) return taken;
    }
  }
  // Under the mutex of all streams.
  RandomState get() const { return {seed_.load(), counter_.load()}; }
  void set(const RandomState& state) {
    version_.fetch_add(1);
    seed_.store(state.seed);
    counter_.store(state.counter);
    version_.fetch_add(1);
  }

 private:
  std::atomic<std::uint64_t> version_{0}, seed_, counter_{0};
};

struct Streams {
  Mutex mutex;
  Stream streams[2] = {Stream(0), Stream(initializer_key)};
};

// Made before main(): a run in real time that draws first must not allocate it.
constinit Streams process_streams;

RandomState take(RandomState& from, std::int64_t draws) {
  const RandomState taken = from;
  from.counter += static_cast<std::uint64_t>(draws);
  return taken;
}

}  // namespace

RandomState reserve_random(std::int64_t draws) {
  if (draws <= 0) return {};
  const CallContext& context = CallContext::current();
  if (context.random_block && context.stream == RandomStream::program)
    return take(*context.random_block, draws);
  return process_streams.streams[static_cast<int>(context.stream)].take(draws);
}

RandomBlock::RandomBlock(std::int64_t draws) : RandomBlock(reserve_random(draws)) {}
RandomBlock::RandomBlock(RandomState first)
    : block_(first), outer_(std::exchange(CallContext::current().random_block, &block_)) {}
RandomBlock::~RandomBlock() { CallContext::current().random_block = outer_; }

RandomStreamScope::RandomStreamScope(RandomStream stream)
    : outer_(std::exchange(CallContext::current().stream, stream)) {}
RandomStreamScope::~RandomStreamScope() { CallContext::current().stream = outer_; }

namespace {

/// The streams move when the program runs, not while a network is recorded.
void leave_recording(const char* what) {
  if (Trace* const trace = Trace::current())
    trace->leave(fmt::format("it calls {}, and streams of random numbers move when a program runs", what));
}

}  // namespace

void random::seed(std::uint64_t seed) {
  leave_recording("random::seed()");
  Streams& all = process_streams;
  std::lock_guard lock(all.mutex);
  all.streams[0].set({seed, 0});
  all.streams[1].set({seed ^ initializer_key, 0});
}

random::State random::state() {
  leave_recording("random::state()");
  Streams& all = process_streams;
  std::lock_guard lock(all.mutex);
  const RandomState program = all.streams[0].get(), initializer = all.streams[1].get();
  return {{program.seed, program.counter}, {initializer.seed, initializer.counter}};
}

void random::restore(const State& state) {
  leave_recording("random::restore()");
  Streams& all = process_streams;
  std::lock_guard lock(all.mutex);
  all.streams[0].set({state.program.seed, state.program.counter});
  all.streams[1].set({state.initializer.seed, state.initializer.counter});
}

}  // namespace kiln
