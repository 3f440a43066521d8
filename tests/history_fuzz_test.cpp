// Random programs of scopes, loops, branches, children, functions, views and writes: results, histories and
// derivatives to the third have the same bits, whatever is hybridized.
#include "program_fuzz/history_program.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace kiln;
using namespace program_fuzz;

namespace {

/// How a run of the program differs from the eager one; nothing where it does not.
std::optional<std::string> difference(const HistoryProgram& program, Hybrid hybrid) {
  std::vector<Seen> eager, compiled;
  std::string error, other;
  const auto try_run = [&](Hybrid h, std::vector<Seen>& seen, std::string& message) {
    try {
      seen = run(program, h);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::user) throw;
      message = e.what();
    }
  };
  try_run({false, false}, eager, error);
  try_run(hybrid, compiled, other);
  if (error.empty() != other.empty())
    return fmt::format("eagerly it throws '{}', compiled '{}'", error, other);
  return first_difference(eager, compiled);
}

std::string report(unsigned seed, const HistoryProgram& program, Hybrid hybrid) {
  HistoryProgram least = program;
  std::string text;
  steps_without_effect(program.statements, [&](const Skipped& skipped) {
    const HistoryProgram smaller = without(program, skipped);
    const auto found = difference(smaller, hybrid);
    if (!found) return false;
    least = smaller;
    text = *found;
    return true;
  });
  return fmt::format("seed {}, hybridized:{}{}\n{}{}", seed, hybrid.children ? " children" : "",
                     hybrid.whole ? " the whole" : "", to_text(least), text);
}

}  // namespace

TEST_CASE("random programs have the same histories and derivatives, whatever is hybridized",
          "[gradient][fuzz]") {
  for (const unsigned seed : seeds(150)) {
    const HistoryProgram program = make_history_program(seed);
    for (const Hybrid hybrid : {Hybrid{false, true}, Hybrid{true, false}, Hybrid{true, true}}) {
      const ThreadLimit limit(hybrid.children && hybrid.whole ? 2 : 1);
      if (difference(program, hybrid)) FAIL_CHECK(report(seed, program, hybrid));
    }
  }
}
