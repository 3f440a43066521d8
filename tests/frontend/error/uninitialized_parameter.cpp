// Errors of parameters without values.
#include "expect.h"

TEST_CASE("a network that was never initialized", "[error]") {
  nn::Dense layer(3, {.in_units = 3, .prefix = "fc_"});
  for (const bool hybrid : {false, true}) {
    layer.hybridize(hybrid);
    const std::string line = line_below();
    const std::string text = message_of([&] { layer(ones({2, 3})); });
    CHECK_THAT(text, Contains(line) && Contains("'fc_weight' has not been initialized") &&
                         Contains("call initialize() on the network first"));
  }
}

TEST_CASE("a block that hybrid_forward makes", "[error]") {
  struct Late : HybridBlock {
    Child<nn::Dense> fc{this, "fc"};
    Tensor hybrid_forward(F&, const Tensor& x) override {
      fc = nn::Dense(3, {.in_units = 3});
      return fc(x);
    }
  };
  Late net;
  net.initialize();
  CHECK_THAT(message_of([&] {
               net(ones({2, 3}));
             }),
             Contains("made in the constructor, not in hybrid_forward [KL0201]"));
}

TEST_CASE("values of a parameter whose shape waits for a first call", "[error]") {
  nn::Dense layer(3, {.prefix = "fc_"});
  layer.initialize();
  const std::string line = line_below();
  const std::string text = message_of([&] { layer.weight.data(); });
  CHECK_THAT(text, Contains(line) && Contains("'fc_weight'") && Contains("deferred") &&
                       Contains("Call the network on one batch") && Contains("in_units"));
}

TEST_CASE("a network imported without its file of parameters", "[error]") {
  nn::Dense layer(3, {.in_units = 3, .prefix = "fc_"});
  layer.initialize();
  layer.hybridize();
  const Tensor x = ones({2, 3}), y = layer(x);
  layer.export_model("valueless");
  SymbolBlock block = SymbolBlock::imports("valueless-symbol.json", {"data"});
  for (const bool hybrid : {false, true}) {
    block.hybridize(hybrid);
    const std::string line = line_below();
    const std::string text = message_of([&] { block(x); });
    CHECK_THAT(text, Contains(line) && Contains("'fc_weight' has not been initialized") &&
                         Contains("imports() of valueless-symbol.json got no file of parameters") &&
                         Contains("as valueless-0000.params,") && Contains("third argument") &&
                         Contains("[KL0201]") && !Contains("call initialize()"));
  }
  block.load_parameters("valueless-0000.params");  // as the message says
  CHECK(block(x).to_vector<float>() == y.to_vector<float>());
}
