// Kernels of Kiln of every schedule, with inputs that leave no instruction without effect: extents that end
// within blocks, warps and stripes; a maximum in every lane; values of all branches of the functions.
#include "frontend/model/planned_model.h"
#include "model_case.h"
#include "mutant_subjects.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>

namespace kiln::ptx {
namespace {

//===--- inputs -----------------------------------------------------------===//

Tensor tensor_of(const Shape& shape, const std::function<double(std::int64_t)>& value) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(static_cast<float>(value(i)));
  return Tensor(values, shape);
}

/// Of a normal distribution; `where` chooses another part of it.
Tensor normal(const Shape& shape, unsigned where = 1) {
  std::mt19937 random(where);
  std::normal_distribution<double> distribution;
  return tensor_of(shape, [&](std::int64_t) { return distribution(random); });
}

/// Rows whose maxima are at both ends of each warp's stripe of 32 elements, then all over. The first element
/// of the second row is above all of the preceding row.
Tensor maxima_everywhere(const Shape& shape) {
  const std::vector<float> x = normal(shape).to_vector<float>();
  const std::int64_t length = shape[1], ends = 2 * ((length + 31) / 32);
  return tensor_of(shape, [&](std::int64_t i) {
    const std::int64_t row = (i / length + shape[0] - 1) % shape[0], place = i % length;
    const std::int64_t end = std::min(row / 2 * 32 + (row % 2) * 31, length - 1);
    const bool is_maximum = place == (row < ends ? end : row * 37 % length);
    return x[static_cast<std::size_t>(i)] + (!is_maximum ? 0 : row == 0 ? 12 : 6);
  });
}

/// Zeros, subnormals, infinities, NaN and where functions leave the range of floats. Then values all over the
/// range of the functions, and near the middle between two multiples of ln 2, where exp rounds x / ln 2.
Tensor extremes(std::int64_t count) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float special[] = {0,        -0.0F,     1e-45F,  -1e-45F,  1e-40F,      -1e-40F,   1.1754944e-38F,
                               1,        -1,        0.5F,    -0.5F,    1.5F,        2.5F,      -2.5F,
                               88.5F,    88.722F,   88.723F, 88.73F,   89,          -87.3F,    -87.4F,
                               -103.9F,  -103.98F,  -104,    -105,     1e30F,       -1e30F,    3.4e38F,
                               infinity, -infinity, NAN,     16777216, -8388608.5F, 4194304.5F};
  constexpr std::int64_t specials = std::size(special);
  std::mt19937 random(3);
  const auto uniform = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random()) * 0x1p-32;
  };
  return tensor_of({count}, [&](std::int64_t i) -> double {
    if (i < specials) return special[i];
    if (i + 1 == count) return 0.75;  // the end has a number as result
    switch (i % 5) {
      case 0:
        return uniform(-104, 89);
      case 1:
        return std::ldexp(uniform(-1, 1), static_cast<int>(random() % 12) - 8);
      case 2:
        return uniform(0.6, 1.6);
      case 3: {
        const auto middle = static_cast<float>((std::floor(uniform(-150, 128)) + 0.5) * 0.6931471805599453);
        return std::nextafter(random() % 2 ? middle : middle / 2, random() % 2 ? 1000.0F : -1000.0F);
      }
      default: {
        const auto bits = static_cast<std::uint32_t>(random());
        float x;
        std::memcpy(&x, &bits, sizeof x);
        return x;
      }
    }
  });
}

/// The ends of polynomials' ranges, so that their terms of high degree matter: near odd multiples of ln 2 / 2
/// for exp, half of that for tanh, below 5/8 for tanh's polynomial, near the square root of 2 and its half
/// for log.
Tensor at_ends(std::int64_t count) {
  constexpr double ln_2 = 0.6931471805599453;
  std::mt19937 random(6);
  const auto uniform = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random()) * 0x1p-32;
  };
  return tensor_of({count}, [&](std::int64_t i) -> double {
    switch (i % 5) {
      case 0:
      case 1:
        return (static_cast<int>(random() % 278) - 150 + 0.5) * ln_2 + uniform(-0.03, 0.03);
      case 2:
        return (static_cast<int>(random() % 6) + 0.5) * ln_2 / 2 + uniform(-0.015, 0.015);
      case 3:
        return uniform(0.5, 0.63);
      default:
        return random() % 2 ? uniform(1.29, 1.4143) : uniform(0.66, 0.75);
    }
  });
}

/// Sizes so uneven that a few elements, others in each row, dominate the sum of a row; the remaining ones
/// change its last bits.
Tensor uneven(const Shape& shape) {
  std::mt19937 random(4);
  std::normal_distribution<double> distribution;
  return tensor_of(shape, [&](std::int64_t) {
    const double x = distribution(random);
    return std::ldexp(x, -static_cast<int>(random() % 24));
  });
}

