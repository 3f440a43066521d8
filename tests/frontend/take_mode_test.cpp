// take(mode="raise"): an index out of range ends the call, eagerly, compiled, in bodies and from files.
#include "function_net.h"
#include "golden_files.h"

#include <kiln/control_flow.h>

using namespace kiln;
using golden::error_of;

namespace {

constexpr auto body = [](F& F, const Tensors& in) {
  return Tensors{F.take(in[0], in[1], {.axis = 0, .mode = "raise"})};
};
constexpr int line_of_body = __LINE__ - 2;

Tensor of(const std::vector<float>& values, const Shape& shape) { return Tensor(values, shape); }

const Tensor table = of({10, 20, 30, 40, 50, 60}, {3, 2});

std::string line(int number) { return "take_mode_test.cpp:" + std::to_string(number) + ": "; }

}  // namespace

TEST_CASE("mode raise gives what clip gives while indices are in range", "[take]") {
  const Tensor indices = of({2, 0, 1, 1}, {2, 2});
  const Tensors taken = everywhere(body, {table, indices});
  CHECK(taken[0].to_vector<float>() == std::vector<float>{50, 60, 10, 20, 30, 40, 30, 40});
  CHECK(same_bits(taken[0], F::take(table, indices, {.axis = 0})));
  // No index, none out of range.
  CHECK(everywhere(body, {table, nd::zeros({0})})[0].shape() == Shape{0, 2});
}

TEST_CASE("rows of all lengths, of every type, along every axis", "[take]") {
  const std::int64_t length = GENERATE(1, 2, 7, 16, 33, 64, 130);
  const int axis = GENERATE(0, 1, 2);
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::i8, DType::i64, DType::boolean);
  CAPTURE(length, axis, dtype);
  const Tensor x = numbered({3, 5, length}, dtype), indices = of({1, 0, 2, 4, -3, 9}, {2, 3});
  const auto along = [&](F& f, const Tensors& in) { return Tensors{f.take(in[0], in[1], {.axis = axis})}; };
  const Tensor taken = everywhere(along, {x, indices})[0];
  std::vector<Tensor> slices;
  for (const float index : indices.to_vector<float>()) {
    const auto last = static_cast<float>(x.shape()[axis] - 1);
    const auto begin = static_cast<std::int64_t>(std::clamp(index, 0.0f, last));
    slices.push_back(x.slice_axis({.axis = axis, .begin = begin, .end = begin + 1}));
  }
  CHECK(same_bits(taken.reshape(F::concat(slices, {.dim = axis}).shape()), F::concat(slices, {.dim = axis})));
}

TEST_CASE("an index out of range throws alike eagerly and compiled", "[take]") {
  for (const auto& [indices, wrong, place] : {std::tuple{of({0, 3, 7}, {3}), "3", "(1,)"},
                                              {of({2, 1, 0, -1}, {2, 2}), "-1", "(1, 1)"},
                                              {of({5}, {1}).astype(DType::i64), "5", "(0,)"}}) {
    Net net(body);
    for (const bool hybrid : {false, true}) {
      if (hybrid) net.hybridize();
      const std::string message = error_of([&] { net({table, indices}); });
      CHECK_THAT(message, Catch::StartsWith(line(line_of_body)));
      CHECK_THAT(message, Catch::Contains("take"));
      CHECK_THAT(message, Catch::Contains(std::string("the index ") + wrong));
      CHECK_THAT(message, Catch::Contains(std::string("element ") + place));
      CHECK_THAT(message, Catch::Contains("3 elements"));
      // The network is as good as before.
      CHECK(net({table, of({2}, {1})})[0].to_vector<float>() == std::vector<float>{50, 60});
    }
  }
}

TEST_CASE("each line that takes is named, though all share one kernel", "[take]") {
  const Tensor far = of({9}, {1});
  const auto first = [&] { F::np().take(table, far, 0); };
  const int first_line = __LINE__ - 1;
  const auto second = [&] { F::np().take(table, far, 0); };
  CHECK_THAT(error_of(first), Catch::StartsWith(line(first_line)));
  CHECK_THAT(error_of(second), Catch::StartsWith(line(first_line + 2)));
  CHECK(error_of(first).find(".cpp", error_of(first).find(".cpp") + 1) == std::string::npos);
}

TEST_CASE("indices known while recording are checked at the call", "[take]") {
  Net net([](F& F, const Tensors& in) {
    return Tensors{F.take(in[0], F.zeros({2}) + 5, {.axis = 0, .mode = "raise"})};
  });
  const std::string eager = error_of([&] { net({table}); });
  net.hybridize();
  const auto after_name = [](const std::string& message) {
    return message.substr(message.find("the index"));
  };
  for (int i = 0; i < 2; ++i) CHECK(after_name(error_of([&] { net({table}); })) == after_name(eager));
  CHECK_THAT(eager, Catch::Contains("the index 5"));
}

TEST_CASE("a body that does not run does not throw", "[take]") {
  const auto branch = [](F& F, const Tensors& in) {
    return F.contrib().cond(
        F.sum(in[0]) > 0, [&] { return Tensors{F.take(in[0], in[1], {.axis = 0, .mode = "raise"})}; },
        [&] { return Tensors{F.take(in[0], in[1], {.axis = 0, .mode = "clip"})}; });
  };
  const auto loop = [](F& F, const Tensors& in) {
    return F.contrib()
        .while_loop([&](const Tensors& v) { return v[0] < in[2]; },
                    [&](const Tensors& v) -> struct F::contrib::Results {
                      return {{F.take(in[0], in[1], {.axis = 0, .mode = "raise"})}, {v[0] + 1}};
                    },
                    {F.zeros({1})}, 3)
        .outputs;
  };
  const Tensor far = of({9}, {1}), near = of({2}, {1});
  everywhere(branch, {table, near});
  everywhere(branch, {-table, far});
  everywhere(loop, {table, near, nd::full({1}, 2)});
  everywhere(loop, {table, far, nd::zeros({1})});
  for (const bool hybrid : {false, true}) {
    Net taken(branch), stepped(loop);
    if (hybrid) taken.hybridize();
    if (hybrid) stepped.hybridize();
    CHECK_THAT(error_of([&] { taken({table, far}); }), Catch::Contains("the index 9"));
    CHECK_THAT(error_of([&] { stepped({table, far, nd::ones({1})}); }), Catch::Contains("the index 9"));
  }
}

TEST_CASE("a file that raises raises, run eagerly or compiled", "[take]") {
  const Model model = Model::load(golden::path("ops/np_take__a-symbol.json"));
  const Tensor data = nd::arange(12).reshape({3, 4});
  for (const RunMode mode : {RunMode::eager, RunMode::compiled}) {
    const RunOptions options{.mode = mode};
    std::map<std::string, Tensor> in{{"x", data}, {"i", of({0, 9}, {2})}};
    CHECK_THAT(error_of([&] { model.run(in, options); }), Catch::Contains("take"));
    CHECK_THAT(error_of([&] { model.run(in, options); }), Catch::Contains("the index 9"));
  }
}

TEST_CASE("a call that throws writes nothing when compiled, and profiling goes on", "[take]") {
  Net net([](F& F, const Tensors& in) {
    Tensor x = in[0];
    x += 1;
    return body(F, {x, in[1]});
  });
  net.hybridize();
  const Tensor x = table.copy();
  const Profile profile;
  CHECK_THROWS_AS(net({x, of({4}, {1})}), Error);
  CHECK(x.to_vector<float>() == table.to_vector<float>());
  net({x, of({0}, {1})});
  CHECK(!profile.kernels().empty());
}
