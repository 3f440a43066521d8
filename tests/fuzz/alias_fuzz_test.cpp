// Random programs of views and in-place operators: eager and hybridized runs must leave the same bits
// everywhere, and have the same gradients. KILN_FUZZ_SEEDS=2000-5000 runs the programs of other seeds.
#include "function_net.h"
#include "graphs/values.h"
#include "program_fuzz/seen.h"

#include <fmt/format.h>
#include <random>

using namespace kiln;
using namespace program_fuzz;

namespace {

using Tensors = F::Tensors;

constexpr int steps = 14;

/// How the two inputs of a call lie in memory.
enum class Sharing { none, twice, part, overlap, captured, reshaped, rows, row, two_parts };

/// The conditions of a run. Its seed and the shapes that it meets determine the program itself.
struct Plan {
  unsigned seed;
  DType dtype;
  Shape first, second, captured;
  bool special;        ///< NaN, infinities and the ends of the dtype's range are among the values
  Sharing sharing[2];  ///< of each call
  /// Whether the program works on copies: it reads shared arrays and writes to separate ones. A call that
  /// writes to a shared array runs eagerly.
  bool copies;
  bool pauses = false;  ///< some steps are inside Pause
};

/// The numbers that fix one thing about a program. `part` tells one thing from another.
class Choices {
 public:
  Choices(unsigned seed, int part) {
    std::seed_seq both{seed, static_cast<unsigned>(part)};
    random_.seed(both);
  }
  /// 0, ..., n - 1; 0 where n is 0.
  std::int64_t pick(std::int64_t n) {
    const auto drawn = static_cast<std::int64_t>(random_());
    return n < 1 ? 0 : drawn % n;
  }
  template <class T, std::size_t N>
  const T& of(const T (&list)[N]) {
    return list[pick(N)];
  }

