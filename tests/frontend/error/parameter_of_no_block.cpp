// The error of a parameter that belongs to no block.
#include "expect.h"
namespace {

struct Loose : HybridBlock {
  Parameter w{"w", {3, 3}};
  Tensor hybrid_forward(F& F, const Tensor& x) override { return F.dot(x, w); }
};
struct Listed : HybridBlock {
  Listed() { w = params().get("w", {3, 3}); }
  Parameter w;
  Tensor hybrid_forward(F& F, const Tensor& x) override { return F.dot(x, w); }
};

}  // namespace

TEST_CASE("a parameter that belongs to no block", "[error]") {
  for (const bool hybrid : {false, true}) {
    Loose net;
    net.initialize();
    net.hybridize(hybrid);
    const std::string line = line_below();
    const std::string text = message_of([&] { net(ones({2, 3})); });
    CHECK_THAT(text, Contains(line) && Contains("'w'") && Contains("belongs to no block") &&
                         Contains("w = params().get(\"w\", {...})"));
    net.w.initialize("ones");  // one outside of networks is the program's
    CHECK(net(ones({2, 3})).to_vector<float>() == std::vector<float>(6, 3));

    Listed remedy;  // as the message says
    remedy.initialize("ones");
    remedy.hybridize(hybrid);
    CHECK(remedy(ones({2, 3})).to_vector<float>() == std::vector<float>(6, 3));
  }
  Listed fresh;
  CHECK_THAT(message_of([&] { fresh(ones({2, 3})); }), Contains("call initialize() on the network first"));
}
