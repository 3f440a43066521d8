// One process, several instruction sets: the same bits.
#include "expect.h"
#include "function_net.h"

#include <kiln/version.h>

#include <algorithm>

using namespace kiln;

namespace {

Tensors compute(F& F, const Tensors& in) {
  const Tensor product = F.dot(in[0], in[1]);
  return {product, F.softmax(product), F.exp(in[0]), F.sum(in[0], {.axis = 1}), F.sqrt(F.abs(in[0]))};
}

}  // namespace

TEST_CASE("every instruction set of the machine gives the same bits, eagerly and compiled", "[isa]") {
  random::seed(2);
  const Tensors in{random::normal(0, 2, {37, 53}), random::normal(0, 1, {53, 19})};
  const std::vector<std::string> cpus = target_cpus();
  REQUIRE(cpus.at(0) == "scalar");
  const Tensors expected = everywhere(compute, in);
  for (const std::string& cpu : cpus) {
    CAPTURE(cpu);
    set_target_cpu(cpu);
    CHECK(host_isa() == "x86_64 " + cpu);
    const Tensors now = everywhere(compute, in);
    REQUIRE(now.size() == expected.size());
    for (std::size_t i = 0; i < now.size(); ++i) CHECK(same_bits(now[i], expected[i]));
  }
  set_target_cpu("native");
  CHECK(host_isa() == "x86_64 " + cpus.back());
}

TEST_CASE("a network that is compiled keeps its code", "[isa]") {
  Net net([](F& F, const Tensors& in) { return Tensors{F.tanh(in[0])}; });
  net.hybridize();
  net({ones({4})});
  set_target_cpu("scalar");
  net({ones({4})});
  CHECK(net.runs() == 1);
  set_target_cpu("native");
}

TEST_CASE("instruction sets that are unknown or missing are errors that change nothing", "[isa]") {
  const std::string before = host_isa();
  CHECK_THAT(
      message_of([] { set_target_cpu("sse9"); }),
      Catch::Contains(
          "'sse9' is not known; use native, scalar, avx2, avx2-vnni, avx512, avx512-vnni or avx512-amx"));
  const std::vector<std::string> cpus = target_cpus();
  for (const char* cpu : {"avx2", "avx2-vnni", "avx512", "avx512-vnni"})
    if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end())
      CHECK_THAT(message_of([&] { set_target_cpu(cpu); }), Catch::Contains("this machine has no AVX"));
  CHECK(host_isa() == before);
}