 private:
  std::mt19937 random_;
};

Plan plan_of(unsigned seed) {
  static const Shape shapes[] = {{4, 3}, {2, 2}, {3, 2}, {6}, {1, 4}, {3, 1}, {1}, {2, 0}, {0, 3}, {2, 3, 2}};
  static const Shape large[] = {{64, 96}, {6144}, {96, 64}};
  static const DType dtypes[] = {DType::f32, DType::f16, DType::i32, DType::u8, DType::boolean};
  static const Sharing sharings[] = {Sharing::none,     Sharing::none,    Sharing::none, Sharing::none,
                                     Sharing::none,     Sharing::twice,   Sharing::part, Sharing::overlap,
                                     Sharing::captured, Sharing::reshaped};
  Choices choices(seed, -1);
  const bool is_large = choices.pick(8) == 0;
  const auto shape = [&] { return is_large ? choices.of(large) : choices.of(shapes); };
  const auto sharing = [&] { return choices.of(sharings); };
  Plan plan{seed,
            choices.pick(2) == 0 ? DType::f32 : choices.of(dtypes),
            shape(),
            shape(),
            shape(),
            choices.pick(3) == 0,
            {sharing(), sharing()},
            choices.pick(2) == 0};
  if (choices.pick(3) > 0) plan.sharing[1] = plan.sharing[0];
  if (plan.sharing[0] == Sharing::none && plan.sharing[1] == Sharing::none) plan.copies = false;
  return plan;
}

/// The operands of a step, chosen from the tensors that exist.
struct Operands {
  Tensor x, y;
  std::int64_t begin, end, last, column;  ///< rows of x: some, the last; a column of x
  double number;
  DType dtype;
};

/// A kind of step, as it is printed and as it runs. It returns the tensor that it adds to those there are; an
/// undefined one where it writes into x.
struct Kind {
  const char* text;
  Tensor (*run)(F& F, Operands& o);
};

Tensor written() { return {}; }

const Kind kinds[] = {
    // views
    {"{new} = {x}[slice({begin}, {end})]",
     [](F&, Operands& o) -> Tensor { return o.x[slice(o.begin, o.end)]; }},
    {"{new} = {x}[slice({begin})]", [](F&, Operands& o) -> Tensor { return o.x[slice(o.begin)]; }},
    {"{new} = {x}[{begin}]", [](F&, Operands& o) -> Tensor { return o.x[o.begin]; }},
    {"{new} = {x}.reshape({{-1}})", [](F&, Operands& o) { return o.x.reshape({-1}); }},
    {"{new} = {x}.reshape({{-1, 2}})",
     [](F&, Operands& o) {
       return o.x.reshape({-1, 2});
     }},
    {"{new} = {x}.reshape({{1, -2}})",
     [](F&, Operands& o) {
       return o.x.reshape({1, -2});
     }},
    // new arrays
    {"{new} = {x}", [](F&, Operands& o) { return o.x; }},
    {"{new} = {x}.copy()", [](F&, Operands& o) { return o.x.copy(); }},
    {"{new} = {x} * {number} + 1", [](F&, Operands& o) { return o.x * o.number + 1; }},
    {"{new} = {x}.transpose()", [](F&, Operands& o) { return o.x.transpose(); }},
    {"{new} = {x}.astype({dtype})", [](F&, Operands& o) { return o.x.astype(o.dtype); }},
    {"{new} = F.sum({x}, 0)", [](F& F, Operands& o) { return F.sum(o.x, 0); }},
    {"{new} = F.concat({{{x}, {x}[slice({begin}, {end})]}}, 0)",
     [](F& F, Operands& o) {
       return F.concat({o.x, o.x[slice(o.begin, o.end)]}, 0);
     }},
    {"{new} = F.where({x} > 0, {x}, {x} * {number})",
     [](F& F, Operands& o) { return F.where(o.x > 0, o.x, (o.x * o.number).astype(o.x.dtype())); }},
    // writes
    {"{x}[slice()] = {x} + {number}",
     [](F&, Operands& o) { return o.x[slice()] = o.x + o.number, written(); }},
    {"{x} *= {x}", [](F&, Operands& o) { return o.x *= o.x, written(); }},
    {"{x} -= {x}[slice({begin}, {begin} + 1)]",
     [](F&, Operands& o) { return o.x -= o.x[slice(o.begin, o.begin + 1)], written(); }},
    {"{x}[slice({begin}, {end})] = {number}",
     [](F&, Operands& o) { return o.x[slice(o.begin, o.end)] = o.number, written(); }},
    {"{x}[slice({begin}, {end})] = {x}[slice({begin}, {begin} + 1)] * {number}",
     [](F&, Operands& o) {
       return o.x[slice(o.begin, o.end)] = o.x[slice(o.begin, o.begin + 1)] * o.number, written();
     }},
    {"{x}[{begin}] = {x}[{last}] + {number}",
     [](F&, Operands& o) { return o.x[o.begin] = o.x[o.last] + o.number, written(); }},
    {"{x}[slice(1)] = {x}[slice(0, {last})]",
     [](F&, Operands& o) { return o.x[slice(1)] = o.x[slice(0, o.last)], written(); }},
    {"{x}[slice({{}}, {{}}, -1)] = {x}",
     [](F&, Operands& o) { return o.x[slice({}, {}, -1)] = o.x, written(); }},
    {"{x}[slice({{}}, {{}}, 2)] = {number}",
     [](F&, Operands& o) { return o.x[slice({}, {}, 2)] = o.number, written(); }},
    {"{x}({{slice(), {column}}}) = {number}",
     [](F&, Operands& o) {
       return o.x({slice(), o.column}) = o.number, written();
     }},
    {"{x}({{slice({{}}, {{}}, -1), 0}}) = {x}({{slice(), {column}}}) + 1",
     [](F&, Operands& o) {
       return o.x({slice({}, {}, -1), 0}) = o.x({slice(), o.column}) + 1, written();
     }},
    {"{x}[{begin}] = F.sum({x}, 0)",
     [](F& F, Operands& o) { return o.x[o.begin] = F.sum(o.x, 0), written(); }},
    {"{x}[{begin}] = F.max({x}, 0)",
     [](F& F, Operands& o) { return o.x[o.begin] = F.max(o.x, 0), written(); }},
    {"{x}[slice()] = {x}.transpose().reshape({x}.shape())",
     [](F&, Operands& o) { return o.x[slice()] = o.x.transpose().reshape(o.x.shape()), written(); }},
    // writes of one tensor into another, perhaps a view of it
    {"{x}.reshape({{-1}})[slice(0, 1)] = {y}.reshape({{-1}})[slice(0, 1)]",
     [](F&, Operands& o) {
       return o.x.reshape({-1})[slice(0, 1)] = o.y.reshape({-1})[slice(0, 1)], written();
     }},
    {"{x}[slice()] = F.sum({y}.reshape({{-1}}), 0)",
     [](F& F, Operands& o) { return o.x[slice()] = F.sum(o.y.reshape({-1}), 0), written(); }},
    {"{x}[slice()] = F.max({y})", [](F& F, Operands& o) { return o.x[slice()] = F.max(o.y), written(); }},
};

/// Where numbers grow, infinities hide a wrong value.
const Kind smaller{"{x} -= F.clip({x}, -50, 50) * 0.5",
                   [](F& F, Operands& o) { return o.x -= F.clip(o.x, -50, 50) * 0.5, written(); }};

struct Step {
  std::string text;
  bool refused = false;  ///< the tensors did not fit, which is the same in all modes
  bool operator==(const Step&) const = default;
};

/// Runs step `number` of a program. The tensors that there are: p0, p1, ...
Step run_step(unsigned seed, int number, F& F, Tensors& pool) {
  Choices choices(seed, number);
  const auto count = static_cast<std::int64_t>(pool.size());
  const auto x = static_cast<std::size_t>(choices.pick(count)),
             y = static_cast<std::size_t>(choices.pick(count));
  const Shape shape = pool[x].shape();
  const std::int64_t begin = choices.pick(shape[0]), end = begin + 1 + choices.pick(shape[0] - begin);
  static const DType dtypes[] = {DType::f32, DType::f16, DType::i32, DType::u8};
  Operands o{pool[x],
             pool[y],
             begin,
             end,
             shape[0] - 1,
             choices.pick(shape.back()),
             static_cast<double>(choices.pick(5) - 2) + 0.5,
             choices.of(dtypes)};
  const bool real = is_floating(o.x.dtype());
  const Kind& kind = number % 3 == 2 && real ? smaller : choices.of(kinds);
  Step step{fmt::format(fmt::runtime(kind.text), fmt::arg("new", fmt::format("p{}", count)),
                        fmt::arg("x", fmt::format("p{}", x)), fmt::arg("y", fmt::format("p{}", y)),
                        fmt::arg("begin", begin), fmt::arg("end", end), fmt::arg("last", o.last),
                        fmt::arg("column", o.column), fmt::arg("number", o.number),
                        fmt::arg("dtype", name_of(o.dtype)))};
  try {
    if (const Tensor made = kind.run(F, o); made.defined()) pool.push_back(made);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::user) throw;
    step.refused = true;
  }
  return step;
}

