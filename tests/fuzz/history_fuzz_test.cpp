// Random programs of scopes, loops, branches, children, functions, views and writes: results, histories and
// derivatives to the third have the same bits, whatever is hybridized.
#include "program_fuzz/history_program.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace kiln;
using namespace program_fuzz;

namespace {

struct Outcome {
  std::vector<Seen> seen;
  std::string error;  ///< of the program; empty: it ran
};

Outcome outcome(const HistoryProgram& program, Hybrid hybrid) {
  try {
    return {run(program, hybrid), ""};
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::user) throw;
    return {{}, e.what()};
  }
}

constexpr Hybrid nothing{false, false};

/// How the program differs from its eager run; nothing where it does not.
std::optional<std::string> difference(const Outcome& eager, const HistoryProgram& program, Hybrid hybrid) {
  const Outcome compiled = outcome(program, hybrid);
  if (eager.error.empty() != compiled.error.empty())
    return fmt::format("eagerly it throws '{}', compiled '{}'", eager.error, compiled.error);
  return first_difference(eager.seen, compiled.seen);
}

std::string report(unsigned seed, const HistoryProgram& program, Hybrid hybrid) {
  HistoryProgram least = program;
  std::string text;
  steps_without_effect(program.statements, [&](const Skipped& skipped) {
    const HistoryProgram smaller = without(program, skipped);
    const auto found = difference(outcome(smaller, nothing), smaller, hybrid);
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
  std::size_t programs = 0, ran = 0;
  for (const unsigned seed : seeds(150)) {
    const HistoryProgram program = make_history_program(seed);
    const Outcome eager = outcome(program, nothing);
    ++programs;
    ran += eager.error.empty();
    for (const Hybrid hybrid : {Hybrid{false, true}, Hybrid{true, false}, Hybrid{true, true}}) {
      const ThreadLimit limit(hybrid.children && hybrid.whole ? 2 : 1);
      if (difference(eager, program, hybrid)) FAIL_CHECK(report(seed, program, hybrid));
    }
  }
  CAPTURE(programs, ran);
  CHECK(ran * 10 > programs * 9);
}
