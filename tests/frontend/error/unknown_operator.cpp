// Errors of operators that Kiln does not have.
#include "expect.h"

TEST_CASE("an operator of a file that Kiln does not have", "[error]") {
  const std::string text = message_of([&] { model_of("Actvation", ""); });
  CHECK_THAT(text, Contains("line 5") && Contains("'node' (Actvation)") && Contains("'Activation'") &&
                       Contains("`kiln ops`"));
}

TEST_CASE("an operator of a lambda that Kiln does not have", "[error]") {
  const std::string text = message_of([&] { nn::HybridLambda("sigmiod"); });
  CHECK_THAT(text,
             Catch::StartsWith("unknown_operator.cpp:") &&
                 Catch::EndsWith(": HybridLambda: there is no operator 'sigmiod' (did you mean 'sigmoid'?); "
                                 "`kiln ops` lists the operators"));
}