struct Run {
  std::vector<Seen> seen;
  std::vector<Step> steps;  ///< of the first call
  std::size_t compiled = 0, recorded = 0;
};

Tensors arguments(Sharing sharing, const Tensor& a, const Tensor& b, const Tensor& captured) {
  const std::int64_t rows = a.shape()[0];
  switch (sharing) {
    case Sharing::none:
      return {a, b};
    case Sharing::twice:
      return {a, a};
    case Sharing::part:
      return {a, a[slice(rows / 2, rows)]};
    case Sharing::overlap:
      return {a[slice(0, rows - rows / 3)], a[slice(rows / 3, rows)]};
    case Sharing::captured:
      return {a, captured[slice(0, 1)]};
    case Sharing::reshaped:
      return {a, a.reshape({-1})};
    case Sharing::rows:
      return {a[slice(rows / 3, rows)], b};
    case Sharing::row:
      return {a[slice(rows / 3)][rows / 2 - rows / 3], b.reshape({1, -1})};
    case Sharing::two_parts:
      return {a[slice(rows / 2)], b.reshape({-1})[slice(1)]};
  }
  return {};
}

Tensor values(const Plan& plan, const Shape& shape, unsigned part) {
  return graphs::make_values(shape, plan.dtype, {}, plan.seed * 8u + part, plan.special);
}

