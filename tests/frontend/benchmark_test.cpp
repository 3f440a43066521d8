// benchmark(): the table of a program's own network.
#include "function_net.h"

#include <sstream>

using namespace kiln;
using Catch::Matchers::Contains;

namespace {

Net two_layers() {
  return Net([](F& f, const Tensors& in) { return Tensors{f.relu(f.dot(in[0], in[0]) + 1)}; });
}

}  // namespace

TEST_CASE("a network's calls, eager and compiled") {
  Net net = two_layers();
  net.hybridize();
  const Tensor x = ones({8, 8});
  const Benchmark result = benchmark(net, {x}, {.seconds = 0.01, .kernels = true});
  REQUIRE(result.timings.size() == 2);
  for (const Timing& t : result.timings) {
    CHECK(t.samples >= 5);
    CHECK(t.min_us > 0);
    CHECK(t.min_us <= t.median_us);
    CHECK(t.deviation_us >= 0);
    CHECK(t.profiled_calls >= 5);
    REQUIRE(!t.kernels.empty());
    for (const Profile::Kernel& k : t.kernels) CHECK(k.runs == t.profiled_calls);
  }
  // The eager calls run operator by operator.
  CHECK(result.timings[0].kernels.size() == 3);
  CHECK(result.timings[1].kernels.size() == result.compiled.kernels);
  CHECK(result.compiled.kernels < 3);
  CHECK(result.compiled.inputs == "float32 (8, 8)");
  CHECK(!speed_up(result.timings, result.timings[0]));
  CHECK(speed_up(result.timings, result.timings[1]) ==
        result.timings[0].median_us / result.timings[1].median_us);

  // The network is as it was.
  CHECK(net.compiled_calls().size() == 1);
  CHECK(same_bits(net(x), two_layers()(x)));

  std::ostringstream text;
  text << result;
  CHECK_THAT(text.str(), Contains("mode      median us      +-     min us  samples  speed-up\neager ") &&
                             Contains("\ncompiled: ") &&
                             Contains("eager: time by kernel, median of a run in ") &&
                             Contains("compiled: time by kernel, median of a run in ") &&
                             Contains("benchmark_test.cpp:"));
}

TEST_CASE("a call that is not compiled has no such table") {
  Net net = two_layers();
  CHECK_THROWS_WITH(benchmark(net, {ones({2, 2})}),
                    Contains("benchmark_test.cpp:") && Contains("not hybridized"));
  Net seeds([](F&, const Tensors& in) {
    random::seed(1);
    return Tensors{in[0] + 1};
  });
  seeds.hybridize();
  CHECK_THROWS_WITH(benchmark(seeds, {ones({2, 2})}, {.seconds = 0.01}),
                    Contains("is not compiled") && Contains("random::seed()"));
}

TEST_CASE("medians and deviations of given times") {
  int calls = 0;
  const Timing t = time_calls("eager", [&] { ++calls; }, {.seconds = 0});
  CHECK(t.samples == 5);
  CHECK(calls == 6);
  CHECK(t.kernels.empty());
  const Timing slow{.mode = "eager", .median_us = 30}, fast{.mode = "compiled", .median_us = 10};
  CHECK(speed_up(std::vector{slow, fast}, fast) == 3);
  CHECK(!speed_up(std::vector{fast}, fast));
  CHECK_THROWS_WITH(time_calls("eager", nullptr), Contains("time_calls() needs a call"));
  const Timing none{.mode = "compiled"};
  CHECK(!speed_up(std::vector{slow, none}, none));
  CHECK_THAT(times_table(std::vector{slow, none}), !Contains("nan") && !Contains("inf"));
  for (std::size_t begin = 0, end;
       (end = times_table(std::vector{slow, fast}).find('\n', begin)) != std::string::npos; begin = end + 1)
    CHECK(end - begin <= 80);
}
