// When a program's calls wait for a GPU, what passes through pinned memory, and what is timed: by the calls
// that the emulated device counts.
#include "driver_calls.h"

#include "function_net.h"

#include <thread>

using namespace kiln;
using namespace kiln::ptx;
using Catch::Matchers::Contains;

namespace {

const Device gpu0 = cuda(0);

std::uint64_t waits() {
  return kiln_ptx_calls("cuStreamSynchronize") + kiln_ptx_calls("cuEventSynchronize") +
         kiln_ptx_calls("cuCtxSynchronize");
}

Tensor bytes(std::size_t n) {
  std::vector<std::uint8_t> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<std::uint8_t>((i * 2654435761U) >> 13);
  Tensor t = zeros({static_cast<std::int64_t>(n)}, DType::u8);
  t.copy_from(values.data(), DType::u8);
  return t;
}

constexpr std::size_t piece = std::size_t{4} << 20;  // of pinned memory

}  // namespace

TEST_CASE("calls return before their work is done, and item() waits once") {
  const Tensor x = ones({64, 64}).to(gpu0);
  const auto compute = [&] { return F::sum(F::dot(x * 2, x + 1)); };
  CHECK(compute().item<float>() == 64 * 64 * 64 * 4);
  const std::uint64_t before = waits();
  const Tensor y = compute(), kept = y.copy(), filled = full({3}, 2).to(gpu0);
  CHECK(waits() == before);
  CHECK(kept.item<float>() == 64 * 64 * 64 * 4);
  CHECK(waits() == before + 1);
}

TEST_CASE("waitall() waits, in F too") {
  const Tensor x = ones({4}).to(gpu0) + 1;
  std::uint64_t before = waits();
  waitall();
  CHECK(waits() == before + 1);
  before = waits();
  F::waitall();
  CHECK(waits() == before + 1);
}

TEST_CASE("copies of all sizes pass through pinned memory") {
  for (const std::size_t n : {std::size_t{1}, std::size_t{63}, piece - 1, piece, piece + 1, 9 * piece + 5}) {
    CAPTURE(n);
    const Tensor host = bytes(n);
    CHECK(same_bits(host.to(gpu0).to(cpu()), host));
  }
  CHECK(kiln_ptx_calls("cuMemHostAlloc") <= 6);
}

TEST_CASE("many uploads wait only for pinned memory") {
  const Tensor small = bytes(1000), large = bytes(3 * piece / 4);
  std::vector<Tensor> on_gpu;
  const std::uint64_t before = waits();
  for (int i = 0; i < 100; ++i) on_gpu.push_back(small.to(gpu0));
  CHECK(waits() <= before + 1);
  for (int i = 0; i < 16; ++i) on_gpu.push_back(large.to(gpu0));
  CHECK(waits() <= before + 14);
  for (const Tensor& t : on_gpu) CHECK(same_bits(t.to(cpu()), t.shape() == small.shape() ? small : large));
}

TEST_CASE("threads copy to and from a GPU at once") {
  std::vector<std::thread> threads;
  std::atomic<int> same{0};
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Tensor host = bytes(piece + 1000 * t);
      for (int i = 0; i < 3; ++i) same += same_bits((host.to(gpu0) + 0).to(cpu()), host);
    });
  for (std::thread& t : threads) t.join();
  CHECK(same == 12);
}

TEST_CASE("an error names the kernels since the last wait, and no others") {
  const Tensor x = ones({64}).to(gpu0);
  CHECK(F::sum(F::relu(x)).item<float>() == 64);
  const std::string error = error_of_next_launch([&] { (void)F::tanh(F::sigmoid(x)); });
  CHECK_THAT(error, Contains("CUDA_ERROR_LAUNCH_FAILED") && Contains("sigmoid") && !Contains("relu"));
}

TEST_CASE("a profile has the device's times of each step") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.softmax(f.dot(in[0], in[1])), f.sum(in[0])}; });
  net.hybridize();
  const Tensors in{ones({64, 64}).to(gpu0), ones({64, 64}).to(gpu0)};
  net(in);
  Calls records("cuEventRecord"), events("cuEventCreate"), destroyed("cuEventDestroy_v2");
  const Profile profile;
  for (int i = 0; i < 3; ++i) net(in);
  const auto kernels = profile.kernels();
  REQUIRE(kernels.size() >= 2);
  std::size_t steps = 0;
  for (const Profile::Kernel& k : kernels) {
    CHECK(k.runs == 3);
    CHECK(k.seconds == 3 * 1e-3 / 64);  // each launch of the emulated device
    CHECK(!k.schedule.empty());
    steps += static_cast<std::size_t>(k.runs);
  }
  CHECK(records() == 2 * steps);
  CHECK(events() == destroyed());
}
