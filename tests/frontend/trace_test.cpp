// The operations that hybrid_forward may use while it is traced, and that the compiled network does the same
// as the eager one.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <sstream>

using namespace kiln;
using Floats = std::vector<float>;

namespace {

/// A network of one function.
class Net : public HybridBlock {
 public:
  using Body = std::function<Tensor(F&, const Tensor&)>;
  explicit Net(Body body) : body_(std::move(body)) {}

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override { return body_(F, x); }

 private:
  Body body_;
};

Tensor counted(const Shape& shape) {
  std::vector<float> values;
  for (int i = 0; i < shape.elements(); ++i) values.push_back(static_cast<float>(i));
  return Tensor(values, shape);
}

/// Runs the body eagerly and hybridized (twice, the second time without tracing) on equal inputs; results and
/// what became of the inputs must agree bit for bit. The result.
Tensor both(const Net::Body& body, const Tensor& x) {
  Net eager(body);
  Net compiled(body);
  compiled.hybridize();
  Tensor x0 = x.copy(), x1 = x.copy(), x2 = x.copy();
  const Tensor y0 = eager(x0);
  const Tensor y1 = compiled(x1);
  const Tensor y2 = compiled(x2);
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype() && a.to_vector<double>() == b.to_vector<double>();
  };
  CHECK(same(y0, y1));
  CHECK(same(y0, y2));
  CHECK(same(x0, x1));
  CHECK(same(x0, x2));
  return y2;
}

}  // namespace

TEST_CASE("operators broadcast and take numbers while tracing", "[trace]") {
  CHECK(both([](F&, const Tensor& x) { return x + 1; }, {1, 2}).to_vector<float>() == Floats{2, 3});
  CHECK(both(
            [](F&, const Tensor& x) {
              return (1 - x) * Tensor{{1}, {2}} + x;
            },
            {1, 2})
            .to_vector<float>() == Floats{1, 1, 1, 0});
  CHECK(both([](F&, const Tensor& x) { return -x > -1.5; }, {1, 2}).to_vector<float>() == Floats{1, 0});
}

TEST_CASE("shapes are known, and if and for may look at them", "[trace]") {
  const auto body = [](F& F, const Tensor& x) {
    Tensor y = x.reshape({x.shape()[0], -1});
    if (y.ndim() != 2) throw std::logic_error("ndim");
    Tensor sum = F.zeros({1, y.shape()[1]});
    for (int i = 0; i < y.shape()[0]; ++i) sum += y[slice(i, i + 1)];
    return sum;
  };
  CHECK(both(body, counted({3, 2, 2})).to_vector<float>() == Floats{12, 15, 18, 21});
}

TEST_CASE("indexing works while tracing", "[trace]") {
  CHECK(both([](F&, const Tensor& x) { return x[1] + x[-1]; }, counted({3, 2})).to_vector<float>() ==
        Floats{6, 8});
  CHECK(both(
            [](F&, const Tensor& x) {
              return x({slice(), 1});
            },
            counted({3, 2}))
            .to_vector<float>() == Floats{1, 3, 5});
  CHECK(both([](F&, const Tensor& x) { return x[slice({}, {}, 2)]; }, counted({3, 2})).to_vector<float>() ==
        Floats{0, 1, 4, 5});
}

TEST_CASE("writes through views are seen by all views, traced too", "[trace][view]") {
  const auto body = [](F&, const Tensor& x) {
    Tensor y = x * 1;
    Tensor flat = y.reshape({-1});
    Tensor middle = y[slice(1, 2)];
    middle += 100;
    flat[slice(0, 1)] = 7;
    y[2] = Tensor{-1, -2};
    flat[slice(3, 5)] *= 2;  // across rows
    y({slice(), 0}) = y({slice(), 1}) + 1;
    return y + middle;
  };
  const Tensor y = both(body, counted({3, 2}));
  CHECK(y.shape() == Shape{3, 2});
}

TEST_CASE("a write to an input reaches the caller's array", "[trace][view]") {
  const auto body = [](F&, const Tensor& x) {
    Tensor mine = x;
    mine += 1;
    Tensor view = mine[slice(0, 1)];
    view *= 3;
    return mine * 10;
  };
  Net net(body);
  net.hybridize();
  Tensor x = {1, 2};
  Tensor view = x[slice(1, 2)];
  net(x);
  CHECK(x.to_vector<float>() == Floats{6, 3});
  CHECK(view.item<float>() == 3);
  net(x);
  CHECK(x.to_vector<float>() == Floats{21, 4});
}

TEST_CASE("captured tensors are inputs: their values are read at each call", "[trace]") {
  Tensor scale = {2, 3};
  Net net([scale](F&, const Tensor& x) { return x * scale + scale[slice(1, 2)]; });
  net.hybridize();
  CHECK(net(Tensor{1, 1}).to_vector<float>() == Floats{5, 6});
  scale += 1;
  CHECK(net(Tensor{1, 1}).to_vector<float>() == Floats{7, 8});
}

TEST_CASE("a captured tensor can be written", "[trace][view]") {
  Tensor calls = {0};
  Net net([calls](F&, const Tensor& x) {
    Tensor mine = calls;
    mine += 1;
    return x + mine;
  });
  net.hybridize();
  CHECK(net(Tensor{10}).item<float>() == 11);
  CHECK(net(Tensor{10}).item<float>() == 12);
  CHECK(calls.item<float>() == 2);
}

TEST_CASE("arrays are made while tracing", "[trace]") {
  const auto body = [](F& F, const Tensor& x) {
    return x + F.ones(x.shape()) * F.full({1}, 2) + F.arange(2) + Tensor{10, 20};
  };
  CHECK(both(body, {1, 2}).to_vector<float>() == Floats{13, 25});
}

