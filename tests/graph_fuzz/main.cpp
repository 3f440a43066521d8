// graph_fuzz [--graphs N] [--seed S]: random graphs, eagerly and compiled, bit by bit. A graph that differs
// is reduced, and printed as JSON and as a program. Graph number i has the seed S + i: `--graphs 1 --seed
// S+i` makes it again.
#include "graph_fuzz/block_check.h"
#include "graph_fuzz/generate.h"
#include "graph_fuzz/reduce.h"
#include "graphs/compare.h"

#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <set>

using namespace kiln;
using namespace graphs;

namespace {

std::uint64_t number(const char* text) {
  std::uint64_t v = 0;
  const char* end = text + std::strlen(text);
  if (std::from_chars(text, end, v).ptr != end) throw Error(fmt::format("'{}' is not a number", text));
  return v;
}

/// A symbol's file must be read back as it was written.
std::optional<std::string> lost_in_file(const Graph& graph) {
  const std::string once = Symbol::load_json(to_json(graph)).tojson(false);
  if (Symbol::load_json(once).tojson(false) == once) return {};
  return "the symbol file changes when it is read and written again";
}

/// What is wrong with a graph; nothing when all is well. `number` chooses the checks that not every graph
/// gets.
std::optional<std::string> fault(const Graph& graph, std::uint64_t number) {
  try {
    if (auto text = lost_in_file(graph)) return text;
    const Comparison result = compare(graph);
    if (!result.valid) return "refused as a whole: " + result.error;
    if (result.difference) return result.difference;
    if (number % 16 == 0)
      if (auto text = compare(graph, {}, false).difference) return text;
    if (number % 4 == 0) return block_difference(graph);
    if (number % 4 == 2) return writing_difference(graph);
  } catch (const Error& e) {
    return fmt::format("throws: {}", e.what());
  }
  return {};
}

/// What a text says but for names and numbers, which change as a graph gets smaller.
std::string_view kind_of(std::string_view text) { return text.substr(0, text.find_first_of("'0123456789")); }

void report(const Graph& graph, std::uint64_t seed, const std::string& text) {
  fmt::print("graph of seed {}: {}\n", seed, text);
  // The fault must stay what it is: reduction must not slide into graphs that are refused, or not valid.
  const Graph small = reduce(graph, [&](const Graph& g) {
    const auto found = fault(g, seed);
    return found && kind_of(*found) == kind_of(text);
  });
  fmt::print("reduced: {}\n\n{}\n{}\n", fault(small, seed).value_or("nothing"), to_json(small),
             to_program(small));
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  std::uint64_t graphs = 1000, seed = 1;
  if (argc % 2 == 0) throw Error("there are the flags --graphs N and --seed S, each with a number");
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--graphs")
      graphs = number(argv[i + 1]);
    else if (flag == "--seed")
      seed = number(argv[i + 1]);
    else
      throw Error(fmt::format("unknown flag {}; there are --graphs N and --seed S", flag));
  }
  std::uint64_t failed = 0;
  std::size_t nodes = 0;
  std::set<std::string> operators;
  for (std::uint64_t i = 0; i < graphs; ++i) {
    const Graph graph = generate(seed + i);
    nodes += graph.operators();
    for (const Node& node : graph.nodes) operators.insert(node.op);
    const auto text = fault(graph, seed + i);
    if (!text) continue;
    report(graph, seed + i, *text);
    if (++failed == 20) break;
  }
  fmt::print("{} graphs of {} nodes, {} different operators; {} failed\n", graphs, nodes,
             operators.size() - 1, failed);
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "graph_fuzz: {}\n", e.what());
    return 2;
  }
}