/// The program as a network. The steps of call 0 go to `out`.
Net network(const Plan& plan, const Skipped& skipped, const Tensor& captured, const Tensor& part,
            const int& call, Run& out) {
  return Net([=, &plan, &skipped, &call, &out](F& F, const Tensors& in) {
    Tensors pool{in[0], in[1], captured, part}, results;
    if (plan.copies) {
      results = pool;
      for (Tensor& t : pool) t = t.copy();
    }
    if (call == 0) out.steps.clear();  // a call may be recorded and then run eagerly
    for (int i = 0; i < steps; ++i) {
      if (skipped.contains(i)) continue;
      std::optional<autograd::Pause> pause;
      if (plan.pauses && Choices(plan.seed, steps + 1 + i).pick(3) == 0) pause.emplace();
      Step step = run_step(plan.seed, i, F, pool);
      if (pause) step.text += "  // inside Pause";
      if (call == 0) out.steps.push_back(step);
    }
    // A tensor that is not returned need not be computed; one that is returned twice is one array.
    Choices choices(plan.seed, steps);
    std::string returned = plan.copies ? "return in[0], in[1], captured, part" : "return";
    const auto give_back = [&](std::size_t i) {
      results.push_back(pool[i]);
      returned += fmt::format(" p{}", i);
    };
    for (std::size_t i = 0; i < pool.size(); ++i)
      for (std::int64_t times = choices.pick(5) / 2; times > 0; --times) give_back(i);
    if (results.empty()) give_back(pool.size() - 1);
    if (call == 0) out.steps.push_back({returned});
    return results;
  });
}

void count_recordings(const Net& net, Run& out) {
  for (const auto& compiled : net.compiled_calls()) {
    ++out.recorded;
    out.compiled += compiled.compiled;
  }
}

/// Which calls are compiled, and how.
enum class Mode {
  eager,
  hybrid,   ///< the network is compiled
  checked,  ///< and every call is checked
  inlined   ///< the program around the network is compiled
};
const char* name_of(Mode mode) {
  return mode == Mode::inlined ? "inlined" : mode == Mode::checked ? "checked" : "hybridized";
}
void prepare(Net& net, Mode mode) {
  if (mode == Mode::hybrid || mode == Mode::checked)
    net.hybridize({.check = mode == Mode::checked ? Check::bits | Check::recording : Check::none});
}

/// Two calls of the program, each with all that it leaves: the results so far, the inputs and the
/// captured tensors, before and after the caller writes into them.
Run run(const Plan& plan, const Skipped& skipped, Mode mode) {
  Run out;
  const Tensor a = values(plan, plan.first, 0), b = values(plan, plan.second, 1),
               captured = values(plan, plan.captured, 2),
               part = captured[slice(plan.captured[0] / 2, plan.captured[0])];
  int call = 0;
  Net net = network(plan, skipped, captured, part, call, out);
  prepare(net, mode);
  Tensors kept;
  for (; call < 2; ++call) {
    const std::string name = fmt::format("call {}", call);
    const Tensors in = arguments(plan.sharing[call], a, b, captured), results = net(in);
    kept.insert(kept.end(), results.begin(), results.end());
    kept.insert(kept.end(), {a, b, captured});
    see_and_write(name, kept, out.seen);
  }
  count_recordings(net, out);
  return out;
}

