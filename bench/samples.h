#pragma once
#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <vector>

namespace bench {

/// Times `call` for as long as Google Benchmark requests. Adds counters min_us and median_us over samples of
/// 2 ms or one call: on a shared machine, the mean also measures other users.
template <class Call>
void time_calls(benchmark::State& state, const Call& call) {
  using clock = std::chrono::steady_clock;
  using us = std::chrono::duration<double, std::micro>;
  constexpr double sample_us = 2000;
  const auto time = [&](benchmark::IterationCount calls) {
    const auto begin = clock::now();
    for (benchmark::IterationCount i = 0; i < calls; ++i) benchmark::DoNotOptimize(call());
    return us(clock::now() - begin).count();
  };
  const benchmark::IterationCount calls =
      1 + static_cast<benchmark::IterationCount>(sample_us / std::max(time(1), 0.01));
  std::vector<double> samples;
  // Exactly as many calls as requested: repetitions must agree on the number.
  benchmark::IterationCount left = state.max_iterations, n = std::min(calls, left);
  while (state.KeepRunningBatch(n)) {
    samples.push_back(time(n) / static_cast<double>(n));
    left -= n;
    n = std::clamp<benchmark::IterationCount>(left, 1, calls);
  }
  if (samples.empty()) return;
  std::sort(samples.begin(), samples.end());
  state.counters["min_us"] = samples.front();
  state.counters["median_us"] = samples[samples.size() / 2];
}

}  // namespace bench
