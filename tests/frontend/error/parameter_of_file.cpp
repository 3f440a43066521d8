// Errors of parameters that name the file they came from.
#include "expect.h"

namespace {

/// A network of a file with one layer, and its parameters.
struct Files {
  explicit Files(const Tensor& weight) {
    std::ofstream("layer-symbol.json")
        << symbol_text("FullyConnected", R"("num_hidden": "4", "no_bias": "True")", "[[0, 0, 0], [1, 0, 0]]");
    save_arrays("layer-0000.params", std::vector<NamedArray>{{"arg:w", weight}});
  }
  std::string block() const {
    return message_of([] {
      SymbolBlock::imports("layer-symbol.json", {"x"}, "layer-0000.params")(ones({2, 3}));
    });
  }
  std::string model() const {
    return message_of([] {
      Model::load("layer-symbol.json", "layer-0000.params").run({{"x", ones({2, 3})}});
    });
  }
};

}  // namespace

TEST_CASE("a parameter whose inner extent does not fit", "[error]") {
  const Files files(ones({4, 5}));
  for (const std::string& text : {files.block(), files.model()})
    CHECK_THAT(
        text, Contains("layer-symbol.json") && Contains("'node'") && Contains("weight 'w'") && Contains("5"));
}

TEST_CASE("a parameter of another dtype", "[error]") {
  const Files files(ones({4, 3}, DType::i32));
  for (const std::string& text : {files.block(), files.model()})
    CHECK_THAT(text, Contains("layer-symbol.json") && Contains("'node'") && Contains("weight 'w'") &&
                         Contains("int32"));
}

TEST_CASE("a parameter that was saved without a value", "[error]") {
  // As MXNet writes one: a list of a single array of no axes, named arg:w.
  const unsigned char bytes[] = {
      0x12, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,   0xc9, 0xfa, 0x93, 0xf9, 0,
      0,    0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 'a', 'r',  'g',  ':',  'w'};
  std::ofstream("none.params", std::ios::binary).write(reinterpret_cast<const char*>(bytes), sizeof bytes);
  const std::string text = message_of([] { load_arrays("none.params"); });
  CHECK_THAT(text,
             Contains("none.params") && Contains("array 1 of 1, 'arg:w'") && Contains("it has no value"));
}
