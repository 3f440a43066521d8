// Attr: values that hybrid_forward reads, and that calls see change.
#include "function_net.h"

#include <cmath>
#include <limits>

using namespace kiln;
using Catch::Matchers::Contains;
using Floats = std::vector<float>;

namespace {

struct Scale : HybridBlock {
  Attr<float> scale{this, 2.0f};
  Attr<bool> negate{this, false};
  Attr<std::string> activation{this, "relu"};
  Attr<std::vector<float>> weights{this, {1, 1}};
  int* runs = nullptr;
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    if (runs) ++*runs;
    Tensor y = x * scale;
    y += scale;
    if (negate) y = -y;
    for (const float w : weights.get()) y = y * w;
    return F.Activation(y, {.act_type = activation});
  }
};

Floats floats(const Tensor& t) { return t.to_vector<float>(); }

const Tensor x = Tensor({1, -1});

}  // namespace

TEST_CASE("a call sees what an Attr was assigned") {
  int runs = 0;
  Scale net;
  net.runs = &runs;
  net.hybridize();
  CHECK(floats(net(x)) == Floats{4, 0});
  net.scale = 3;
  CHECK(floats(net(x)) == Floats{6, 0});
  net.negate = true;
  net.scale = -3;
  CHECK(floats(net(x)) == Floats{6, 0});
  net.activation = "softsign";
  CHECK(floats(net(x))[0] == Approx(6. / 7));
  net.weights = {1, 0};
  CHECK(floats(net(x))[0] == 0);
  CHECK(runs == 5);
  net.weights = {1, 0};
  net.activation = "softsign";
  net.scale = -3;
  net(x);
  CHECK(runs == 5);  // the same values
}

TEST_CASE("floating-point values of an Attr are compared by their bits") {
  int runs = 0;
  Scale net;
  net.runs = &runs;
  net.activation = "softsign";
  net.hybridize();
  net.scale = 0.0f;
  CHECK_FALSE(std::signbit(floats(net(x))[0]));
  net.negate = true;
  net.scale = -0.0f;
  net(x);
  CHECK(runs == 2);
  net.weights = {-0.0f, 1};
  net(x);
  net.weights = {0.0f, 1};
  net(x);
  CHECK(runs == 4);
  net.scale = std::numeric_limits<float>::quiet_NaN();
  net(x);
  net.scale = std::numeric_limits<float>::quiet_NaN();
  net(x);
  CHECK(runs == 5);
}

TEST_CASE("copies of a block see one Attr") {
  Scale net;
  nn::HybridSequential outer;
  outer.add(net, nn::HybridLambda("negative"));
  outer.hybridize();
  CHECK(floats(outer(x)) == Floats{-4, 0});
  net.scale = 5;
  CHECK(floats(outer(x)) == Floats{-10, 0});
  Scale copy = net;
  copy.scale = 6;
  CHECK(net.scale.get() == 6);
  CHECK(floats(outer(x)) == Floats{-12, 0});
  nn::HybridSequential more;
  more.add(outer, copy);
  more.hybridize();
  CHECK(floats(more(x)) == Floats{0, 6});
  net.scale = 1;
  CHECK(floats(more(x)) == Floats{0, 1});
}

TEST_CASE("one Attr assigned to another gives its value") {
  Scale a, b;
  b.scale = 7;
  a.scale = b.scale;
  b.scale = 8;
  CHECK(a.scale.get() == 7);
  // A block assigned as a whole takes its Attrs along, and leaves the Attrs of its former copies.
  const Scale old = a;
  a = b;
  CHECK(a.scale.get() == 8);
  CHECK(old.scale.get() == 7);
  a.scale = 9;
  CHECK(b.scale.get() == 9);
  a.hybridize();
  CHECK(floats(a(x)) == Floats{18, 0});
  a = Scale();
  CHECK(a.scale.get() == 2);
  CHECK(b.scale.get() == 9);
}

TEST_CASE("an Attr may be read by another block, or by none that is called") {
  Scale held;
  Net net([&](F&, const Tensors& in) { return Tensors{in[0] * held.scale}; });
  net.hybridize();
  CHECK(floats(net(x)) == Floats{2, -2});
  held.scale = 4;
  CHECK(floats(net(x)) == Floats{4, -4});
  auto step = net.bind({x});
  held.scale = 5;
  CHECK_THROWS_WITH(step(), Contains("an Attr"));
}

TEST_CASE("an Attr needs its block") {
  CHECK_THROWS_WITH(Attr<int>(nullptr, 1), Contains("Attr") && Contains("{this,"));
}
