// Messages about long texts are short.
#include "expect.h"

namespace {

const std::string long_text(3 << 20, 'q');

/// The beginning and the size of a text are enough.
void check_brief(const std::string& message) {
  CHECK(message.size() < 2000);
  CHECK_THAT(message, Contains("qqqq") && Contains("bytes"));
}

}  // namespace

TEST_CASE("an attribute of three megabytes in a program", "[error]") {
  check_brief(message_of([] { F::Activation(ones({2}), {.act_type = long_text}); }));
}

TEST_CASE("names and attributes of three megabytes in a file", "[error]") {
  check_brief(message_of([] { model_of("Activation", "\"act_type\": \"" + long_text + "\""); }));
  check_brief(message_of([] { model_of("Activation", "\"" + long_text + "\": \"1\""); }));
  check_brief(message_of([] { model_of(long_text, ""); }));
  std::string text = symbol_text("relu", "", "[[0, 1, 0]]");
  text.replace(text.find("\"x\""), 3, "\"" + long_text + "\"");
  check_brief(message_of([&] { Model::from_symbol(Symbol::load_json(text, "net-symbol.json")); }));
}

TEST_CASE("unknown names of three megabytes", "[error]") {
  const Symbol x = sym::var(long_text);
  check_brief(message_of([&] { x["output"]; }));
  check_brief(message_of([&] { x.infer_shape({{long_text + "1", Shape{1}}}); }));
  check_brief(message_of([&] { load_arrays(long_text); }));
}

TEST_CASE("characters stay whole where a text is cut", "[error]") {
  std::string umlauts;
  for (int i = 0; i < 1000; ++i) umlauts += "ü";
  const std::string message = message_of([&] { F::Activation(ones({2}), {.act_type = umlauts + "x"}); });
  CHECK_THAT(message, Contains("ü ... ") && Contains(" ... ü"));
}
