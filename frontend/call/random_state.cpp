// The streams of random numbers.
#include "frontend/call/random_state.h"

#include "frontend/call/call_context.h"
#include "frontend/call/trace.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"

#include <kiln/random.h>

#include <fmt/format.h>
#include <mutex>
#include <utility>

namespace kiln {
namespace {

// The key of the initializers is at a fixed distance from the program's.
constexpr std::uint64_t initializer_key = 0x9e3779b97f4a7c15ull;

struct Streams {
  Mutex mutex;
  RandomState streams[2] = {{0, 0}, {initializer_key, 0}};
};

Streams& all_streams() {
  return once<[] { return Streams(); }>();
}

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
  Streams& all = all_streams();
  std::lock_guard lock(all.mutex);
  return take(all.streams[static_cast<int>(context.stream)], draws);
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
  Streams& all = all_streams();
  std::lock_guard lock(all.mutex);
  all.streams[0] = {seed, 0};
  all.streams[1] = {seed ^ initializer_key, 0};
}

random::State random::state() {
  leave_recording("random::state()");
  Streams& all = all_streams();
  std::lock_guard lock(all.mutex);
  const auto [program, initializer] = all.streams;
  return {{program.seed, program.counter}, {initializer.seed, initializer.counter}};
}

void random::restore(const State& state) {
  leave_recording("random::restore()");
  Streams& all = all_streams();
  std::lock_guard lock(all.mutex);
  all.streams[0] = {state.program.seed, state.program.counter};
  all.streams[1] = {state.initializer.seed, state.initializer.counter};
}

}  // namespace kiln
