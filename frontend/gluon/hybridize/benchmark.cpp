// The times of calls and their tables, for programs and for `kiln bench`.
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "runtime/fail.h"
#include "runtime/median.h"

#include <kiln/autograd.h>
#include <kiln/benchmark.h>
#include <kiln/memory.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>

namespace kiln {
namespace {

using BenchmarkClock = std::chrono::steady_clock;

double microseconds_since(BenchmarkClock::time_point begin) {
  return std::chrono::duration<double, std::micro>(BenchmarkClock::now() - begin).count();
}

double timed(const std::function<void()>& call) {
  const auto begin = BenchmarkClock::now();
  call();
  return microseconds_since(begin);
}

double deviation_of(std::vector<double> times, double median) {
  for (double& t : times) t = std::abs(t - median);
  return median_of(times);
}

}  // namespace

Timing time_calls(std::string mode, const std::function<void()>& call, const BenchmarkOptions& options) {
  constexpr std::size_t min_samples = 5, max_samples = 1'000'000;
  if (!call) fail("time_calls() needs a call, and this function is empty");
  const double time = options.seconds * 1e6, short_time = time / 10;
  Timing t{.mode = std::move(mode), .first_us = timed(call)};
  for (const auto begin = BenchmarkClock::now(); microseconds_since(begin) < short_time;) call();

  reset_peak_memory();
  std::vector<double> times;
  const auto begin = BenchmarkClock::now();
  do times.push_back(timed(call));
  while (times.size() < min_samples || (times.size() < max_samples && microseconds_since(begin) < time));
  t.peak_bytes = memory_report().peak_bytes;
  t.samples = times.size();
  t.median_us = median_of(times);
  t.min_us = *std::min_element(times.begin(), times.end());
  t.deviation_us = deviation_of(std::move(times), t.median_us);
  if (!options.kernels && options.trace.empty()) return t;

  const Profile profile;
  const auto profiled = BenchmarkClock::now();
  do call();
  while (++t.profiled_calls < static_cast<std::int64_t>(min_samples) ||
         microseconds_since(profiled) < short_time);
  if (options.kernels) t.kernels = profile.kernels();
  if (!options.trace.empty()) profile.chrome_trace(options.trace);
  return t;
}

std::optional<double> speed_up(std::span<const Timing> timings, const Timing& timing) {
  const auto eager =
      std::find_if(timings.begin(), timings.end(), [](const Timing& t) { return t.mode == "eager"; });
  if (eager == timings.end() || timing.mode == "eager" || !(timing.median_us > 0)) return {};
  return eager->median_us / timing.median_us;
}

std::string times_table(std::span<const Timing> timings) {
  std::string out = fmt::format("{:8} {:>10} {:>7} {:>10} {:>8} {:>9}\n", "mode", "median us", "+-", "min us",
                                "samples", "speed-up");
  for (const Timing& t : timings) {
    const auto faster = speed_up(timings, t);
    const double deviation = t.median_us > 0 ? 100 * t.deviation_us / t.median_us : 0;
    out += fmt::format("{:8} {:>10.2f} {:>6.1f}% {:>10.2f} {:>8} {:>9}\n", t.mode, t.median_us, deviation,
                       t.min_us, t.samples, faster ? fmt::format("{:.2f}", *faster) : "-");
  }
  return out + "+-: median distance from the median; speed-up: of the medians, against eager\n";
}

std::string kernels_table(const Timing& timing) {
  const auto time = [](const Profile::Kernel& k) { return k.median_seconds * static_cast<double>(k.runs); };
  std::vector<Profile::Kernel> kernels = timing.kernels;
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&](const auto& a, const auto& b) { return time(a) > time(b); });
  double all = 0;
  for (const Profile::Kernel& k : kernels) all += time(k);
  std::string out = fmt::format("{}: time by kernel, median of a run in {} calls\n{:>10} {:>6} {:>6}  {}\n",
                                timing.mode, timing.profiled_calls, "median us", "runs", "share", "kernel");
  for (const Profile::Kernel& k : kernels)
    out += fmt::format("{:>10.2f} {:>6.4g} {:>5.1f}%  {}{}{}\n", k.median_seconds * 1e6,
                       static_cast<double>(k.runs) / static_cast<double>(timing.profiled_calls),
                       all > 0 ? 100 * time(k) / all : 0, k.name,
                       k.lines.empty() ? "" : " (" + k.lines.front() + ")",
                       k.schedule.empty() ? "" : ": " + k.schedule);
  return out + "runs: of one call; share: median times runs\n";
}

std::ostream& operator<<(std::ostream& os, const Benchmark& benchmark) {
  const CompiledCall& c = benchmark.compiled;
  os << times_table(benchmark.timings)
     << fmt::format("compiled: {:.1f} ms to compile, {} kernels, {} bytes of temporaries\n", c.compile_ms,
                    c.kernels, c.arena_bytes);
  for (const Timing& t : benchmark.timings)
    if (!t.kernels.empty()) os << "\n" << kernels_table(t);
  return os;
}

Benchmark benchmark(HybridBlock& net, const Tensors& inputs, const BenchmarkOptions& options,
                    std::source_location where) {
  return at_line(where, [&] {
    if (!detail::BlockAccess::state(net).active)
      fail(
          "benchmark() compares eager with compiled calls, and {} is not hybridized: call hybridize() before",
          net.name());
    Benchmark result;
    const auto call = [&] {
      net(inputs, where);
      waitall();
    };
    {
      const CheckScope not_hybridized;
      BenchmarkOptions untraced = options;
      untraced.trace.clear();
      result.timings.push_back(time_calls("eager", call, untraced));
    }
    result.timings.push_back(time_calls("compiled", call, options));
    const CallSignature signature(inputs, autograd::is_training());
    for (CompiledCall& c : net.compiled_calls())
      if (c.inputs == signature.inputs_str() && c.train == signature.train) result.compiled = std::move(c);
    if (!result.compiled.compiled)
      fail("the call of {} is not compiled, so that there is nothing to compare: {}", net.name(),
           result.compiled.eager_because);
    return result;
  });
}

}  // namespace kiln
