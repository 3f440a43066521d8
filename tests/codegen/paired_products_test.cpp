// Products and convolutions by paired32 against the definitions in ir/KilnOps.td, in plain C++, bit by bit,
// on every instruction set: bf16 arrays, and Precision::bf16.
#include "expect.h"
#include "function_net.h"
#include "packed_once.h"
#include "paired_definition.h"
#include "window_definitions.h"

#include <kiln/version.h>

#include <cmath>
#include <limits>

using namespace kiln;
using namespace window_definitions;
using paired_definition::dot;
using paired_definition::Steps;

namespace {

/// The contracted index runs over the taps, then over the channels of the group with zeros after the last.
Tensor convolved(const Convolution& c, const Tensor& x, const Tensor& w) {
  const Flushing flushing;
  const auto values = x.to_vector<float>(), weights = w.to_vector<float>();
  const Window& window = c.window;
  const std::int64_t maps = count(window.in()), taps = count(window.taps());
  std::vector<float> results;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t o = 0; o < c.groups * c.out; ++o)
      for (std::int64_t at = 0; at < count(window.out()); ++at) {
        const std::int64_t first = (n * c.groups + o / c.out) * c.in;
        Steps steps;
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const std::int64_t seen = window.seen(place_of(at, window.out()), place_of(tap, window.taps()));
          for (std::int64_t i = 0; i < (c.in + 31) / 32 * 32; ++i)
            steps.take(
                seen < 0 || i >= c.in ? 0.f : values[static_cast<std::size_t>((first + i) * maps + seen)],
                i >= c.in ? 0.f : weights[static_cast<std::size_t>((o * c.in + i) * taps + tap)]);
        }
        results.push_back(steps.sum());
      }
  return Tensor(results, window.shape(c.batch, c.groups * c.out, window.out()));
}

/// Results in float32 of `body` for arrays of bf16: from bf16 arrays rounded to it, from float32 arrays that
/// Precision::bf16 rounds as they are. On every instruction set.
void check(const Net::Body& body, const Tensors& halves, const Tensor& expected) {
  Tensors wide;
  for (const Tensor& x : halves) wide.push_back(x.astype(DType::f32));
  for (const std::string& cpu : target_cpus()) {
    CAPTURE(cpu, halves[0].shape().str(), halves[1].shape().str());
    set_target_cpu(cpu);
    {
      const PrecisionScope no_tensor_cores(Precision::exact);
      CHECK(same_bits(everywhere(body, halves)[0], expected.astype(DType::bf16)));
    }
    const PrecisionScope scope(Precision::bf16);
    CHECK(same_bits(everywhere(body, wide)[0], expected));
  }
  set_target_cpu("native");
}

Net::Body dots(bool transpose_a, bool transpose_b) {
  return [=](F& F, const Tensors& in) {
    return Tensors{F.dot(in[0], in[1], {.transpose_a = transpose_a, .transpose_b = transpose_b})};
  };
}

Net::Body convolutions(const Convolution& c) {
  return [=](F& f, const Tensors& in) { return Tensors{f.Convolution(in[0], in[1], options(c))}; };
}

/// Numbers whose products are around the smallest normal ones, and some subnormal ones.
Tensor tiny(const Shape& shape) {
  const Tensor exponents = F::floor(random::uniform(-72, -54, shape, DType::f64));
  const Tensor numbers = drawn(shape, DType::f64) * F::exp(exponents * std::log(2.0));
  const Tensor subnormal = drawn(shape, DType::f64) * std::ldexp(1.0, -127);
  return F::where(
             F::broadcast_lesser(random::uniform(0, 1, shape, DType::f64), full({1, 1}, 0.1, DType::f64)),
             subnormal, numbers)
      .astype(DType::bf16);
}

}  // namespace

TEST_CASE("products by paired32 are those of the definition", "[paired_products]") {
  random::seed(1);
  // One step, steps with a rest, several blocks of k; few columns, panels with a rest; one row, whole tiles.
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{1, 16, 1},
                                                                        {1, 32, 80},
                                                                        {3, 40, 5},
                                                                        {7, 100, 33},
                                                                        {4, 2500, 17},
                                                                        {33, 1056, 64},
                                                                        {130, 64, 3},
                                                                        {31, 96, 100}}) {
    const Tensor x = drawn({m, k}, DType::bf16), y = drawn({k, n}, DType::bf16);
    check(dots(false, false), {x, y}, dot(x, y));
  }
}

TEST_CASE("products by paired32 take operands in any order of their axes", "[paired_products]") {
  random::seed(2);
  const Tensor x = drawn({12, 70}, DType::bf16), y = drawn({70, 19}, DType::bf16), expected = dot(x, y);
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      check(dots(a, b), {a ? F::transpose(x) : x, b ? F::transpose(y) : y}, expected);
  // Views whose rows are no words, and that begin within a word.
  const Tensor longer = drawn({12, 75}, DType::bf16);
  for (const std::int64_t begin : {1, 4}) {
    const Tensor part = F::slice_axis(longer, {.axis = 1, .begin = begin, .end = begin + 70});
    check(
        [begin](F& F, const Tensors& in) {
          return Tensors{F.dot(F.slice_axis(in[0], {.axis = 1, .begin = begin, .end = begin + 70}), in[1])};
        },
        {longer, y}, dot(part, y));
  }
  // A batch, whose right operands are not packed before.
  const Tensor p = drawn({3, 9, 40}, DType::bf16), q = drawn({3, 40, 21}, DType::bf16);
  Tensors products;
  for (std::int64_t i = 0; i < 3; ++i)
    products.push_back(F::expand_dims(dot(p[i].copy(), q[i].copy()), {.axis = 0}));
  check([](F& F, const Tensors& in) { return Tensors{F.batch_dot(in[0], in[1])}; }, {p, q},
        F::concat(products, {.dim = 0}));
}

