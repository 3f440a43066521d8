// Errors of damaged symbol files.
#include "expect.h"

TEST_CASE("a symbol file that was cut short", "[error]") {
  const std::string whole = symbol_text("relu", "", "[[0, 0, 0]]");
  const std::string text =
      message_of([&] { Symbol::load_json(whole.substr(0, whole.size() / 2), "net-symbol.json"); });
  CHECK_THAT(text, Contains("net-symbol.json, line 5: node 2") && Contains("the file ends"));
}

TEST_CASE("an input of a node that is not there", "[error]") {
  const std::string text = message_of([&] { model_of("relu", "", "[[7, 0, 0]]"); });
  CHECK_THAT(text, Contains("net-symbol.json, line 5: node 2 'node' (relu)") && Contains("node 7"));
}

TEST_CASE("an output of a node that is not there", "[error]") {
  const std::string text = message_of([&] { model_of("relu", "", "[[0, 1, 0]]"); });
  CHECK_THAT(text, Contains("node 2 'node' (relu): input 0 takes output 1 of 'x', which has 1 output"));
}

TEST_CASE("a symbol file that is not there", "[error]") {
  const std::string text = message_of([&] { Symbol::load("nowhere-symbol.json"); });
  CHECK_THAT(text, Contains("nowhere-symbol.json") && Contains("No such file"));
}

namespace {

// A file of one relu whose heads and arg_nodes are these.
std::string message_for(const std::string& heads, const std::string& arg_nodes) {
  std::string text = symbol_text("relu", "", "[[0, 0, 0]]");
  text.replace(text.find("\"arg_nodes\""), std::string::npos,
               "\"arg_nodes\": " + arg_nodes + ", \"heads\": " + heads + "}");
  return message_of([&] { Symbol::load_json(text, "net-symbol.json"); });
}

}  // namespace

TEST_CASE("heads that are no entries, or lead nowhere", "[error]") {
  CHECK_THAT(message_for("[\"node\"]", "[0, 1]"), Contains("net-symbol.json, line") && Contains("\"heads\""));
  CHECK_THAT(message_for("[[7, 0, 0]]", "[0, 1]"), Contains("\"heads\" names node 7, but there are 3 nodes"));
  CHECK_THAT(message_for("[[2, 1, 0]]", "[0, 1]"), Contains("\"heads\" takes output 1 of 'node'"));
}

TEST_CASE("an operator among the variables of a file", "[error]") {
  CHECK_THAT(message_for("[[2, 0, 0]]", "[0, 1, 2]"),
             Contains("net-symbol.json, line") && Contains("\"arg_nodes\" names node 2 'node' (relu)"));
}