/// The same of arrays that are computed from variables: the program reads and writes what is recorded. Two
/// calls, one of them perhaps outside of Record, with reads of the arrays around them; then the gradients of
/// the variables.
Run run_gradients(const Plan& plan, const Skipped& skipped, Mode mode) {
  Run out;
  Choices choices(plan.seed, -2);
  const bool add = choices.pick(4) == 0, last_unrecorded = choices.pick(5) == 0;
  bool detached[3];
  for (bool& d : detached) d = choices.pick(6) == 0;
  Tensors variables{values(plan, plan.first, 0), values(plan, plan.second, 1),
                    values(plan, plan.captured, 2)};
  for (Tensor& v : variables) v.attach_grad(add ? GradReq::add : GradReq::write);
  std::optional<autograd::Record> record(std::in_place);
  std::optional<Net> net;
  const auto run = [&](F&, const Tensors& in) {
    Tensors arrays, heads;
    for (std::size_t i = 0; i < in.size(); ++i) arrays.push_back(detached[i] ? in[i].detach() : in[i] * 1.5);
    const Tensor part = arrays[2][slice(plan.captured[0] / 2, plan.captured[0])];
    int call = 0;
    net = network(plan, skipped, arrays[2], part, call, out);
    prepare(*net, mode);
    for (; call < 2; ++call) {
      if (call == 1 && last_unrecorded) record.reset();
      const Tensors given = arguments(plan.sharing[call], arrays[0], arrays[1], arrays[2]),
                    results = (*net)(given);
      if (!record) record.emplace();
      // In another order than they were made.
      for (const Tensor& t : arrays) heads.push_back(F::square(t));
      heads.insert(heads.end(), results.begin(), results.end());
      for (const Tensor& t : given) heads.push_back(F::tanh(t));
    }
    for (const Tensor& t : arrays) heads.push_back(t * t);
    return heads;
  };
  // A block in all modes: what it returns is a value of the caller.
  Net whole(run);
  if (mode == Mode::inlined && !last_unrecorded) whole.hybridize();
  const Tensors heads = whole(variables);
  record.reset();
  Tensors recorded, gradients;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    out.seen.push_back(see(fmt::format("head {}", i), heads[i]));
    if (!is_floating(heads[i].dtype())) continue;
    const bool is_recorded = autograd::is_recorded(heads[i]);
    out.seen.push_back(see(fmt::format("whether head {} is recorded", i), full({1}, is_recorded)));
    if (!is_recorded) continue;
    recorded.push_back(heads[i]);
    gradients.push_back(graphs::make_values(heads[i].shape(), heads[i].dtype(), {},
                                            plan.seed * 64u + static_cast<unsigned>(i), false));
  }
  if (!recorded.empty()) autograd::backward(recorded, gradients);
  for (std::size_t i = 0; i < variables.size(); ++i)
    out.seen.push_back(see(fmt::format("the gradient of p{}", i), variables[i].grad()));
  count_recordings(*net, out);
  return out;
}

using RunOf = Run (*)(const Plan& plan, const Skipped& skipped, Mode mode);

/// How the runs of a program differ; nothing where they do not.
std::optional<std::string> difference(RunOf run, const Plan& plan, const Skipped& skipped, const Run& eager,
                                      Run& compiled) {
  for (const Mode mode : {Mode::inlined, Mode::checked, Mode::hybrid}) {
    // Checks of every call find nothing, and change nothing.
    if (mode == Mode::checked && plan.seed % 4 != 0) continue;
    if (mode == Mode::inlined && run != run_gradients) continue;
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      compiled = run(plan, skipped, mode);
      const auto text = first_difference(eager.seen, compiled.seen);
      if (text) return fmt::format("{} on {} threads, {}", name_of(mode), threads, *text);
      if (compiled.steps != eager.steps) return "the modes do not refuse the same steps";
    }
  }
  return {};
}