TEST_CASE("a traced tensor prints its name", "[trace][print]") {
  std::ostringstream out;
  Net net([&](F& F, const Tensor& x) {
    out << F.module_name() << " " << x << "\n";
    return F.relu(x);
  });
  net(ones({2}));
  net.hybridize();
  net(ones({2}));
  net(ones({2}));  // does not run hybrid_forward again
  CHECK(out.str() == "mxnet.ndarray \n[1. 1.]\n<NDArray 2 @cpu(0)>\nmxnet.symbol <Symbol data>\n");
}

TEST_CASE("asking for a value while tracing names the line and the remedy", "[trace][error]") {
  const std::string line = std::to_string(__LINE__ + 1);
  Net net([](F&, const Tensor& x) { return x.item<float>() > 0 ? x : -x; });
  CHECK(net(Tensor{2}).item<float>() == 2);
  net.hybridize();
  CHECK_THROWS_WITH(net(Tensor{2}), Catch::Contains("trace_test.cpp:" + line) && Catch::Contains("item()") &&
                                        Catch::Contains("hybridize") && Catch::Contains("F.where"));
}

TEST_CASE("an operator that fails while tracing names the line", "[trace][error]") {
  const std::string line = std::to_string(__LINE__ + 1);
  Net net([](F& F, const Tensor& x) { return F.dot(x, ones({7, 7})); });
  net.hybridize();
  CHECK_THROWS_WITH(net(ones({2, 3})),
                    Catch::Contains("trace_test.cpp:" + line) && Catch::Contains("(2, 3)"));
}

TEST_CASE("a value that outlives its trace cannot be used", "[trace][error]") {
  Tensor kept;
  Net net([&kept](F&, const Tensor& x) {
    kept = x * 2;
    return kept + 1;
  });
  net.hybridize();
  net(Tensor{1, 2});
  CHECK_THROWS_WITH(kept + 1, Catch::Contains("a call that is over"));
  CHECK_THROWS_WITH(kept.item<float>(), Catch::Contains("Symbol"));
  Net other([&kept](F&, const Tensor& x) { return x + kept; });
  other.hybridize();
  CHECK_THROWS_WITH(other(Tensor{1, 2}), Catch::Contains("a call that is over"));
}

TEST_CASE("random numbers follow the program's order, traced or not", "[trace][random]") {
  const auto body = [](F& F, const Tensor& x) {
    return x + F.random().uniform(0, 1, {2}) + F.random_normal(0, 1, {2});
  };
  Net eager(body);
  Net compiled(body);
  compiled.hybridize();
  const Tensor x = {0, 0};
  random::seed(5);
  const Tensor a = eager(x), b = eager(x), c = random::uniform(0, 1, {2});
  random::seed(5);
  const Tensor d = compiled(x), e = compiled(x), f = random::uniform(0, 1, {2});
  CHECK(a.to_vector<float>() == d.to_vector<float>());
  CHECK(b.to_vector<float>() == e.to_vector<float>());
  CHECK(c.to_vector<float>() == f.to_vector<float>());
  CHECK(a.to_vector<float>() != b.to_vector<float>());
}

TEST_CASE("symbols have no shapes, and say what to use", "[trace][symbol][error]") {
  const Tensor s = sym::var("data");
  CHECK(to_string(s) == "<Symbol data>");
  const std::string line = std::to_string(__LINE__ + 1);
  CHECK_THROWS_WITH(s.shape(), Catch::Contains("trace_test.cpp:" + line) && Catch::Contains("hybridize") &&
                                   Catch::Contains("infer_shape"));
  CHECK_THROWS_WITH(s[0], Catch::Contains("F.slice_axis"));
  CHECK_THROWS_WITH(s.item<float>(), Catch::Contains("item()"));
}

TEST_CASE("nodes get MXNet's names and attributes", "[trace][symbol]") {
  Net net([](F& F, const Tensor& x) {
    Tensor y = F.relu(x) + 1;
    y = (2 - y) * 0.5 / x;
    y = -y + x.reshape({0, -1});
    y = F.relu(y) > x;
    return F.flatten(F.concat({y, x}, {.dim = 1, .name = "joined"}));
  });
  const Symbol s = net(sym::var("data"));
  const std::string p = net.prefix();
  const std::vector<std::string> names = {
      "data",          p + "relu0",       p + "_plusscalar0", p + "_rminusscalar0", p + "_mulscalar0",
      p + "_div0",     p + "_mulscalar1", p + "reshape0",     p + "_plus0",         p + "relu1",
      p + "_greater0", p + "joined",      p + "flatten0"};
  std::vector<std::string> outputs;
  for (const std::string& name : names) outputs.push_back(name == "data" ? name : name + "_output");
  const Symbol all = s.get_internals();
  CHECK(all.list_outputs() == outputs);
  CHECK(all[p + "_plusscalar0_output"].attr("scalar") == "1");
  CHECK(all[p + "_mulscalar0_output"].attr("scalar") == "0.5");
  CHECK(all[p + "_mulscalar1_output"].attr("scalar") == "-1.0");
  CHECK(all[p + "reshape0_output"].attr("shape") == "(0, -1)");
  CHECK(all[p + "joined_output"].attr("num_args") == "2");
}

TEST_CASE("a traced call broadcasts under MXNet's name for it", "[trace]") {
  std::string same, wider;
  Net net([&](F&, const Tensor& x) {
    same = (x + x).name();
    const Tensor y = x + x[slice(0, 1)];
    wider = y.name();
    return y;
  });
  net.hybridize();
  net(ones({2, 2}));
  CHECK(same == net.prefix() + "_plus0");
  CHECK(wider == net.prefix() + "broadcast_add0");
}
