// Errors of files of parameters that do not fit a network.
#include "expect.h"

namespace {

nn::HybridSequential layers(std::initializer_list<int> units) {
  nn::HybridSequential net({.prefix = "net_"});
  for (const int n : units) net.add(nn::Dense(n, {.in_units = 3}));
  net.initialize();
  return net;
}

}  // namespace

TEST_CASE("a file that lacks a parameter", "[error]") {
  layers({3}).save_parameters("one.params");
  const std::string text = message_of([&] { layers({3, 3}).load_parameters("one.params"); });
  CHECK_THAT(text, Contains("one.params: there are no values for parameter '1.weight'") &&
                       Contains("'0.weight', '0.bias'") && Contains("{.allow_missing = true}"));
}

TEST_CASE("a file that has a parameter too many", "[error]") {
  layers({3, 3}).save_parameters("two.params");
  const std::string text = message_of([&] { layers({3}).load_parameters("two.params"); });
  CHECK_THAT(text,
             Contains("two.params: there is no parameter '1.weight'") && Contains("{.ignore_extra = true}"));
}

TEST_CASE("a file with a parameter of another shape", "[error]") {
  layers({3}).save_parameters("three.params");
  const std::string text = message_of([&] { layers({4}).load_parameters("three.params"); });
  CHECK_THAT(text,
             Contains("0.weight") && Contains("three.params") && Contains("(4, 3)") && Contains("(3, 3)"));
}

TEST_CASE("a file that is not there", "[error]") {
  const std::string text = message_of([&] { layers({4}).load_parameters("nowhere.params"); });
  CHECK_THAT(text, Contains("nowhere.params") && Contains("No such file"));
}

TEST_CASE("a file that is no list of arrays", "[error]") {
  std::ofstream("text.params") << "these are no parameters, whatever the file is called";
  const std::string text = message_of([&] { layers({4}).load_parameters("text.params"); });
  CHECK_THAT(text, Contains("text.params"));
}

TEST_CASE("a file with a parameter of another dtype", "[error]") {
  layers({3}).save_parameters("dtype.params");
  nn::HybridSequential half = layers({3});
  half.cast(DType::f16);
  const std::string text = message_of([&] { half.load_parameters("dtype.params"); });
  CHECK_THAT(text, Contains("dtype.params") && Contains("is float16 and the saved values are float32") &&
                       Contains("{.cast_dtype = true}"));
}

TEST_CASE("saving parameters that have no values", "[error]") {
  nn::Dense layer(3, {.prefix = "fc_"});
  std::string line = line_below();
  CHECK_THAT(message_of([&] { layer.save_parameters("never.params"); }),
             Contains(line) && Contains("'fc_weight'"));
  layer.initialize();
  line = line_below();
  CHECK_THAT(message_of([&] { layer.save_parameters("never.params"); }),
             Contains(line) && Contains("deferred"));
}

TEST_CASE("a file of export_model() for a network of another prefix", "[error]") {
  nn::Dense saved(3, {.in_units = 3, .prefix = "fc_"}), other(3, {.in_units = 3, .prefix = "fd_"});
  saved.initialize();
  other.initialize();
  saved.hybridize();
  saved(ones({2, 3}));
  saved.export_model("prefix");
  const std::string missing = message_of([&] { other.load_parameters("prefix-0000.params"); });
  CHECK_THAT(missing, Contains("no values for parameter 'fd_weight', only for 'fc_weight', 'fc_bias'") &&
                          Contains("give this network the prefix of the saved one") &&
                          Contains("SymbolBlock::imports()") && !Contains("load_parameters()"));
  const std::string extra =
      message_of([&] { other.load_parameters("prefix-0000.params", {.allow_missing = true}); });
  CHECK_THAT(extra, Contains("no parameter 'fc_weight', only 'fd_weight', 'fd_bias'") &&
                        Contains("{.ignore_extra = true}") && Contains("SymbolBlock::imports()") &&
                        !Contains("load_parameters()"));
  const std::string dictionary = message_of([&] { other.collect_params().load("prefix-0000.params"); });
  CHECK_THAT(dictionary, Contains("load_parameters()"));
  // As the messages say.
  nn::Dense same(3, {.in_units = 3, .prefix = "fc_"});
  same.load_parameters("prefix-0000.params");
  CHECK(same.weight.data().to_vector<float>() == saved.weight.data().to_vector<float>());
}

TEST_CASE("a layer's file for a network of layers", "[error]") {
  nn::Dense layer(3, {.in_units = 3});
  layer.initialize();
  layer.save_parameters("layer.params");
  nn::HybridSequential net = layers({3});
  CHECK_THAT(message_of([&] { net.load_parameters("layer.params"); }),
             Contains("only for 'weight', 'bias'; no array of the file has a name of this network") &&
                 Contains("from another network or under another prefix") &&
                 Contains("SymbolBlock::imports()") && Contains("[KL0403]") && !Contains("export_model"));
  CHECK_THAT(message_of([&] { net.load_parameters("layer.params", {.allow_missing = true}); }),
             Contains("no parameter") && Contains("no array of the file has a name of this network") &&
                 Contains("{.ignore_extra = true}") && !Contains("prefixes"));
}

TEST_CASE("a layer's file that lacks a parameter, or has one too many", "[error]") {
  nn::Dense with_bias(3, {.in_units = 3}), without(3, {.use_bias = false, .in_units = 3});
  with_bias.initialize();
  without.initialize();
  with_bias.save_parameters("with_bias.params");
  without.save_parameters("without.params");
  CHECK_THAT(message_of([&] { with_bias.load_parameters("without.params"); }),
             Contains("only for 'weight'; load with {.allow_missing = true}") && !Contains("prefix"));
  with_bias.load_parameters("without.params", {.allow_missing = true});
  CHECK(with_bias.weight.data().to_vector<float>() == without.weight.data().to_vector<float>());
  CHECK_THAT(message_of([&] { without.load_parameters("with_bias.params"); }),
             Contains("; load with {.ignore_extra = true} to ignore it [") && !Contains("prefix"));
}

TEST_CASE("an exported parameter whose name has a point", "[error]") {
  save_arrays("point.params", std::vector<NamedArray>{{"arg:a.b_weight", ones({3, 3})}});
  nn::Dense layer(3, {.use_bias = false, .in_units = 3, .prefix = "a.b_"});
  layer.load_parameters("point.params");
  CHECK(layer.weight.data().to_vector<float>() == std::vector<float>(9, 1));
}

TEST_CASE("a file of save_parameters() for an imported network", "[error]") {
  nn::HybridSequential net = layers({3});
  net.hybridize();
  net(ones({2, 3}));
  net.export_model("by_name");
  net.save_parameters("by_position.params");
  const std::string given =
      message_of([] { SymbolBlock::imports("by_name-symbol.json", {"data"}, "by_position.params"); });
  CHECK_THAT(given, Contains("only for '0.weight', '0.bias'") && Contains("exported with the symbol file") &&
                        Contains("[KL0403]") && !Contains("prefixes"));
  SymbolBlock block = SymbolBlock::imports("by_name-symbol.json", {"data"});
  const std::string later = message_of([&] { block.load_parameters("by_position.params"); });
  CHECK_THAT(later, Contains("only for '0.weight', '0.bias'") &&
                        Contains("no array of the file has a name of this network") &&
                        !Contains("allow_missing"));
}
