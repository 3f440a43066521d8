// Errors of layers carry the line of the program that added or called them.
#include "expect.h"
TEST_CASE("a layer in a container carries the line that added it", "[error]") {
  nn::HybridSequential net, inner, joined;
  const std::string first = line_below();
  inner.add(nn::Dense(3, {.in_units = 2}), nn::Dense(4, {.in_units = 9}));
  net.add(nn::Dense(2), inner);
  net.initialize();
  for (const bool hybrid : {false, true}) {
    net.hybridize(hybrid);
    CHECK_THAT(message_of([&] { net(ones({1, 2})); }), Contains(first) && Contains("FullyConnected"));
  }

  nn::HybridConcurrent side(1);
  const std::string second = line_below();
  side.add(nn::Dense(3, {.in_units = 9}));
  joined.add(nn::Identity(), side);
  joined.initialize();
  CHECK_THAT(message_of([&] { side(ones({1, 2})); }), Contains(second));
  CHECK_THAT(message_of([&] { joined[slice(1, 2)](ones({1, 2})); }), Contains(second));
}

TEST_CASE("a layer of a network of the library carries the line that called it", "[error]") {
  auto net = model_zoo::vision::get_model("squeezenet1.0");
  net.initialize();
  const std::string line = line_below();
  const std::string text = message_of([&] { net(ones({1, 3, 4, 4})); });
  CHECK_THAT(text, Contains(line));
}

TEST_CASE("an operator in the program's own block keeps its line", "[error]") {
  struct Adds : HybridBlock {
    Tensor hybrid_forward(F& F, const Tensor& x) override { return F.dot(x, x); }
  };
  nn::HybridSequential net;
  net.add(nn::Identity(), Adds());
  CHECK_THAT(message_of([&] { net(ones({2, 3})); }), Contains("layer_line.cpp:33: "));
}
