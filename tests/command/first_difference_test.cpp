// How `kiln verify` finds the node where two runs part: here on runs that are meant to, with and without
// --train. Gradients are found in the same way.
#include "tools/kiln/first_difference.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>

using namespace kiln;

namespace {

std::string first_to_differ(const Tensor& output, bool train) {
  const Model model = Model::from_symbol(output, {});
  const auto inputs = model.make_inputs({{"x", {4, 8}}});
  const auto found =
      tool::first_differing_node(model, inputs, {.mode = RunMode::eager},
                                 {.mode = RunMode::compiled, .train = train}, model.output_names().front());
  return found ? found->name : "none";
}

Tensor drop(const Tensor& x, const std::string& name) { return F::Dropout(x, {.p = 0.5, .name = name}); }

}  // namespace

TEST_CASE("the node where a chain parts is found", "[verify]") {
  Tensor y = F::relu(sym::var("x") + 1);
  for (int i = 0; i < 5; ++i) y = F::sigmoid(y * 2);
  y = drop(y, "guilty");
  for (int i = 0; i < 9; ++i) y = y * 2 + 1;
  CHECK(first_to_differ(y, true) == "guilty_output");
  CHECK(first_to_differ(y, false) == "none");
}

TEST_CASE("an earlier difference that met again is found too", "[verify]") {
  const Tensor x = F::exp(sym::var("x"));
  Tensor y = F::elemwise_add(x, drop(x, "earlier") * 0);  // whatever was drawn, the sum is x
  for (int i = 0; i < 6; ++i) y = F::sigmoid(y * 2);
  CHECK(first_to_differ(F::relu(drop(y, "later")), true) == "earlier_output");
}

TEST_CASE("a difference in the last node is found", "[verify]") {
  CHECK(first_to_differ(drop(F::exp(sym::var("x")), "last"), true) == "last_output");
}

namespace {

/// The node and the array; the node as verify prints it.
std::string first_gradient_to_differ(const Tensor& output, bool train) {
  const Model model = Model::from_symbol(output, {});
  const auto inputs = model.make_inputs({{"x", {4, 8}}});
  const auto found = tool::first_differing_gradient(model, inputs, {.mode = RunMode::eager},
                                                    {.mode = RunMode::compiled, .train = train},
                                                    model.output_names().front());
  return found ? model.describe_node(found->name) + " " + found->array : "none";
}

}  // namespace

TEST_CASE("the node where gradients of a chain part is found", "[verify]") {
  Tensor y = F::relu(sym::var("x") + 1);
  for (int i = 0; i < 5; ++i) y = F::sigmoid(y * 2);
  y = drop(y, "guilty");
  for (int i = 0; i < 9; ++i) y = y * 2 + 1;
  const std::string first = first_gradient_to_differ(y, true);
  INFO(first);
  CHECK(first.starts_with("'guilty' (Dropout), "));
  CHECK(first.find("first_difference_test.cpp:") != std::string::npos);
  CHECK(first.ends_with(" x"));
  CHECK(first_gradient_to_differ(y, false) == "none");
}

TEST_CASE("a gradient alone may differ, and that of a parameter", "[verify]") {
  const Tensor x = F::exp(sym::var("x"));
  // The value is x, whatever was drawn; its gradient is not.
  Tensor y = F::elemwise_add(x, drop(F::BlockGrad(x), "hidden") * 0);
  y = F::FullyConnected(y, sym::var("w"), sym::var("b"), {.num_hidden = 3});
  CHECK(first_gradient_to_differ(y, true) == "none");
  y = F::elemwise_add(y, F::elemwise_sub(drop(y, "later"), drop(y, "later_too")));
  CHECK(first_gradient_to_differ(y, true).starts_with("'later' (Dropout), "));
}