TEST_CASE("convolutions by paired32 are those of the definition", "[paired_products]") {
  random::seed(3);
  for (const Convolution& c :
       {Convolution{1, 1, 16, 8, {{9}, {3}}}, Convolution{2, 1, 32, 33, {{7, 6}, {1, 1}}},
        Convolution{1, 1, 40, 20, {{9, 8}, {3, 3}, {2, 1}, {}, {1, 1}}},
        Convolution{1, 1, 130, 17, {{6, 7}, {3, 3}, {}, {}, {1, 1}}},
        Convolution{2, 2, 32, 12, {{8, 8}, {3, 3}, {}, {2, 2}, {2, 2}}},
        Convolution{1, 1, 16, 9, {{3, 4, 5}, {2, 1, 3}, {}, {}, {1, 0, 1}}},
        // Lines of an image that fill a register of AMX's rows, that fill half of one, and that share it.
        Convolution{1, 1, 64, 40, {{15, 14}, {3, 3}, {}, {}, {1, 1}}},
        Convolution{2, 1, 32, 70, {{7, 7}, {3, 3}, {}, {}, {1, 1}}},
        Convolution{3, 1, 32, 16, {{7, 7}, {1, 1}}}, Convolution{1, 1, 64, 33, {{9, 20}, {1, 1}}},
        Convolution{1, 1, 32, 20, {{3, 45}, {3, 3}, {1, 2}, {}, {1, 1}}}}) {
    const Tensor x = drawn(c.input(), DType::bf16), w = drawn(c.weights(), DType::bf16);
    check(convolutions(c), {x, w}, convolved(c, x, w));
  }
}

TEST_CASE("paired32 flushes subnormals, and nothing else does", "[paired_products]") {
  random::seed(4);
  const Tensor x = tiny({20, 200}), y = tiny({200, 48}), expected = dot(x, y);
  const auto values = expected.to_vector<float>();
  // The results are not all zeros, and none is subnormal.
  CHECK(std::any_of(values.begin(), values.end(), [](float v) { return v != 0; }));
  for (const float v : values) CHECK((v == 0 || std::abs(v) >= std::numeric_limits<float>::min()));
  check(dots(false, false), {x, y}, expected);

  // The epilogue keeps what it makes: a half of the smallest normal number.
  const Tensor one = F::ones({2, 32}), least = full({32, 16}, std::ldexp(1.0, -126) / 32);
  const PrecisionScope scope(Precision::bf16);
  for (const std::string& cpu : target_cpus()) {
    CAPTURE(cpu);
    set_target_cpu(cpu);
    const Tensor large = full({32, 16}, std::ldexp(1.0, -126));
    const Tensor halved =
        everywhere([](F& F, const Tensors& in) { return Tensors{F.dot(in[0], in[1]) * std::ldexp(1.0, -6)}; },
                   {one, large})[0];
    CHECK(same_bits(halved, full({2, 16}, std::ldexp(1.0, -127))));
    // Operands that are subnormal are zeros.
    CHECK(same_bits(F::dot(one, least), F::zeros({2, 16})));
  }
  set_target_cpu("native");
}

TEST_CASE("infinities and NaN pass through paired32", "[paired_products]") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(4 * 48, 1.f);
  values[5] = inf;
  values[48 + 6] = -inf;
  values[96 + 7] = nan;
  const Tensor x = Tensor(values, {4, 48}).astype(DType::bf16), y = F::ones({48, 20}, DType::bf16);
  check(dots(false, false), {x, y}, dot(x, y));
}

TEST_CASE("parameters of bf16 are packed once", "[paired_products]") {
  // Whole steps, and rows that are padded.
  for (const std::int64_t k : {64, 70}) {
    nn::Dense net(48, {.use_bias = false, .in_units = k});
    net.initialize();
    net.cast(DType::bf16);
    check_packed_once(net, drawn({5, k}, DType::bf16), "weight");
  }
}

TEST_CASE("each instruction set multiplies bf16 with its own instructions", "[paired_products]") {
  nn::Dense dense(48, {.use_bias = false, .in_units = 64});
  dense.initialize();
  const Model model =
      Model::from_symbol(dense(sym::var("data")), {{dense.weight.name(), dense.weight.data()}});
  for (const std::string& cpu : target_cpus()) {
    CAPTURE(cpu);
    set_target_cpu(cpu);
    const auto stages = model.dump({{"data", drawn({40, 64})}}, {.precision = Precision::bf16});
    const std::string& assembly = stages.at("asm");
    const bool has_matrix_unit = cpu.ends_with("amx");
    CHECK((assembly.find("tdpbf16ps") != std::string::npos) == has_matrix_unit);
    // Sums on vectors need the mode that flushes subnormals.
    CHECK((assembly.find("ldmxcsr") != std::string::npos) != has_matrix_unit);
  }
  set_target_cpu("native");
}
