// What a call costs beside its arithmetic, and what the first one costs.
#include "bench/samples.h"
#include "bench/workload.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace kiln;

namespace bench {
namespace {

/// Runs this program for one first call, with `environment` in front; its time in seconds, negative when it
/// failed.
double in_new_process(const std::string& self, const std::string& name, const std::string& environment) {
  const std::string command = environment + " '" + self + "' --first-call=" + name;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return -1;
  double seconds = -1;
  if (std::fscanf(pipe, "%lf", &seconds) != 1) seconds = -1;
  return ::pclose(pipe) == 0 ? seconds : -1;
}

void add_first_call(const std::string& self, const std::string& name, const std::string& what,
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
        for (auto _ : state) {
          const double seconds = in_new_process(self, what, environment);
          if (seconds < 0) {
            state.SkipWithError("the process of the first call failed");
            break;
          }
          state.SetIterationTime(seconds);
        }
        std::error_code ignored;
        if (disk_cache) std::filesystem::remove_all(folder, ignored);
      })
      ->Unit(benchmark::kMillisecond)
      ->Iterations(7)
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

}  // namespace

int run_first_call(const std::string& name) {
  const ThreadLimit limit(1);
  const Workload w = mlp(1);
  w.net->initialize();
  if (name == "after_eager") w.call();
  const auto begin = std::chrono::steady_clock::now();
  w.net->hybridize({.static_alloc = true, .static_shape = true});
  w.call();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::printf("%.9f\n", time.count());
  return 0;
}

void add_calls(const std::string& self) {
  add("dispatch", add_one);
  add_bound_call();
  add_first_call(self, "compile_mlp", "after_eager", false);
  add_first_call(self, "first_call_mlp", "at_once", false);
  add_first_call(self, "first_call_mlp_cached", "at_once", true);
}

}  // namespace bench
