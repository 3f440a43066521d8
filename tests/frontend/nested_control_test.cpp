// Loops and branches in loops and branches, on arrays from outside and views of them. Records of one body
// must not reach another, and random numbers are the same eagerly and compiled.
#include "function_net.h"

using namespace kiln;

namespace {

using Results = struct F::contrib::Results;

const Tensor rows({{1, 2}, {3, 4}}), x({{1, 2}, {3, 4}});

Tensors foreach_row(F& F, const Tensors& data, const std::function<Tensor(const Tensor&)>& step) {
  return F.contrib()
      .foreach (
          [&](const Tensors& r, const Tensors&) -> Results {
            return {{step(r[0])}, {}};
          },
          data, {})
      .outputs;
}

Tensor larger_if_positive(F& F, const Tensor& t) {
  return F.contrib().cond(
      F.sum(t) > 0, [&] { return Tensors{t + 1}; }, [&] { return Tensors{t - 1}; })[0];
}

Tensor noisy_if_positive(F& F, const Tensor& t) {
  return F.contrib().cond(
      F.sum(t) > 0, [&] { return Tensors{t + F.random_uniform(0, 1, Shape{2})}; },
      [&] { return Tensors{t - 1}; })[0];
}

}  // namespace

TEST_CASE("a view of an outer array that a body makes stays in the body", "[control]") {
  // By reshape, which is recorded where it is written.
  const auto reads = [](F& F, const Tensors& in) -> Tensors {
    const Tensor y = in[1] * 2;
    const Tensors r =
        foreach_row(F, {in[0]}, [&](const Tensor& row) { return row + y.reshape({-1})[slice(0, 2)]; });
    return {r[0], y.reshape({-1}) * 1};
  };
  CHECK(compiles(reads, {rows, x}));
  everywhere(reads, {rows, x});
  const auto writes = [](F& F, const Tensors& in) -> Tensors {
    const Tensor y = in[1] * 1;
    const Tensors r = foreach_row(F, {in[0]}, [&](const Tensor& row) {
      y.reshape({-1})[slice(0, 1)] += 1.5;
      return row;
    });
    return {r[0], y * 1};
  };
  const Tensors r = everywhere(writes, {rows, x});
  CHECK(r[1].to_vector<float>() == std::vector<float>{4, 2, 3, 4});
}

TEST_CASE("a body in a body writes through a view of an array of the body around it", "[control]") {
  const auto nested = [](F& F, const Tensors& in) -> Tensors {
    return F.contrib()
        .while_loop([&](const Tensors& v) { return F.sum(v[0]) < 50; },
                    [&](const Tensors& v) -> Results {
                      Tensor y = v[0] + 1;
                      foreach_row(F, {in[0]}, [&](const Tensor& row) {
                        y.reshape({-1})[slice(0, 1)] = 1.5;
                        return row;
                      });
                      return {{}, {y}};
                    },
                    {in[1]}, 3)
        .states;
  };
  const Tensors r = everywhere(nested, {rows, x});
  CHECK(r[0].to_vector<float>() == std::vector<float>{1.5, 5, 6, 7});
}

TEST_CASE("bodies use more than eight arrays from outside", "[control]") {
  for (const int n : {8, 9, 70}) {
    CAPTURE(n);
    const auto all = [n](F& F, const Tensors& in, bool branch) -> Tensors {
      Tensors many;
      for (int i = 0; i < n; ++i) many.push_back(in[1] * (i + 1));
      const auto sum = [&](Tensor s) {
        for (const Tensor& t : many) s = s + t;
        return s;
      };
      if (!branch) return foreach_row(F, {in[0]}, sum);
      return F.contrib().cond(
          F.sum(in[0]) > 0, [&] { return Tensors{sum(in[0])}; }, [&] { return Tensors{in[0] * 2}; });
    };
    for (const bool branch : {false, true}) {
      const auto body = [&](F& F, const Tensors& in) { return all(F, in, branch); };
      CHECK(compiles(body, {rows, x}));
      everywhere(body, {rows, x});
    }
  }
}

TEST_CASE("a loop over nine arrays is written and read back", "[control]") {
  Tensors data{sym::var("data")}, outer;
  for (int i = 0; i < 9; ++i) outer.push_back(sym::var("w" + std::to_string(i)));
  F F;
  const Symbol net(foreach_row(F, data, [&](const Tensor& row) {
    Tensor s = row;
    for (const Tensor& w : outer) s = s + w;
    return s;
  })[0]);
  const std::string text = net.tojson();
  CHECK_THAT(text, Catch::Contains("\"remain_locs\": \"[1, 2, 3, 4, 5, 6, 7, 8, 9]\""));
  CHECK(Symbol::load_json(text).tojson() == text);
  std::map<std::string, Shape> shapes{{"data", {4, 3}}};
  for (int i = 0; i < 9; ++i) shapes["w" + std::to_string(i)] = {3};
  CHECK(Symbol::load_json(text).infer_shape(shapes).outputs.at(0) == Shape{4, 3});
}

TEST_CASE("conditionals in conditionals compile where nothing is drawn", "[control]") {
  const auto two = [](F& F, const Tensors& in) {
    return F.contrib().cond(
        F.sum(in[1]) > 0, [&] { return Tensors{larger_if_positive(F, larger_if_positive(F, in[0]))}; },
        [&] { return Tensors{in[0] * 2}; });
  };
  const auto in_loop = [](F& F, const Tensors& in) {
    return F.contrib().cond(
        F.sum(in[1]) > 0,
        [&] {
          return foreach_row(F, {in[0]}, [&](const Tensor& row) { return larger_if_positive(F, row); });
        },
        [&] { return Tensors{in[0] * 2}; });
  };
  const auto in_while = [](F& F, const Tensors& in) {
    return F.contrib()
        .while_loop([&](const Tensors& v) { return F.sum(v[0]) < 1000; },
                    [&](const Tensors& v) -> Results {
                      return {{}, {larger_if_positive(F, v[0])}};
                    },
                    {in[0]}, 1 << 20)
        .states;
  };
  for (const Net::Body& body : {Net::Body(two), Net::Body(in_loop), Net::Body(in_while)}) {
    CHECK(compiles(body, {rows, x}));
    everywhere(body, {rows, x});
    everywhere(body, {rows, x * -1});
  }
}

TEST_CASE("conditionals in conditionals that draw take the same numbers in both modes", "[control]") {
  // One fits into what the branch around it takes; more run eagerly.
  const auto nested = [](int times) {
    return [times](F& F, const Tensors& in) {
      const Tensors chosen = F.contrib().cond(
          F.sum(in[1]) > 0,
          [&] {
            Tensor t = in[0];
            for (int i = 0; i < times; ++i) t = noisy_if_positive(F, t);
            return Tensors{t};
          },
          [&] { return Tensors{in[0] * 2}; });
      return Tensors{chosen[0], F.random_uniform(0, 1, Shape{3})};
    };
  };
  CHECK(compiles(nested(1), {rows, x}));
  CHECK_FALSE(compiles(nested(2), {rows, x}));
  for (const int times : {1, 2, 3}) {
    everywhere(nested(times), {rows, x});
    everywhere(nested(times), {rows, x * -1});
  }
  const auto in_while = [](F& F, const Tensors& in) {
    return F.contrib()
        .while_loop([&](const Tensors& v) { return F.sum(v[0]) < 100; },
                    [&](const Tensors& v) -> Results {
                      return {{}, {noisy_if_positive(F, v[0])}};
                    },
                    {in[0]}, 4)
        .states;
  };
  everywhere(in_while, {rows, x});
}