/// Indices of `below` elements, and some that are out of range.
Tensor indices(const Shape& shape, int below) {
  return tensor_of(shape, [&](std::int64_t i) { return static_cast<double>(i % (below + 4)) - 2; });
}

//===--- networks ---------------------------------------------------------===//

using Inputs = std::map<std::string, Tensor>;

/// A network, with inputs of several shapes: extents are arguments of most kernels.
struct Network {
  std::string name;
  Symbol result;
  std::vector<Inputs> inputs;
  std::vector<MutantKind> kinds = {};
  Precision precision = Precision::exact;
};

std::vector<Network> networks() {
  const Symbol x = sym::var("x"), y = sym::var("y"), z = sym::var("z");
  const auto of_x = [](std::initializer_list<Tensor> tensors) {
    std::vector<Inputs> all;
    for (const Tensor& t : tensors) all.push_back({{"x", t}});
    return all;
  };
  const auto product = [](const Shape& a, const Shape& b) {
    return Inputs{{"x", normal(a)}, {"y", normal(b, 2)}};
  };
  const std::vector<MutantKind> but_splits = {
      MutantKind::barrier,       MutantKind::distance, MutantKind::bound,   MutantKind::shared_offset,
      MutantKind::global_offset, MutantKind::rounding, MutantKind::exchange};
  return {
      // A thread per point.
      {"bias",
       F::relu(F::broadcast_add(F::broadcast_mul(x, y), z)),
       {{{"x", normal({5, 7, 11})}, {"y", normal({1, 7, 1}, 2)}, {"z", normal({1, 1, 11}, 3)}}}},
      {"exp", F::exp(x), of_x({extremes(1001), extremes(100003), at_ends(1500000)})},
      {"tanh", F::tanh(x), of_x({extremes(1001), extremes(100003), at_ends(1500000)})},
      {"log", F::log(x), of_x({extremes(1001), extremes(100003), at_ends(1500000)})},
      {"roundings", F::rint(x) + F::floor(x * 1.5F) * 3.0F + F::ceil(x * 2.5F) * 5.0F,
       of_x({extremes(1001)})},
      {"quotient", x / (F::sqrt(F::abs(y)) - 0.25F), {{{"x", normal({301})}, {"y", normal({301}, 2)}}}},
      // A warp per row, a block per row, a thread per result.
      {"short rows", F::sum(x, 1),
       of_x({uneven({41, 331}), uneven({40, 320}), uneven({9, 257}), uneven({9, 300})})},
      {"maxima", F::max(x, 1),
       of_x({maxima_everywhere({97, 331}), maxima_everywhere({97, 320}), maxima_everywhere({97, 257}),
             maxima_everywhere({97, 300})})},
      {"long rows", F::sum(x * x, 1),
       of_x({normal({2, 66001}), normal({3, 8449}), normal({3, 8492}), uneven({2, 40000})})},
      {"long maxima", F::max(x, 1), of_x({normal({2, 66001})}), {MutantKind::barrier}},
      {"columns", F::sum(x, 0),
       of_x({normal({603, 5}), normal({1023, 3}), normal({7, 5}), normal({513, 3}), uneven({512, 9})})},
      // More halvings, with the bounds of the kernel above.
      {"long columns",
       F::sum(x, 0),
       of_x({normal({1025, 3}), uneven({2049, 9}), normal({3007, 5})}),
       {MutantKind::global_offset, MutantKind::rounding, MutantKind::exchange}},
      // Row fusions, by two warps a row. Their exp is the kernel's above.
      {"softmax", F::softmax(x),
       of_x({maxima_everywhere({60, 587}), maxima_everywhere({60, 576}), maxima_everywhere({64, 513}),
             maxima_everywhere({60, 556})}),
       but_splits},
      {"layer norm",
       F::LayerNorm(x, y, z),
       {{{"x", normal({60, 587})}, {"y", normal({587}, 2)}, {"z", normal({587}, 3)}},
        {{"x", normal({300, 587})}, {"y", normal({587}, 2)}, {"z", normal({587}, 3)}},
        {{"x", uneven({240, 587})}, {"y", normal({587}, 2)}, {"z", normal({587}, 3)}}}},
      // Products whose last row, column and k are at each of the places that a thread has.
      {"product",
       F::relu(F::dot(x, y)),
       {product({70, 39}, {39, 67}), product({101, 43}, {43, 84}), product({84, 47}, {47, 101}),
        product({119, 33}, {33, 118}), product({5, 16}, {16, 7}), product({9, 32}, {32, 9}),
        product({9, 15}, {15, 9})},
       {MutantKind::barrier, MutantKind::bound, MutantKind::shared_offset, MutantKind::global_offset,
        MutantKind::split}},
      {"product of chunks",
       F::dot(x, y, {.transpose_b = true}),
       {product({20, 535}, {18, 535}), product({37, 528}, {55, 528}), product({51, 523}, {36, 523}),
        product({70, 527}, {65, 527}), product({5, 1025}, {5, 1025})},
       {MutantKind::barrier, MutantKind::bound}},
      // Products of few results: a thread per result, or per chunk of one.
      {"few results",
       F::dot(x, y),
       {product({3, 39}, {39, 4}), product({2, 16}, {16, 7}), product({5, 17}, {17, 3})}},
      {"few long results",
       F::dot(x, y, {.transpose_b = true}),
       {product({3, 1031}, {5, 1031}), product({3, 131076}, {2, 131076}), product({2, 513}, {4, 513})}},
      {"batch of products",
       F::linalg::gemm2(x, y),
       {product({2, 20, 39}, {2, 39, 20})},
       {MutantKind::barrier}},
      {"large product",
       F::linalg::gemm2(x, y),
       {product({256, 65, 39}, {256, 39, 65})},
       {MutantKind::barrier}},
      // On tensor cores, of whole numbers: their sums are exact in any order.
      {"product on tensor cores",
       F::dot(F::cast(F::floor(x * 3.0F), DType::f16), F::cast(F::floor(y * 3.0F), DType::f16)),
       {product({50, 530}, {530, 40}), product({37, 1030}, {1030, 70})},
       {MutantKind::barrier, MutantKind::shared_offset},
       Precision::fast},
      // Fallback.
      {"running sums", F::cumsum(x, 1), of_x({normal({7, 19})})},
      {"embedding", F::take(x, y), {{{"x", normal({9, 13})}, {"y", indices({29}, 9)}}}},
  };
}

