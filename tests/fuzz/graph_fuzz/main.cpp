// Random graphs, eagerly and compiled, bit by bit. A graph that differs is reduced, and printed as JSON and
// as a program. Graph number i has the seed S + i: `--graphs 1 --seed S+i` makes it again.
#include "fault.h"
#include "generate.h"
#include "jobs.h"

#include <kiln/pass_counts.h>
#include <kiln/version.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace kiln;
using namespace graphs;

namespace {

/// From this number of graphs on, a pass that changed nothing is a failure: the generator does not reach it.
constexpr std::uint64_t enough_for_every_pass = 1000;

struct Options {
  std::uint64_t graphs = 1000, seed = 1, jobs = 1, cpus_every = 1;
  bool gradients = false, gpu = false;
};

void run_one(const Options& options, std::uint64_t number, Tally& tally) {
  const Graph graph = generate(options.seed + number, options.gradients);
  ++tally.graphs;
  tally.nodes += graph.operators();
  for (const Node& node : graph.nodes)
    if (!node.is_variable()) tally.operators.insert(node.op);
  // By the seed and not the number, so that a graph made again gets the same checks.
  const Checks checks{graph.seed, options.cpus_every, options.gradients, options.gpu};
  const auto text = fault(graph, checks, &tally.coverage);
  if (!text) return;
  ++tally.failed;
  report(graph, checks, *text);
}

/// Prints what the graphs came to; whether all is well.
bool summarize(const Options& options, const Tally& tally) {
  fmt::print("{} graphs of {} nodes, {} different operators; {} failed\n", tally.graphs, tally.nodes,
             tally.operators.size(), tally.failed);
  std::vector<std::string> missing;
  const std::vector<std::string> cpus = target_cpus();
  for (const char* cpu : {"scalar", "avx2", "avx512"})
    if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) missing.push_back(cpu);
  for (const auto& [what, count] : tally.coverage) fmt::print("{} {}\n", count, what);
  if (options.cpus_every > 0 && !options.gradients && !options.gpu)
    fmt::print("instruction sets, one graph in {}: {}{}\n", options.cpus_every, fmt::join(cpus, ", "),
               missing.empty() ? "" : fmt::format("; not tested: {}", fmt::join(missing, ", ")));
  fmt::print("changes by passes:");
  std::vector<std::string> idle;
  for (const auto& [pass, runs, changes] : tally.passes) {
    fmt::print(" {} {}", pass, changes);
    if (changes == 0) idle.push_back(pass);
  }
  fmt::print("\n");
  if (options.gradients || options.gpu || options.graphs < enough_for_every_pass || idle.empty())
    return tally.failed == 0;
  fmt::print("no graph made these passes change anything: {}\n", fmt::join(idle, ", "));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs random graphs eagerly and compiled and compares their bits", "graph_fuzz"};
  app.add_option("--graphs", options.graphs, "How many")->capture_default_str();
  app.add_option("--seed", options.seed, "Of the first; each next one has the next seed")
      ->capture_default_str();
  app.add_option("--jobs", options.jobs, "Processes")->capture_default_str()->check(CLI::Range(1, 256));
  app.add_option("--cpus-every", options.cpus_every,
                 "One graph in so many runs on every instruction set of the machine (0: none)")
      ->capture_default_str();
  app.add_flag("--gradients", options.gradients, "Compare gradients in place of results");
  app.add_flag("--gpu", options.gpu, "Compare the first GPU with the CPU in place of modes");
  CLI11_PARSE(app, argc, argv);
  try {
    const Tally tally = in_processes(
        options.graphs, options.jobs,
        [&](std::uint64_t number, Tally& sum) {
          count_passes();
          run_one(options, number, sum);
        },
        [](Tally& sum) { sum.passes = pass_counts(); });
    return summarize(options, tally) ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "graph_fuzz: {}\n", e.what());
    return 2;
  }
}
