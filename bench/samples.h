// Times of a call: minimum and median over samples.
#pragma once
#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <ctime>
#include <vector>

namespace bench {

/// CPU time of all threads of this process in us.
inline double cpu_us() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

/// Times `call` for as long as Google Benchmark requests. Adds counters min_us, median_us and min_cpu_us over
/// samples of 2 ms or one call. On a shared machine, the mean also measures other users; so does the wall
/// time of every call that takes longer than the scheduler's time slices.
template <class Call>
void time_calls(benchmark::State& state, const Call& call) {
  using clock = std::chrono::steady_clock;
  using us = std::chrono::duration<double, std::micro>;
  constexpr double sample_us = 2000;
  std::vector<double> samples, cpu_samples;
  const auto sample = [&](benchmark::IterationCount calls) {
    const double cpu_begin = cpu_us();
    const auto begin = clock::now();
    for (benchmark::IterationCount i = 0; i < calls; ++i) benchmark::DoNotOptimize(call());
    samples.push_back(us(clock::now() - begin).count() / static_cast<double>(calls));
    cpu_samples.push_back((cpu_us() - cpu_begin) / static_cast<double>(calls));
  };
  sample(1);
  const benchmark::IterationCount calls =
      1 + static_cast<benchmark::IterationCount>(sample_us / std::max(samples.front(), 0.01));
  samples.clear();
  cpu_samples.clear();
  // Exactly as many calls as requested: repetitions must agree on the number.
  benchmark::IterationCount left = state.max_iterations, n = std::min(calls, left);
  while (state.KeepRunningBatch(n)) {
    sample(n);
    left -= n;
    n = std::clamp<benchmark::IterationCount>(left, 1, calls);
  }
  if (samples.empty()) return;
  std::sort(samples.begin(), samples.end());
  state.counters["min_us"] = samples.front();
  state.counters["median_us"] = samples[samples.size() / 2];
  state.counters["min_cpu_us"] = *std::min_element(cpu_samples.begin(), cpu_samples.end());
}

}  // namespace bench