//===--- runs -------------------------------------------------------------===//

std::string text_of(const PlannedKernel& k) {
  return {reinterpret_cast<const char*>(k.object->data()), k.object->size()};
}

/// A network with one of the inputs, whose kernels are changed, one at a time.
class MutantRun {
 public:
  explicit MutantRun(const Case& c)
      : expected_(run_on(c, cpu())),
        planned_(PlannedModel::of(c.model, c.inputs, {.device = cuda()})),
        unchanged_(planned_.plan, {}, cuda()) {}

  const std::vector<PlannedKernel>& kernels() const { return planned_.plan.kernels; }

  /// The outcome of the network with another kernel in place of the one whose text is `from`.
  Noticed run(const std::string& from, const std::string& to) {
    static std::uint64_t changed = 0;
    ExecutablePlan plan = planned_.plan;
    const auto kernel = std::find_if(plan.kernels.begin(), plan.kernels.end(),
                                     [&](const PlannedKernel& k) { return text_of(k) == from; });
    if (kernel == plan.kernels.end()) throw std::runtime_error("inputs of other shapes have other kernels");
    const auto* const data = reinterpret_cast<const std::byte*>(to.data());
    kernel->object = std::make_shared<const std::vector<std::byte>>(data, data + to.size());
    kernel->key = {++changed, 0};
    // Results of the last run must not stand where this one leaves a gap.
    release_pooled_memory(cuda());
    Noticed noticed = Noticed::by_loading;
    try {
      const Executable executable(std::move(plan), {}, cuda());
      noticed = Noticed::by_device;
      const std::vector<Tensor> results = run_executable(executable, planned_.variables);
      return difference(results, expected_).empty() ? Noticed::not_at_all : Noticed::by_bits;
    } catch (const Error&) {
      return noticed;
    }
  }

 private:
  std::vector<Tensor> expected_;
  PlannedModel planned_;
  Executable unchanged_;  ///< keeps the other kernels loaded
};

}  // namespace

std::vector<Subject> generated_subjects(std::string_view only) {
  std::vector<Subject> subjects;
  for (const Network& n : networks()) {
    if (!only.empty() && n.name != only) continue;
    const PrecisionScope precision(n.precision);
    std::vector<std::shared_ptr<MutantRun>> runs;
    for (const Inputs& inputs : n.inputs)
      runs.push_back(std::make_shared<MutantRun>(Case{n.name, Model::from_symbol(n.result), inputs}));
    const std::vector<PlannedKernel>& kernels = runs.front()->kernels();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::string ptx = text_of(kernels[i]);
      subjects.push_back({kernels.size() == 1 ? n.name : fmt::format("{} {}", n.name, i + 1), ptx,
                          [=](const std::string& changed) {
                            for (const auto& run : runs)
                              if (const Noticed how = run->run(ptx, changed); how != Noticed::not_at_all)
                                return how;
                            return Noticed::not_at_all;
                          },
                          n.kinds});
    }
  }
  return subjects;
}

}  // namespace kiln::ptx
