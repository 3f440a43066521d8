// Errors of members that a block does not know as its children.
#include "expect.h"
namespace {

class PlainMember : public HybridBlock {
 protected:
  Tensor hybrid_forward(F&, const Tensor& x) override { return layer(x); }

 private:
  nn::Dense layer{3};
};

class TwoOfOneName : public HybridBlock {
  Child<nn::Dense> a{this, "fc"}, b{this, "fc"};
};

}  // namespace

TEST_CASE("a layer as a plain member", "[error]") {
  PlainMember net;
  net.initialize();
  for (const bool hybrid : {false, true}) {
    net.hybridize(hybrid);
    const std::string text = message_of([&] { net(ones({2, 3})); });
    CHECK_THAT(text, Contains("plain_member.cpp:7: ") && Contains("PlainMember") &&
                         Contains("no child of it") && Contains("Child<nn::Dense> fc{this, \"fc\"}") &&
                         Contains("fc = nn::Dense(...)"));
  }
}

TEST_CASE("two Child members of one name", "[error]") {
  const std::string text = message_of([] { TwoOfOneName net; });
  CHECK_THAT(text, Contains("plain_member.cpp:") && Contains("'fc'") && Contains("fc2"));
}

TEST_CASE("copies share their children's names", "[error]") {
  struct Net : HybridBlock {
    Child<nn::Dense> fc{this, "fc"};
  };
  Net net;
  net.fc = nn::Dense(3);
  Net copy = net;
  CHECK_NOTHROW(copy.fc = nn::Dense(4));
}
