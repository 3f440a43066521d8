// kiln bench: times of eager and compiled calls or training steps, and their memory.
#include "codegen/target/describe_target.h"
#include "tools/kiln/command.h"
#include "tools/kiln/gradients.h"
#include "tools/kiln/model_arguments.h"

#include <kiln/benchmark.h>
#include <kiln/threads.h>
#include <kiln/trainer.h>
#include <kiln/version.h>

#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

namespace kiln::tool {
namespace {

struct BenchArguments {
  ModelArguments model;
  std::vector<std::string> modes;
  Device device;
  std::optional<Precision> precision;
  int threads = 0;
  double seconds = 0.5;
  bool json = false;
  bool kernels = false;
  bool train = false;
  std::string trace;
};

/// Bytes that the calls of a hybridized step leave to their backward parts.
struct Recordings {
  std::size_t saved_bytes = 0, recomputed_bytes = 0;
};

struct Result {
  Timing timing;
  Device device;
  int threads;
  PrepareStats stats;
  Recordings recordings;
};

/// The timed unit: a call or a training step.
struct Workload {
  std::function<void()> run;
  /// After the first: the cost of preparing it, of a step the number of kernels alone.
  std::function<PrepareStats()> stats;
  std::function<Recordings()> recordings;
};

Workload call_of(const Model& model, const std::map<std::string, Tensor>& inputs, const RunOptions& options) {
  auto prepared = std::make_shared<PreparedModel>(model.prepare(inputs, options));
  return {[=] { prepared->run(); }, [=] { return prepared->stats(); }, [] { return Recordings(); }};
}

/// A recorded call, its backward pass from ones, and an update by stochastic gradient descent, whose rate of
/// 0 leaves the numbers as they are.
Workload step_of(const Model& model, const std::map<std::string, Tensor>& inputs, const RunOptions& options) {
  auto training = std::make_shared<TrainingModel>(model, inputs, options, /*input_gradients=*/false);
  if (training->gradients().empty())
    throw Error(
        "the network has no parameters to train; --shape names its inputs, and all other variables are "
        "parameters");
  auto trainer = std::make_shared<Trainer>(training->network().collect_params(), "sgd",
                                           optimizer::Options{.learning_rate = 0});
  const auto step = [=] {
    training->run();
    trainer->step(1, /*ignore_stale_grad=*/true, no_line);
    if (!options.device.is_cpu()) waitall();
  };
  const auto stats = [=] {
    const Profile profile;
    step();
    PrepareStats stats;
    for (const Profile::Kernel& k : profile.kernels()) stats.kernels += static_cast<std::size_t>(k.runs);
    return stats;
  };
  const auto recordings = [=] {
    Recordings all;
    for (const CompiledCall& call : training->network().compiled_calls()) {
      all.saved_bytes += call.saved_bytes;
      all.recomputed_bytes += call.recomputed_bytes;
    }
    return all;
  };
  return {step, stats, recordings};
}

Result measure(const Model& model, const std::map<std::string, Tensor>& inputs, const BenchArguments& a,
               const std::string& mode) {
  RunOptions options;
  options.mode = mode == "eager" ? RunMode::eager : RunMode::compiled;
  options.threads = a.threads;
  options.device = a.device;
  options.train = a.train;
  const Workload workload = (a.train ? step_of : call_of)(model, inputs, options);
  Timing timing = time_calls(
      mode, workload.run,
      {.seconds = a.seconds, .kernels = a.kernels, .trace = mode == a.modes.back() ? a.trace : ""});
  PrepareStats stats = workload.stats();
  // The first call compiles eager code, the first step all code.
  if (options.mode == RunMode::eager || a.train)
    stats.compile_ms = std::max(0.0, timing.first_us - timing.median_us) / 1e3;
  return {std::move(timing), a.device, a.threads > 0 ? a.threads : num_threads(), stats,
          workload.recordings()};
}

std::vector<Timing> timings_of(const std::vector<Result>& results) {
  std::vector<Timing> list;
  for (const Result& r : results) list.push_back(r.timing);
  return list;
}

bool on_gpu(const Result& r) { return !r.device.is_cpu(); }

nlohmann::ordered_json to_json(const Profile::Kernel& k) {
  nlohmann::ordered_json kernel{{"name", k.name},
                                {"runs", k.runs},
                                {"us", k.seconds * 1e6},
                                {"median_us", k.median_seconds * 1e6},
                                {"min_us", k.min_seconds * 1e6},
                                {"lines", k.lines}};
  if (!k.schedule.empty()) kernel["schedule"] = k.schedule;
  return kernel;
}

/// As the processor names itself.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t at = line.find(": "); at != line.npos) return line.substr(at + 2);
  return "unknown";
}

void print_json(const std::vector<Result>& results, bool train) {
  const std::vector<Timing> timings = timings_of(results);
  auto list = nlohmann::ordered_json::array();
  for (const Result& r : results) {
    list.push_back({{"mode", r.timing.mode},
                    {"device", r.device.str()},
                    {"threads", r.threads},
                    {"samples", r.timing.samples},
                    {"median_us", r.timing.median_us},
                    {"deviation_us", r.timing.deviation_us},
                    {"min_us", r.timing.min_us},
                    {"compile_ms", r.stats.compile_ms},
                    {"kernels", r.stats.kernels}});
    if (const auto faster = speed_up(timings, r.timing)) list.back()["speed_up"] = *faster;
    if (train) {
      list.back()["saved_bytes"] = r.recordings.saved_bytes;
      list.back()["recomputed_bytes"] = r.recordings.recomputed_bytes;
    } else {
      list.back()["arena_bytes"] = r.stats.arena_bytes;
      list.back()["arena_lower_bound"] = r.stats.arena_lower_bound;
    }
    if (!on_gpu(r)) list.back()["peak_bytes"] = r.timing.peak_bytes;
    if (!r.timing.kernels.empty()) list.back()["profiled_calls"] = r.timing.profiled_calls;
    for (const Profile::Kernel& k : r.timing.kernels) list.back()["profile"].push_back(to_json(k));
  }
  const nlohmann::ordered_json all{
      {"version", version()},
      {"llvm", llvm_version()},
      {"cpu", cpu_name()},
      {"isa", host_isa()},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"results", list}};
  fmt::print("{}\n", all.dump(2));
}

