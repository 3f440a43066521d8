// The overhead of a call, and the time of the first call.
#include "bench/samples.h"
#include "bench/transformer.h"
#include "bench/workload.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <sys/resource.h>

using namespace kiln;

namespace bench {
namespace {

/// The report of a process on its first call.
struct FirstCall {
  double seconds = 0;
  double peak_rss_mib = 0;  ///< of the whole process: its code, compiler, parameters and arrays
};

/// Runs this program for one first call, with `environment` prepended. Nothing on failure.
std::optional<FirstCall> in_new_process(const std::string& self, const std::string& name,
                                        const std::string& environment) {
  const std::string command = environment + " '" + self + "' --first-call=" + name;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  FirstCall call;
  const bool read = std::fscanf(pipe, "%lf %lf", &call.seconds, &call.peak_rss_mib) == 2;
  return ::pclose(pipe) == 0 && read ? std::optional(call) : std::nullopt;
}

struct Network {
  const char* name;
  std::function<Workload(int batch)> make;
  int samples;
  int batches = 1;  ///< calls with each batch size from 1
};
Network of_zoo(const char* name, const std::string& in_zoo, int samples) {
  return {name, [=](int) { return model(in_zoo); }, samples};
}
const Network networks[] = {
    {"mlp", mlp, 7},
    {"mlp_200_batches", mlp, 1, 200},
    {"lenet_200_batches", lenet, 1, 200},
    of_zoo("resnet18", "resnet18_v1", 3),
    of_zoo("resnet50", "resnet50_v1", 3),
    of_zoo("mobilenet_v2", "mobilenetv2_1.0", 3),
    of_zoo("densenet201", "densenet201", 1),
    {"bert_base", [](int) { return bert_base(1, 128); }, 3},
};

/// Runs before the clock starts.
const std::string after_eager = "after_eager:", at_once = "at_once:";

void add_first_call(const std::string& self, const std::string& name, const std::string& what, int samples,
                    bool disk_cache) {
  benchmark::RegisterBenchmark(
      (name + "/compiled/threads:1").c_str(),
      [=](benchmark::State& state) {
        std::string folder = (std::filesystem::temp_directory_path() / "kiln-bench-XXXXXX").string();
        if (disk_cache && ::mkdtemp(folder.data()) == nullptr)
          return state.SkipWithError("no temporary folder");
        const std::string environment =
            disk_cache ? "KILN_CACHE=rw KILN_CACHE_DIR='" + folder + "'" : "KILN_CACHE=off";
        if (disk_cache) in_new_process(self, what, environment);
        FirstCall least{.seconds = HUGE_VAL, .peak_rss_mib = HUGE_VAL};
        for (auto _ : state) {
          const auto call = in_new_process(self, what, environment);
          if (!call) {
            state.SkipWithError("the process of the first call failed");
            break;
          }
          state.SetIterationTime(call->seconds);
          least.seconds = std::min(least.seconds, call->seconds);
          least.peak_rss_mib = std::min(least.peak_rss_mib, call->peak_rss_mib);
          state.counters["min_us"] = least.seconds * 1e6;
          state.counters["peak_rss_mib"] = least.peak_rss_mib;
        }
        std::error_code ignored;
        if (disk_cache) std::filesystem::remove_all(folder, ignored);
      })
      ->Unit(benchmark::kMillisecond)
      ->Iterations(samples)
      ->UseManualTime();
}

Workload add_one() {
  return function([](F&, const Tensors& in) { return in[0] + 1.0; }, {randn({1})});
}

void add_bound_call() {
  benchmark::RegisterBenchmark("dispatch_bound/compiled/threads:1", [](benchmark::State& state) {
    const ThreadLimit limit(1);
    const Workload w = add_one();
    w.net->hybridize({.static_alloc = true, .static_shape = true});
    BoundCall call = w.net->bind(w.inputs);
    time_calls(state, [&] { return call().data(); });
  })->Unit(benchmark::kMicrosecond);
}

/// x + y on 16 elements, recorded and not: the difference is the cost of an entry of the tape.
void add_recorded_call() {
  for (const bool recorded : {false, true})
    benchmark::RegisterBenchmark(recorded ? "record_add/eager/threads:1" : "plain_add/eager/threads:1",
                                 [=](benchmark::State& state) {
                                   const ThreadLimit limit(1);
                                   Tensor x = randn({16}), y = randn({16});
                                   x.attach_grad();
                                   y.attach_grad();
                                   std::optional<autograd::Record> record;
                                   if (recorded) record.emplace();
                                   time_calls(state, [&] { return (x + y).data(); });
                                 })
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int run_first_call(const std::string& what) {
  const ThreadLimit limit(1);
  const bool eager = what.starts_with(after_eager);
  const std::string name = what.substr(what.find(':') + 1);
  const auto network = std::find_if(std::begin(networks), std::end(networks),
                                    [&](const Network& n) { return n.name == name; });
  if (network == std::end(networks)) throw std::invalid_argument("there is no network " + name);
  const Workload w = network->make(1);
  std::vector<Tensors> inputs{w.inputs};
  for (int batch = 2; batch <= network->batches; ++batch) inputs.push_back(network->make(batch).inputs);
  w.net->initialize();
  if (eager) w.call();
  const auto begin = std::chrono::steady_clock::now();
  w.net->hybridize({.static_alloc = true, .static_shape = true});
  for (const Tensors& in : inputs) (*w.net)(in);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%.9f %.3f\n", time.count(), static_cast<double>(usage.ru_maxrss) / 1024);
  return 0;
}

void add_calls(const std::string& self) {
  add("dispatch", add_one);
  add_bound_call();
  add_recorded_call();
  for (const auto& [name, make, samples, batches] : networks) {
    const std::string network = name;
    add_first_call(self, "compile_" + network, after_eager + network, samples, false);
    add_first_call(self, "first_call_" + network, at_once + network, samples, false);
    add_first_call(self, "first_call_" + network + "_cached", at_once + network, samples, true);
  }
}

}  // namespace bench
