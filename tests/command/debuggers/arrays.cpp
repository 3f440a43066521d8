// Arrays in every state, for a debugger that stops in `stop`. It includes public headers only, as users do.
#include <kiln/kiln.h>

#include <array>
#include <cstdint>
#include <vector>

using namespace kiln;

namespace {

/// The debugger stops here and looks at the caller.
[[gnu::noinline]] void stop(const void* value) { asm volatile("" : : "r"(value) : "memory"); }

struct Traced : HybridBlock {
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    Tensor sum = x + 1;
    auto halves = F.split(sum, {.num_outputs = 2, .axis = 1});
    Tensor half = halves[1];
    stop(&half);
    return half;
  }
};

}  // namespace

int main() {
  Shape scalar, vector{5}, matrix{2, 3};
  [[maybe_unused]] const DType bfloat16 = DType::bf16, boolean = DType::boolean;
  [[maybe_unused]] const Device device = cuda(1);

  Tensor none;
  Tensor f32(std::vector<float>{0, 0.5F, -1, 3.25F, 1e10F, 0.1F}, {2, 3});
  Tensor f64(std::vector<double>{0.1, 1e300}, {2});
  Tensor i8(std::vector<std::int8_t>{-128, 127}, {2});
  Tensor u8(std::vector<std::uint8_t>{0, 255}, {1, 2});
  Tensor i32(std::vector<std::int32_t>{-7}, {1});
  Tensor i64(std::vector<std::int64_t>{std::int64_t{1} << 62}, {1});
  std::array<bool, 2> truths{true, false};
  Tensor bools(std::span<const bool>(truths), {2});
  std::array<std::uint16_t, 3> halves{0x3C00, 0xC000, 0x7C00};
  Tensor f16 = Tensor::wrap(halves.data(), {3}, DType::f16);
  std::array<std::uint16_t, 3> brains{0x3F80, 0xC000, 0x7F80};
  Tensor bf16 = Tensor::wrap(brains.data(), {3}, DType::bf16);
  std::vector<float> many(100);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  Tensor long_array(many, {4, 25});
  Tensor empty(std::vector<float>{}, {0, 3});
  Tensor rows = long_array[slice(1, 3)];
  Tensor reshaped = f32.reshape({6});
  [[maybe_unused]] const Tensor& reference = f32;
  std::array<std::int64_t, 32> garbage{};
  garbage.fill(-1);
  [[maybe_unused]] const auto& no_shape = reinterpret_cast<const Shape&>(garbage);
  [[maybe_unused]] const auto& no_tensor = reinterpret_cast<const Tensor&>(garbage);

  nn::Dense net(2, {.in_units = 3});
  net.initialize(init::One());
  net.hybridize({.weights = Weights::release});
  Tensor y = net(f32);
  Tensor released = net.weight.data();
  stop(&released);

  Traced traced;
  traced.hybridize();
  traced(Tensor(std::vector<float>(8), {2, 4}));
}
