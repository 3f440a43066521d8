// Errors of attributes that are unknown or missing.
#include "expect.h"

TEST_CASE("an attribute that the operator does not have", "[error]") {
  const std::string text = message_of([&] { model_of("Activation", R"("act_typ": "relu")"); });
  CHECK_THAT(text, Contains("net-symbol.json, line 5: node 2 'node' (Activation)") &&
                       Contains("\"act_typ\"") && Contains("it has act_type"));
}

TEST_CASE("an attribute that is missing", "[error]") {
  const std::string text = message_of([&] { model_of("Activation", ""); });
  CHECK_THAT(text,
             Contains("line 5: node 2 'node' (Activation)") && Contains("needs the attribute 'act_type'"));
}
