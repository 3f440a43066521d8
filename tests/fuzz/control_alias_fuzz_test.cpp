// Random loops and branches whose bodies write in place, and return one tensor twice, tensors from outside
// and views. Eager and hybridized runs must leave the same bits everywhere, the same random numbers and the
// same gradients. KILN_FUZZ_SEEDS=2000-5000 runs the programs of other seeds.
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
  std::string error;  ///< of a call that threw; nothing is seen after it
  std::size_t recorded = 0, compiled = 0;
};

/// The values of the program's arrays: data, x, other, captured.
Tensors values(const Program& program, bool special) {
  Tensors list;
  for (const Shape& shape : {Shape{program.loop_steps, 2, program.n}, Shape{3, program.n},
                             Shape{2, program.n}, Shape{3, program.n}})
    list.push_back(graphs::make_values(shape, program.dtype, {},
                                       program.seed * 8u + static_cast<unsigned>(list.size()), special));
  return list;
}
Tensors inputs(const Program& program, const Tensors& arrays) {
  const Tensor& x = arrays[1];
  return {arrays[0], x[slice(0, 2)], program.shared_inputs ? Tensor(x[slice(1, 3)]) : arrays[2]};
}
Net network(const Program& program, const Tensor& captured) {
  const Tensor first = captured[slice(0, 2)], second = captured[slice(1, 3)];
  return Net([=, &program](F& F, const Tensors& given) {
    Tensors arguments = given;
    arguments.insert(arguments.end(), {first, second});
    return run_main(program, F, arguments);
  });
}
void count_recordings(const Net& net, Run& out) {
  for (const auto& call : net.compiled_calls()) {
    ++out.recorded;
    out.compiled += call.compiled;
  }
}

/// Two calls of the program, each with its whole outcome: the results so far, the inputs and the captured
/// tensor, before and after the caller writes into them, and the next random numbers.
Run run(const Program& program, bool hybrid) {
  Run out;
  const Tensors arrays = values(program, program.seed % 4 == 0), in = inputs(program, arrays);
  Net net = network(program, arrays[3]);
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
    kept.insert(kept.end(), arrays.begin(), arrays.end());
    see_and_write(name, kept, out.seen);
    out.seen.push_back(see(name + ": the next random numbers", random::uniform(0, 1, {2})));
  }
  count_recordings(net, out);
  return out;
}

/// Two recorded calls of the program, on arrays that are computed from variables, with all that they leave;
/// then the gradients of the variables.
Run run_gradients(const Program& program, bool hybrid) {
  Run out;
  const Tensors variables = values(program, false);
  for (Tensor v : variables) v.attach_grad(program.seed % 5 == 0 ? GradReq::add : GradReq::write);
  random::seed(program.seed);
  Tensors heads;
  {
    const autograd::Record record;
    Tensors arrays;
    for (const Tensor& v : variables) arrays.push_back(v * 1.5);
    const Tensors in = inputs(program, arrays);
    Net net = network(program, arrays[3]);
    if (hybrid) net.hybridize();
    for (int call = 0; call < 2; ++call) {
      Tensors results;
      try {
        results = net(in);
      } catch (const Error& e) {
        if (e.kind() != Error::Kind::user) throw;
        out.error = e.what();
        return out;
      }
      for (const Tensors& list : {results, arrays})
        for (const Tensor& t : list)
          out.seen.push_back(see(fmt::format("call {}: tensor {}", call, out.seen.size()), t));
      for (const Tensor& t : arrays) heads.push_back(F::square(t));
      heads.insert(heads.end(), results.begin(), results.end());
      for (const Tensor& t : in) heads.push_back(F::tanh(t));
    }
    count_recordings(net, out);
  }
  Tensors recorded, gradients;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const bool is_recorded = autograd::is_recorded(heads[i]);
    out.seen.push_back(see(fmt::format("whether head {} is recorded", i), full({1}, is_recorded)));
    if (!is_recorded) continue;
    recorded.push_back(heads[i]);
    gradients.push_back(graphs::make_values(heads[i].shape(), heads[i].dtype(), {},
                                            program.seed * 64u + static_cast<unsigned>(i), false));
  }
  if (!recorded.empty()) autograd::backward(recorded, gradients);
  for (const Tensor& v : variables)
    out.seen.push_back(see(fmt::format("the gradient of {}", out.seen.size()), v.grad()));
  return out;
}

using RunOf = Run (*)(const Program& program, bool hybrid);

/// How the runs of a program differ; nothing where they do not.
std::optional<std::string> difference(RunOf run, const Program& program, const Run& eager, Run& compiled) {
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    try {
      compiled = run(program, /*hybrid=*/true);
    } catch (const Error& e) {
      return fmt::format("compiled, it throws: {}", e.what());
    }
    if (eager.error.empty() != compiled.error.empty())
      return fmt::format("eagerly it throws '{}', compiled '{}'", eager.error, compiled.error);
    if (const auto text = first_difference(eager.seen, compiled.seen))
      return fmt::format("on {} threads, {}", threads, *text);
  }
  return {};
}

/// The program without the steps that do not matter, as a person reads it.
std::string report(RunOf run, const Program& program) {
  std::string text;
  Program least = program;
  const auto differs = [&](const Skipped& skipped) {
    const auto smaller = without(program, skipped);
    Run compiled;
    const auto found = smaller ? difference(run, *smaller, run(*smaller, false), compiled) : std::nullopt;
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

void compare(RunOf run, unsigned count) {
  std::size_t programs = 0, ran = 0, recorded = 0, compiled_calls = 0;
  for (const unsigned seed : seeds(count)) {
    CAPTURE(seed);
    const Program program = make_program(seed);
    if (run == run_gradients && !is_floating(program.dtype)) continue;
    const Run eager = run(program, /*hybrid=*/false);
    Run compiled;
    if (difference(run, program, eager, compiled)) FAIL_CHECK(report(run, program));
    ++programs;
    ran += eager.error.empty() && compiled.error.empty();
    recorded += compiled.recorded;
    compiled_calls += compiled.compiled;
  }
  // The programs must do what they are meant to.
  CAPTURE(programs, ran, recorded, compiled_calls);
  CHECK(ran * 10 > programs * 9);
  CHECK(compiled_calls * 3 > recorded);
}

}  // namespace

TEST_CASE("random loops and branches that write in place agree, eager and hybridized", "[alias][fuzz]") {
  compare(run, 150);
}

TEST_CASE("random loops and branches that write in place have the same gradients, eager and hybridized",
          "[alias][gradient][fuzz]") {
  compare(run_gradients, 120);
}