/// "640", "12.5K", "3.1M"
std::string size_text(std::size_t bytes) {
  const auto n = static_cast<double>(bytes);
  if (n < 1e3) return fmt::format("{}", bytes);
  if (n < 1e6) return fmt::format("{:.1f}K", n / 1e3);
  return n < 1e9 ? fmt::format("{:.1f}M", n / 1e6) : fmt::format("{:.1f}G", n / 1e9);
}

void print_costs(const std::vector<Result>& results, bool train) {
  fmt::print("{:8} {:>10} {:>7} {} {:>7}\n", "mode", "compile ms", "kernels",
             train ? "  saved recomp." : "  arena   least", "peak");
  for (const Result& r : results) {
    const std::string memory = train ? fmt::format("{:>7} {:>7}", size_text(r.recordings.saved_bytes),
                                                   size_text(r.recordings.recomputed_bytes))
                                     : fmt::format("{:>7} {:>7}", size_text(r.stats.arena_bytes),
                                                   size_text(r.stats.arena_lower_bound));
    fmt::print("{:8} {:>10.2f} {:>7} {} {:>7}\n", r.timing.mode, r.stats.compile_ms, r.stats.kernels, memory,
               on_gpu(r) ? "-" : size_text(r.timing.peak_bytes));
  }
  fmt::print("{}; peak: all arrays\n",
             train ? "bytes. saved: for the backward part; recomp.: computed again by it"
                   : "bytes. arena: temporaries of a call; least: their lower bound");
}

void print_table(const std::vector<Result>& results, bool train) {
  const Result& first = results.front();
  fmt::print("on {}, {} thread{}", first.device.str(), first.threads, first.threads == 1 ? "" : "s");
  if (on_gpu(first))
    fmt::print(", until {}", train ? "its work is done" : "the results are copied to the CPU");
  fmt::print("\n");
  fmt::print("{}\n", times_table(timings_of(results)));
  print_costs(results, train);
  for (const Result& r : results)
    if (!r.timing.kernels.empty()) fmt::print("\n{}", kernels_table(r.timing));
}

int bench(const BenchArguments& a) {
  auto [model, inputs] = a.model.load_fed();
  std::vector<Result> results;
  for (const std::string& mode : a.modes) results.push_back(measure(model, inputs, a, mode));
  a.json ? print_json(results, a.train) : print_table(results, a.train);
  return ok;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto a = std::make_shared<BenchArguments>();
  CLI::App* c = app.add_subcommand("bench", "Time a call, eager and compiled");
  a->model.add_model(*c);
  a->model.add_inputs(*c);
  c->add_option("--mode", a->modes, "eager, compiled or eager,compiled (default)")
      ->option_text("MODE,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"eager", "compiled"}));
  add_threads(*c, a->threads);
  add_device(*c, a->device, "cuda or cuda:N: calls there, results copied to the CPU");
  add_precision(*c, a->precision);
  c->add_option("--seconds", a->seconds, "Seconds of measurement per mode (0.5)")
      ->option_text("S")
      ->check(CLI::Range(0.0, 3600.0));
  c->add_flag("--train", a->train, "Time training steps: call, backward, SGD update");
  c->add_flag("--kernels", a->kernels, "Also time each kernel");
  c->add_option("--trace", a->trace, "Write a Chrome trace of calls and kernels (last mode)")
      ->option_text("FILE");
  c->add_flag("--json", a->json, "Print JSON");
  c->add_flag_callback(
       "--target",
       [&action] {
         // Not here: CLI11 only expects its own exceptions.
         action = [] {
           fmt::print("{}", codegen::describe_target());
           return ok;
         };
         throw CLI::Success();
       },
       "Print the model of the machine and the choices by it; exit")
      ->trigger_on_parse();
  c->callback([a, &action] {
    if (a->modes.empty()) a->modes = {"eager", "compiled"};
    action = [a] { return with_precision(a->precision, [&] { return bench(*a); }); };
  });
}

}  // namespace kiln::tool
