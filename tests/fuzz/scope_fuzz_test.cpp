// Random programs with scopes of recording, of the training mode and of the precision around operators,
// views, writes, child blocks, loops and branches. Results, gradients and written arrays have the same bits,
// eager and hybridized.
#include "block_gradients.h"

#include <cstdlib>
#include <random>

using namespace kiln;

namespace {

using Results = struct F::contrib::Results;

constexpr std::int64_t width = 6, half = 3;

/// Statements that a seed fixes. Tensors are of `width` or `half` elements.
class Program {
 public:
  explicit Program(unsigned seed) : seed_(seed) {}

  Tensors operator()(F& f, const Tensors& in) const {
    Random random(seed_);
    Tensors pool{in[0] * 1.5, f.tanh(in[1])};
    if (random() % 2) pool.push_back(in[2]);
    block(f, pool, random, 9, 2);
    Tensor sum = f.sum(pool[0]);
    for (std::size_t i = 1; i < pool.size(); ++i)
      sum = sum + f.sum(pool[i] * (1.25 + static_cast<double>(i)));
    return {sum, pool.back(), pool[0] * 1.};
  }

 private:
  using Random = std::minstd_rand;

  static const Tensor& any(const Tensors& pool, Random& random) { return pool[random() % pool.size()]; }
  static const Tensor& like(const Tensors& pool, const Tensor& x, Random& random) {
    const std::size_t first = random() % pool.size();
    for (std::size_t i = 0; i < pool.size(); ++i)
      if (const Tensor& t = pool[(first + i) % pool.size()]; t.shape() == x.shape()) return t;
    return x;
  }
  static Precision any_precision(Random& random) { return random() % 2 ? Precision::bf16 : Precision::exact; }
  static Tensor wide(F& f, const Tensor& x) {
    return x.shape()[0] == width ? x : f.concat({x, x * 0.5}, {.dim = 0});
  }

  void block(F& f, Tensors& pool, Random& random, int statements, int depth) const {
    for (int i = 0; i < statements; ++i) statement(f, pool, random, depth);
  }

  void statement(F& f, Tensors& pool, Random& random, int depth) const {
    Tensor x = any(pool, random);
    const auto row = static_cast<std::int64_t>(random() % (half + 1));
    const bool is_wide = x.shape()[0] == width;
    const unsigned inner = static_cast<unsigned>(random());
    switch (random() % (depth > 0 ? 20 : 11)) {
      case 0:
        // Some are saturated: their gradients are zeros of both signs.
        return pool.push_back(f.tanh(random() % 3 ? x : x * 64.));
      case 1:
        return pool.push_back(f.sigmoid(x) * x);
      case 2:
        return pool.push_back(x * like(pool, x, random));
      case 3:
        return pool.push_back(f.tanh(x) + like(pool, x, random) * 0.75);
      case 4:
        return pool.push_back(is_wide ? Tensor(x[slice(row, row + half)]) : x.reshape({half}));
      case 5:
        return pool.push_back(wide(f, x));
      case 6:
        return pool.push_back(f.Dropout(x, {.p = 0.5}));
      case 7: {
        const autograd::Pause pause(random() % 2 == 0);
        x *= 0.5;
        return;
      }
      case 8: {
        const Tensor y = any(pool, random);
        const unsigned way = random() % 4;
        const autograd::Pause pause(random() % 2 == 0);
        // Of a view, and of views of it.
        Tensor part = is_wide ? Tensor(x[slice(row, row + half)]) : x;
        if (way == 0)
          part[slice(0, 2)] = y[slice(0, 2)];
        else if (way == 1)
          part.reshape({-1})[slice(1)] = y[slice(0, 2)];
        else if (way == 2)
          part[slice(1)][slice(0, 1)] = 0.5;
        else if (is_wide)
          x[slice(row, row + 2)] = y[slice(0, 2)];
        return;
      }
      case 9: {
        // Not into an array with a gradient.
        Tensor made = f.tanh(x);
        const Tensor y = any(pool, random);
        pool.push_back(made);
        made[slice(1, 3)] = y[slice(0, 2)];
        pool.push_back(made[slice(0, 3)]);
        return;
      }
      case 10:
        return pool.push_back(x * f.dot(x, like(pool, x, random)));
      case 11:
      case 12: {
        const autograd::Pause pause(random() % 2 == 0);
        return block(f, pool, random, 3, depth - 1);
      }
      case 13: {
        const autograd::Record record(random() % 2 == 0);
        return block(f, pool, random, 3, depth - 1);
      }
      case 14: {
        const autograd::TrainMode mode(random() % 2 == 0);
        return block(f, pool, random, 3, depth - 1);
      }
      case 15:
      case 16: {
        const PrecisionScope precision(any_precision(random));
        return block(f, pool, random, 3, depth - 1);
      }
      case 17: {
        Net child([&](F& g, const Tensors& in) {
          Random own(inner);
          Tensors inside = in;
          block(g, inside, own, 4, depth - 1);
          return Tensors{g.tanh(inside.back()), inside.back() * 2};
        });
        for (const Tensor& t : child({x, any(pool, random)})) pool.push_back(t);
        return;
      }
      case 18: {
        const auto step = [&](const Tensors& rows, const Tensors& states) {
          Random own(inner);
          Tensors inside{rows[0] * 1., states[0] * 1.};
          pure(f, inside, own, depth - 1);
          return Results{{f.tanh(inside.back()).sum()}, {f.tanh(inside[0] + states[0].sum())}};
        };
        const Tensor data = wide(f, x).reshape({2, half});
        const Results r = f.contrib().foreach (step, {data}, {data[0]});
        return pool.push_back(r.states[0] * r.outputs[0].sum());
      }
      default: {
        const auto way = [&](unsigned part) {
          return [&, part]() -> Tensors {
            Random own(inner + part);
            Tensors inside{x * 1., f.tanh(x)};
            pure(f, inside, own, depth - 1);
            return {f.tanh(inside.back()).sum() * x};
          };
        };
        return pool.push_back(f.contrib().cond(f.sum(x) > 0.25, way(0), way(1))[0]);
      }
    }
  }

