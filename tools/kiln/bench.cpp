// kiln bench: how long a call takes, eager and compiled, and what it holds.
#include "tools/kiln/command.h"
#include "tools/kiln/model_arguments.h"

#include <kiln/memory.h>
#include <kiln/threads.h>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kiln::tool {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  ModelArguments model;
  std::vector<std::string> modes = {"eager", "compiled"};
  int threads = 0;
  double seconds = 0.5;
  bool json = false;
};

struct Result {
  std::string mode;
  int threads;
  double median_us, min_us, compile_ms;
  std::size_t kernels, arena_bytes, peak_bytes;
};

double microseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::micro>(Clock::now() - since).count();
}

double timed_call(PreparedModel& model) {
  auto start = Clock::now();
  model.run();
  return microseconds(start);
}

/// Calls for a tenth of the time to warm up, then for the time given: at least 5 calls, at most a million.
Result measure(const Model& model, const std::map<std::string, Tensor>& inputs, const Arguments& a,
               const std::string& mode) {
  RunOptions options;
  options.mode = mode == "eager" ? RunMode::eager : RunMode::compiled;
  options.threads = a.threads;
  PreparedModel prepared = model.prepare(inputs, options);
  double first = timed_call(prepared);
  for (auto start = Clock::now(); microseconds(start) < a.seconds * 1e5;) prepared.run();

  reset_peak_memory();
  std::vector<double> times;
  auto start = Clock::now();
  do {
    times.push_back(timed_call(prepared));
  } while (times.size() < 5 || (times.size() < 1'000'000 && microseconds(start) < a.seconds * 1e6));
  std::size_t peak = memory_report().peak_bytes;

  std::sort(times.begin(), times.end());
  double median = times[times.size() / 2];
  const PrepareStats& stats = prepared.stats();
  // Eager code is made by the first call.
  double compile_ms = options.mode == RunMode::eager ? std::max(0.0, first - median) / 1e3 : stats.compile_ms;
  return {mode,
          a.threads > 0 ? a.threads : num_threads(),
          median,
          times.front(),
          compile_ms,
          stats.kernels,
          stats.arena_bytes,
          peak};
}

void print_json(const std::vector<Result>& results) {
  auto list = nlohmann::ordered_json::array();
  for (const Result& r : results)
    list.push_back({{"mode", r.mode},
                    {"threads", r.threads},
                    {"median_us", r.median_us},
                    {"min_us", r.min_us},
                    {"compile_ms", r.compile_ms},
                    {"kernels", r.kernels},
                    {"arena_bytes", r.arena_bytes},
                    {"peak_bytes", r.peak_bytes}});
  fmt::print("{}\n", nlohmann::ordered_json{{"results", list}}.dump(2));
}

void print_table(const std::vector<Result>& results) {
  fmt::print("{:9} {:>7} {:>12} {:>12} {:>11} {:>8} {:>12} {:>12}\n", "mode", "threads", "median us",
             "min us", "compile ms", "kernels", "arena bytes", "peak bytes");
  for (const Result& r : results)
    fmt::print("{:9} {:>7} {:>12.2f} {:>12.2f} {:>11.2f} {:>8} {:>12} {:>12}\n", r.mode, r.threads,
               r.median_us, r.min_us, r.compile_ms, r.kernels, r.arena_bytes, r.peak_bytes);
}

int bench(const Arguments& a) {
  auto [model, inputs] = a.model.load_fed();
  std::vector<Result> results;
  for (const std::string& mode : a.modes) results.push_back(measure(model, inputs, a, mode));
  a.json ? print_json(results) : print_table(results);
  return ok;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("bench", "Time a call, eager and compiled");
  a->model.add_model(*c);
  a->model.add_inputs(*c);
  c->add_option("--mode", a->modes, "eager, compiled or eager,compiled (default)")
      ->option_text("MODE,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"eager", "compiled"}));
  add_threads(*c, a->threads);
  c->add_option("--seconds", a->seconds, "Measure each mode for so long (0.5)")
      ->option_text("S")
      ->check(CLI::Range(0.0, 3600.0));
  c->add_flag("--json", a->json, "Print JSON");
  c->callback([a, &action] { action = [a] { return bench(*a); }; });
}

}  // namespace kiln::tool
