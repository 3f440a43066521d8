// kiln-bench: workloads on Google Benchmark, through Kiln's public interface only.
#include "bench/kinds.h"
#include "bench/workload.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>

namespace {

/// Reports a benchmark under its registered name: Google Benchmark would append its timing options.
template <class Reporter>
class PlainNames : public Reporter {
 public:
  using Reporter::Reporter;
  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    auto named = runs;
    for (auto& r : named) {
      r.run_name.iterations.clear();
      r.run_name.time_type.clear();
    }
    Reporter::ReportRuns(named);
  }
};

std::unique_ptr<benchmark::BenchmarkReporter> reporter(std::string_view format, bool color) {
  using Console = benchmark::ConsoleReporter;
  if (format == "json") return std::make_unique<PlainNames<benchmark::JSONReporter>>();
  return std::make_unique<PlainNames<Console>>(color ? Console::OO_ColorTabular : Console::OO_Tabular);
}

/// The value of --NAME=VALUE, if it is given.
std::string flag(int argc, char** argv, std::string_view name, std::string otherwise) {
  for (int i = 1; i < argc; ++i)
    if (const std::string_view a = argv[i];
        a.starts_with(name) && a.size() > name.size() && a[name.size()] == '=')
      otherwise = a.substr(name.size() + 1);
  return otherwise;
}

/// Takes an argument that Google Benchmark does not know.
bool take(int& argc, char** argv, std::string_view argument) {
  char** const end = argv + argc;
  char** const kept = std::remove_if(argv + 1, end, [&](const char* a) { return a == argument; });
  argc = static_cast<int>(kept - argv);
  return kept != end;
}

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  if (const auto [stop, error] = std::from_chars(text.data(), end, seed); error != std::errc() || stop != end)
    throw std::invalid_argument("kiln-bench: --kinds=SEED takes a number from 0, not '" + text + "'");
  return seed;
}

void add_workloads() {
  bench::add_networks();
  bench::add_pointwise();
  bench::add_rows();
  bench::add_contractions();
  bench::add_recurrent();
  bench::add_vision();
  bench::add_mobile();
  bench::add_images();
  bench::add_transformers();
  bench::add_training();
  bench::add_trainer();
  bench::add_language();
  bench::add_low_precision();
  bench::add_calls(std::filesystem::read_symlink("/proc/self/exe").string());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string seed = flag(argc, argv, "--kinds", "");
  take(argc, argv, "--kinds=" + seed);
  const bool shapes = take(argc, argv, "--shapes");
  try {
    if (const std::string what = flag(argc, argv, "--first-call", ""); !what.empty())
      return bench::run_first_call(what);
    if (shapes) {
      bench::print_shapes(seed_of(seed));
      return 0;
    }
    if (seed.empty())
      add_workloads();
    else
      bench::add_kinds(seed_of(seed));
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  const bool color = ::isatty(STDOUT_FILENO) != 0 && flag(argc, argv, "--benchmark_color", "auto") != "false";
  const auto display = reporter(flag(argc, argv, "--benchmark_format", "console"), color);
  const auto file = reporter(flag(argc, argv, "--benchmark_out_format", "json"), false);
  const bool to_file = !flag(argc, argv, "--benchmark_out", "").empty();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;

  const std::size_t run = benchmark::RunSpecifiedBenchmarks(display.get(), to_file ? file.get() : nullptr);
  benchmark::Shutdown();
  return run > 0 ? 0 : 1;
}