/// The program without the steps that do not matter, as a person reads it.
std::string report(RunOf run, const Plan& plan) {
  Run compiled;
  const Skipped skipped = steps_without_effect(steps, [&](const Skipped& s) {
    return difference(run, plan, s, run(plan, s, Mode::eager), compiled).has_value();
  });
  const Run eager = run(plan, skipped, Mode::eager);
  static const char* const sharings[] = {"two arrays",
                                         "p0 twice",
                                         "p0 and its second half",
                                         "overlapping parts",
                                         "p0 and a part of p2",
                                         "p0 and p0.reshape({-1})",
                                         "rows of p0, and p1",
                                         "a row of rows of p0, and p1.reshape({1, -1})",
                                         "rows of p0, and p1.reshape({-1})[slice(1)]"};
  const auto sharing = [&](int call) { return sharings[static_cast<std::size_t>(plan.sharing[call])]; };
  std::string text = fmt::format(
      "seed {}: {}, p0 {}, p1 {}; p2 {} is captured, p3 is its second half{}{}\n  the inputs of the calls: "
      "{}; {}\n",
      plan.seed, name_of(plan.dtype), plan.first.str(), plan.second.str(), plan.captured.str(),
      plan.copies ? "; the steps work on copies of them" : "", plan.special ? "; special values" : "",
      sharing(0), sharing(1));
  for (const Step& step : eager.steps) text += "  " + step.text + (step.refused ? "  // refused\n" : "\n");
  return text + difference(run, plan, skipped, eager, compiled).value_or("no difference");
}

/// Runs the programs of many seeds, or of the seeds in KILN_FUZZ_SEEDS.
void compare(RunOf run, unsigned programs, Plan (*plan_of)(unsigned seed)) {
  std::size_t all = 0, refused = 0, recorded = 0, compiled_calls = 0;
  for (const unsigned seed : seeds(programs)) {
    CAPTURE(seed);
    const Plan plan = plan_of(seed);
    const Run eager = run(plan, {}, Mode::eager);
    Run compiled;
    if (difference(run, plan, {}, eager, compiled)) FAIL_CHECK(report(run, plan));
    for (const Step& step : eager.steps) {
      ++all;
      refused += step.refused;
    }
    recorded += compiled.recorded;
    compiled_calls += compiled.compiled;
  }
  // The programs must do what they are meant to.
  CAPTURE(all, refused, recorded, compiled_calls);
  CHECK(refused * 10 < all);
  CHECK(compiled_calls * 5 > recorded * 3);
}

/// A plan of numbers with gradients; most calls get views.
Plan recorded_plan_of(unsigned seed) {
  static const Sharing sharings[] = {
      Sharing::none,      Sharing::twice,    Sharing::part, Sharing::overlap,
      Sharing::captured,  Sharing::reshaped, Sharing::rows, Sharing::row,
      Sharing::two_parts, Sharing::rows,     Sharing::row,  Sharing::two_parts,
      Sharing::none,      Sharing::none,     Sharing::rows, Sharing::two_parts};
  Plan plan = plan_of(seed);
  Choices choices(seed, -3);
  if (!is_floating(plan.dtype)) plan.dtype = choices.pick(2) == 0 ? DType::f32 : DType::f64;
  plan.special = false;
  plan.pauses = Choices(seed, -4).pick(3) == 0;
  plan.copies = plan.copies && choices.pick(4) == 0;
  plan.sharing[0] = choices.of(sharings);
  plan.sharing[1] = choices.pick(2) == 0 ? plan.sharing[0] : choices.of(sharings);
  for (Shape* const shape : {&plan.first, &plan.second, &plan.captured})
    if (shape->elements() == 0) *shape = {3, 2};
  return plan;
}

}  // namespace

TEST_CASE("random programs of views and writes agree, eager and hybridized", "[view][trace][fuzz]") {
  compare(run, 150, plan_of);
}

TEST_CASE("random programs of views and writes have the same gradients, eager and hybridized",
          "[view][gradient][fuzz]") {
  compare(run_gradients, 100, recorded_plan_of);
}
