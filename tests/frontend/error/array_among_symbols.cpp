// Errors of operators that get an array among symbols.
#include "expect.h"

#include <kiln/control_flow.h>

namespace {

void check_mixed(const std::string& line, const std::string& text) {
  CHECK_THAT(text, Contains(line) && Contains("an array is used with Symbols") && Contains("sym::var"));
}

}  // namespace

TEST_CASE("an array among the inputs of an operator on symbols", "[error]") {
  const Tensor x = sym::var("x"), array = ones({2});
  const std::string line = line_below();
  const std::string text = message_of([&] { F::dot(x, array); });
  check_mixed(line, text);
}

TEST_CASE("a loop over symbols that begins with an array", "[error]") {
  F f;
  const Tensor x = sym::var("x"), array = ones({2});
  const auto step = [](const F::Tensors& row, const F::Tensors& state) {
    return F::contrib::Results{{row[0] + state[0]}, {state[0]}};
  };
  const std::string line = line_below();
  const std::string text = message_of([&] { f.contrib().foreach (step, {x}, {array}); });
  check_mixed(line, text);
}

TEST_CASE("a branch on symbols that uses an array", "[error]") {
  F f;
  const Tensor x = sym::var("x"), array = ones({2});
  const std::string line = line_below();
  const auto branch = [&] { return F::Tensors{F::relu(array)}; };
  check_mixed(line, message_of([&] { f.contrib().cond(x, branch, branch); }));
}