  /// The steps that a body may have: no random numbers, no writes to arrays from outside.
  void pure(F& f, Tensors& pool, Random& random, int depth) const {
    for (int i = 0; i < 3; ++i) {
      const Tensor x = any(pool, random);
      switch (random() % (depth > 0 ? 7 : 4)) {
        case 0:
          pool.push_back(f.tanh(x));
          break;
        case 1:
          pool.push_back(x * f.sigmoid(like(pool, x, random)));
          break;
        case 2: {
          const autograd::Pause pause(random() % 2 == 0);
          Tensor made = f.square(x);
          made[slice(0, 1)] = 0.5;
          pool.push_back(made);
          break;
        }
        case 3:
          pool.push_back(x * f.dot(x, like(pool, x, random)));
          break;
        case 4: {
          const autograd::Pause pause;
          pure(f, pool, random, depth - 1);
          break;
        }
        case 5: {
          const PrecisionScope precision(any_precision(random));
          pure(f, pool, random, depth - 1);
          break;
        }
        default: {
          const autograd::Record record;
          pure(f, pool, random, depth - 1);
        }
      }
    }
  }

  unsigned seed_;
};

struct Run {
  Tensors seen;
  bool compiled = true;
};

Run run(unsigned seed, bool hybrid) {
  const Program program(seed);
  Net net([&](F& f, const Tensors& in) { return program(f, in); });
  if (hybrid) net.hybridize();
  Run out;
  const PrecisionScope precision(seed % 5 == 0 ? Precision::bf16 : Precision::exact);
  random::seed(seed);
  for (int call = 0; call < 2; ++call) {
    Tensors in;
    for (unsigned i = 0; i < 3; ++i) in.push_back(block_gradients::values({width}, DType::f32, seed + i));
    for (Tensor& t : in) t.attach_grad();
    Tensors results;
    {
      std::optional<autograd::Record> record;
      if (seed % 8 != 7) record.emplace(seed % 2 == 0);
      results = net(in);
    }
    Tensors heads;
    for (const Tensor& t : results)
      if (autograd::is_recorded(t)) heads.push_back(t);
    out.seen.push_back(Tensor{static_cast<double>(heads.size())});
    if (!heads.empty()) autograd::backward(heads);
    for (const Tensor& t : in) out.seen.insert(out.seen.end(), {t.grad().copy(), t.copy()});
    out.seen.insert(out.seen.end(), results.begin(), results.end());
    out.seen.push_back(random::uniform(0, 1, {1}));
  }
  if (hybrid) out.compiled = net.compiled_calls().at(0).compiled;
  return out;
}

}  // namespace

TEST_CASE("random programs with scopes of recording", "[fuzz]") {
  const char* const first = std::getenv("KILN_SCOPE_FUZZ_SEED");
  const char* const count = std::getenv("KILN_SCOPE_FUZZ_COUNT");
  const unsigned begin = first ? static_cast<unsigned>(std::atoi(first)) : 0,
                 programs = count ? static_cast<unsigned>(std::atoi(count)) : 60;
  unsigned compiled = 0;
  for (unsigned seed = begin; seed < begin + programs; ++seed) {
    CAPTURE(seed);
    const Run eager = run(seed, false), other = run(seed, true);
    compiled += other.compiled;
    REQUIRE(eager.seen.size() == other.seen.size());
    for (std::size_t i = 0; i < eager.seen.size(); ++i) {
      if (same_bits(eager.seen[i], other.seen[i])) continue;
      CAPTURE(i, eager.seen[i].to_vector<float>(), other.seen[i].to_vector<float>());
      CHECK(same_bits(eager.seen[i], other.seen[i]));
      break;
    }
  }
  CAPTURE(compiled, programs);
  CHECK(compiled * 10 > programs * 9);
}
