// Random loops and branches whose bodies write in place, return one tensor twice, tensors from outside and
// views: eager and hybridized runs must leave the same bits everywhere, and the same random numbers.
#include "function_net.h"
#include "graphs/values.h"
#include "program_fuzz/control_program.h"

#include <fmt/format.h>

using namespace kiln;
using namespace program_fuzz;

namespace {

using Tensors = F::Tensors;

struct Run {
  std::vector<Seen> seen;
  std::string error;  ///< what a call threw; nothing is seen after it
  std::size_t recorded = 0, compiled = 0;
};

/// Two calls of the program, each with all that it leaves: the results so far, the inputs and the
/// captured tensor, before and after the caller writes into them, and the next random numbers.
Run run(const Program& program, bool hybrid) {
  Run out;
  const auto values = [&](const Shape& shape, unsigned part) {
    return graphs::make_values(shape, program.dtype, {}, program.seed * 8u + part, program.seed % 4 == 0);
  };
  const Tensor data = values({program.loop_steps, 2, program.n}, 0), x = values({3, program.n}, 1),
               other = values({2, program.n}, 2), captured = values({3, program.n}, 3);
  const Tensors in{data, x[slice(0, 2)], program.shared_inputs ? Tensor(x[slice(1, 3)]) : other};
  const Tensor first = captured[slice(0, 2)], second = captured[slice(1, 3)];
  Net net([&](F& F, const Tensors& given) {
    Tensors arguments = given;
    arguments.insert(arguments.end(), {first, second});
    return run_main(program, F, arguments);
  });
  if (hybrid) net.hybridize();
  random::seed(program.seed);
  Tensors kept;
  for (int call = 0; call < 2; ++call) {
    const std::string name = fmt::format("call {}", call);
    Tensors results;
    try {
      results = net(in);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::user) throw;
      out.error = e.what();
      break;
    }
    kept.insert(kept.end(), results.begin(), results.end());
    kept.insert(kept.end(), {data, x, other, captured});
    see_and_write(name, kept, out.seen);
    out.seen.push_back(see(name + ": the next random numbers", random::uniform(0, 1, {2})));
  }
  for (const auto& call : net.compiled_calls()) {
    ++out.recorded;
    out.compiled += call.compiled;
  }
  return out;
}

bool is_refused(const Program& program, const Run& compiled) {
  return program.writes_outside && compiled.error.find("an array from outside of it") != std::string::npos;
}

/// How the runs of a program differ; nothing where they do not.
std::optional<std::string> difference(const Program& program, const Run& eager, Run& compiled) {
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    try {
      compiled = run(program, /*hybrid=*/true);
    } catch (const Error& e) {
      return fmt::format("compiled, it throws: {}", e.what());
    }
    if (is_refused(program, compiled)) return {};
    if (eager.error.empty() != compiled.error.empty())
      return fmt::format("eagerly it throws '{}', compiled '{}'", eager.error, compiled.error);
    if (const auto text = first_difference(eager.seen, compiled.seen))
      return fmt::format("on {} threads, {}", threads, *text);
  }
  return {};
}

/// The program without the steps that do not matter, as a person reads it.
std::string report(const Program& program) {
  std::string text;
  Program least = program;
  const auto differs = [&](const Skipped& skipped) {
    const auto smaller = without(program, skipped);
    Run compiled;
    const auto found = smaller ? difference(*smaller, run(*smaller, false), compiled) : std::nullopt;
    if (found) {
      least = *smaller;
      text = *found;
    }
    return found.has_value();
  };
  differs({});
  steps_without_effect(program.steps + static_cast<int>(program.main.outputs.size()), differs);
  return fmt::format("seed {}: {}{}", program.seed, to_text(least), text);
}

}  // namespace

TEST_CASE("random loops and branches that write in place agree, eager and hybridized", "[alias][fuzz]") {
  std::size_t programs = 0, ran = 0, refused = 0, recorded = 0, compiled_calls = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Program program = make_program(seed);
    const Run eager = run(program, /*hybrid=*/false);
    Run compiled;
    if (difference(program, eager, compiled)) FAIL_CHECK(report(program));
    ++programs;
    ran += eager.error.empty() && compiled.error.empty();
    refused += is_refused(program, compiled);
    recorded += compiled.recorded;
    compiled_calls += compiled.compiled;
  }
  // The programs must do what they are meant to.
  CAPTURE(programs, ran, refused, recorded, compiled_calls);
  CHECK(ran * 10 > programs * 9);
  CHECK(compiled_calls * 3 > recorded);
}
