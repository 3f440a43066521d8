// The networks of the model zoo on a GPU: the CPU's bits. Minutes each where the GPU is emulated.
#include "same_bits.h"

#include <kiln/kiln.h>
#include <kiln/model_zoo.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

using namespace kiln;

namespace {

/// The smallest pictures, of a multiple of 8 pixels a side from 32 on, that the network's pooling permits.
std::int64_t size_of_pictures(const Symbol& net) {
  for (std::int64_t size = 32;; size += 8) {
    try {
      (void)net.infer_shape({{"data", {1, 3, size, size}}});
      return size;
    } catch (const Error&) {
      if (size >= 304) throw;
    }
  }
}

void check_network(const std::string& name) {
  const auto begin = std::chrono::steady_clock::now();
  const Symbol net = model_zoo::vision::get_model(name)(sym::var("data"));
  const std::int64_t size = size_of_pictures(net);
  const Model model = Model::from_symbol(net);
  const auto inputs = model.make_inputs({{"data", {1, 3, size, size}}});
  const Tensor expected = model.run(inputs).at(0), found = model.run(inputs, {.device = cuda(0)}).at(0);
  const std::string file = name + "-symbol.json";
  net.save(file);
  INFO(fmt::format("kiln verify {} --shape data=1,3,{},{} --device cuda --against cpu", file, size, size));
  for (const float y : expected.to_vector<float>()) REQUIRE(std::isfinite(y));
  CHECK(same_bits(expected, found));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print("{:18} {}x{} {:.0f} s\n", name, size, size, seconds.count());
  std::fflush(stdout);
}

}  // namespace

TEST_CASE("every network of the model zoo has the CPU's bits on a GPU") {
  for (const std::string& name : model_zoo::vision::model_names()) {
    INFO(name);
    check_network(name);
  }
}
