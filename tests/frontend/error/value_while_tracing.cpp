// Errors of values read while a network is traced.
#include "expect.h"
namespace {
class ReadsValue : public HybridBlock {
 public:
  std::string line;

 protected:
  Tensor hybrid_forward(F&, const Tensor& x) override {
    line = line_below();
    return x * x.sum().item<float>();
  }
};

class KeepsTensor : public HybridBlock {
 public:
  Tensor kept;

 protected:
  Tensor hybrid_forward(F&, const Tensor& x) override { return kept = x * 2; }
};
}  // namespace

TEST_CASE("a value read while a network is traced", "[error]") {
  ReadsValue net;
  CHECK(net(ones({2})).to_vector<float>() == std::vector<float>{2, 2});
  net.hybridize();
  const std::string text = message_of([&] { net(ones({2})); });
  CHECK_THAT(text, Contains(net.line) && Contains("item() needs a value") && Contains("hybridize") &&
                       Contains("F.where"));
}

TEST_CASE("values read while a network is traced", "[error]") {
  struct ReadsVector : HybridBlock {
    Tensor hybrid_forward(F&, const Tensor& x) override { return x * x.to_vector<float>()[0]; }
  };
  ReadsVector net;
  net.hybridize();
  CHECK_THAT(message_of([&] { net(ones({2})); }),
             Contains("value_while_tracing.cpp:35: to_vector() needs a value") &&
                 Contains("call to_vector() outside"));
}

TEST_CASE("a traced tensor used after the trace", "[error]") {
  KeepsTensor net;
  net.hybridize();
  net(ones({2}));
  const std::string line = line_below();
  const std::string text = message_of([&] { net.kept + 1; });
  CHECK_THAT(text, Contains(line + "_plus_scalar: the input 'data'") &&
                       Contains("a value of another trace") && Contains("return it instead"));
}
