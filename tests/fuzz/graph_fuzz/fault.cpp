// Runs the checks of a graph and reports the first fault.
#include "fault.h"

#include "block_check.h"
#include "graphs/compare.h"
#include "native_at_end.h"
#include "reduce.h"

#include <kiln/precision.h>
#include <kiln/version.h>

#include <fmt/format.h>

namespace graphs {

using namespace kiln;

namespace {

/// A symbol's file must be read back as it was written.
std::optional<std::string> lost_in_file(const Graph& graph) {
  const std::string once = Symbol::load_json(to_json(graph)).tojson(false);
  if (Symbol::load_json(once).tojson(false) == once) return {};
  return "the symbol file changes when it is read and written again";
}

/// The widest instruction set against each of the others: it is the one that all other checks use.
std::optional<std::string> cpu_difference(const Graph& graph) {
  const Result expected = Runner(graph, RunMode::eager).run(1);
  std::vector<std::string> cpus = target_cpus();
  cpus.pop_back();
  const NativeAtEnd native;
  for (const std::string& cpu : cpus) {
    set_target_cpu(cpu);
    for (const RunMode mode : {RunMode::eager, RunMode::compiled})
      if (auto text = first_difference(expected, Runner(graph, mode).run(2)))
        return fmt::format("{} code run {}: {}", cpu, mode == RunMode::eager ? "eagerly" : "compiled", *text);
  }
  return {};
}

/// The CPU, eagerly, against the first GPU.
std::optional<std::string> gpu_difference(const Graph& graph) {
  std::optional<Result> expected;
  try {
    expected = Runner(graph, RunMode::eager).run(1);
  } catch (const Error&) {
    return {};  // graphs that the CPU refuses are compared elsewhere
  }
  auto text = first_difference(*expected, Runner(graph, RunMode::compiled, true, cuda(0)).run(1));
  return text ? std::optional("on a GPU: " + *text) : std::nullopt;
}

/// The fault under the thread's precision.
std::optional<std::string> fault_under_scope(const Graph& graph, const Checks& checks, Coverage* coverage) {
  const auto one_in = [&](std::uint64_t n) { return n > 0 && checks.number % n == 0; };
  try {
    if (checks.gradients) {
      Coverage own;
      return gradient_difference(graph, coverage ? *coverage : own, checks.gpu ? cuda(0) : cpu());
    }
    if (checks.gpu) return gpu_difference(graph);
    if (auto text = lost_in_file(graph)) return text;
    const Comparison result = compare(graph);
    if (!result.valid) return "refused as a whole: " + result.error;
    if (result.difference) return result.difference;
    if (one_in(checks.cpus_every))
      if (auto text = cpu_difference(graph)) return text;
    if (one_in(16))
      if (auto text = compare(graph, {}, false).difference) return text;
    if (one_in(4)) return block_difference(graph);
    if (checks.number % 4 == 2) return writing_difference(graph);
  } catch (const Error& e) {
    return fmt::format("throws: {}", e.what());
  }
  return {};
}

}  // namespace

std::optional<std::string> fault(const Graph& graph, const Checks& checks, Coverage* coverage) {
  // A prime number: each of the other checks meets it.
  if (checks.number % 5 != 0) return fault_under_scope(graph, checks, coverage);
  const PrecisionScope precision(Precision::bf16);
  auto text = fault_under_scope(graph, checks, coverage);
  return text ? std::optional("with Precision::bf16, " + *text) : std::nullopt;
}

std::string_view kind_of(std::string_view text) { return text.substr(0, text.find_first_of("'0123456789")); }

void report(const Graph& graph, const Checks& checks, const std::string& text) {
  fmt::print("graph of seed {}: {}\n", graph.seed, text);
  // The fault must stay what it is: reduction must not slide into graphs that are refused, or not valid.
  const Graph small = reduce(graph, [&](const Graph& g) {
    const auto found = fault(g, checks);
    return found && kind_of(*found) == kind_of(text);
  });
  fmt::print("reduced: {}\n\n{}\n{}\n", fault(small, checks).value_or("nothing"), to_json(small),
             to_program(small));
  std::fflush(stdout);
}

}  // namespace graphs
