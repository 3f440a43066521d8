// Registers workloads with Google Benchmark.
#include "bench/workload.h"

#include "bench/samples.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>

namespace bench {
namespace {

/// Of all parameters that have a gradient.
double trained_elements(const kiln::Block& net) {
  std::int64_t elements = 0;
  for (const kiln::Parameter& p : net.collect_params())
    if (p.grad_req() != kiln::GradReq::null) elements += p.shape().elements();
  return static_cast<double>(elements);
}

Workload prepared(const Make& make, bool compiled) {
  Workload w = make();
  if (!w.program && !w.initialized) w.net->initialize();
  if (compiled) w.net->hybridize({.static_alloc = true, .static_shape = true});
  w.call();  // once before timing: deferred shapes, tracing, compilation
  w.call();
  return w;
}

/// Google Benchmark runs a benchmark again with more iterations until they take long enough: the last
/// benchmark's workload is kept for that.
const Workload& last_prepared(const std::string& name, const Make& make, bool compiled) {
  static std::string last;
  static std::optional<Workload> workload;
  if (name != last) {
    last.clear();
    workload.reset();
    workload = prepared(make, compiled);
    last = name;
  }
  return *workload;
}

void run(benchmark::State& state, const std::string& name, const Make& make, bool compiled, int threads) {
  try {
    const kiln::ThreadLimit limit(threads);
    const Workload& w = last_prepared(name, make, compiled);
    kiln::reset_peak_memory();
    const auto before = kiln::memory_report();
    const kiln::Tensor result = w.call();
    state.counters["parameters"] = trained_elements(*w.net);
    state.counters["elements"] = static_cast<double>(result.shape().elements());
    state.counters["peak_bytes"] = static_cast<double>(kiln::memory_report().peak_bytes - before.live_bytes);
    time_calls(state, [&] { return w.call(); });
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
  }
}

kiln::Tensor fill(const kiln::Shape& shape, const std::function<double(std::mt19937&)>& next) {
  // A fixed seed per array: its numbers do not depend on the other workloads of the run.
  std::mt19937 generator(1);
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::generate(values.begin(), values.end(), [&] { return static_cast<float>(next(generator)); });
  return {values, shape};
}

std::map<std::string, Make>& makers() {
  static std::map<std::string, Make> all;
  return all;
}

void add_mode(const std::string& name, const Make& make, bool compiled, const std::vector<int>& threads) {
  for (const int n : threads) {
    const std::string full = name + (compiled ? "/compiled" : "/eager") + "/threads:" + std::to_string(n);
    benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& s) {
      run(s, full, make, compiled, n);
    })->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace

Workload made(const std::string& name) { return makers().at(name)(); }

void add(const std::string& name, Make make, const std::vector<int>& threads) {
  makers()[name] = make;
  for (const bool compiled : {false, true}) add_mode(name, make, compiled, threads);
}

void add_compiled(const std::string& name, Make make, const std::vector<int>& threads) {
  add_mode(name, make, true, threads);
}

kiln::Tensor randn(const kiln::Shape& shape) {
  std::normal_distribution<double> d;
  return fill(shape, [&](std::mt19937& g) { return d(g); });
}

kiln::Tensor uniform(const kiln::Shape& shape) {
  std::uniform_real_distribution<double> d(0.5, 1.5);
  return fill(shape, [&](std::mt19937& g) { return d(g); });
}

kiln::Tensor split_heads(kiln::F& F, const kiln::Tensor& x, int heads) {
  return F.reshape(F.transpose(F.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3}), {-3, 0, 0});
}
kiln::Tensor join_heads(kiln::F& F, const kiln::Tensor& x, int heads) {
  return F.reshape(F.transpose(F.reshape(x, {-4, -1, heads, 0, 0}), {0, 2, 1, 3}), {0, 0, -3});
}

}  // namespace bench
