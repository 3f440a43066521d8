// Errors of a masked softmax whose lengths have another shape than the other axes of the data.
#include "expect.h"

namespace {

struct MaskedSoftmax : HybridBlock {
  Tensor hybrid_forward(F& F, const Tensor& x, const Tensor& length) override { return F.softmax(x, length); }
};

}  // namespace

TEST_CASE("lengths of a masked softmax of another shape", "[error]") {
  const Tensor x = ones({3, 3}), column = ones({3, 1}), four = ones({4}), one = ones({1});
  MaskedSoftmax net;
  for (const bool hybridized : {false, true}) {
    if (hybridized) net.hybridize();
    CHECK_THAT(
        message_of([&] { net(x, column); }),
        Contains("its input 'length' has the shape (3, 1), but data (3, 3) along axis 1 needs (3,), the "
                 "shape of the other axes") &&
            Contains("[KL0110]"));
    CHECK_THAT(message_of([&] { net(x, four); }),
               Contains("'length' has the shape (4,)") && Contains("needs (3,)"));
    CHECK_THAT(message_of([&] { net(one, one); }),
               Contains("'length' has the shape (1,)") && Contains("needs ()"));
    CHECK(net(x, ones({3})).shape() == Shape{3, 3});
  }
  const std::string line = line_below();
  CHECK_THAT(message_of([&] {
               F::log_softmax(ones({3, 2}), ones({3}), {.axis = 0});
             }),
             Contains(line) && Contains("data (3, 2) along axis 0 needs (2,)"));
}

TEST_CASE("lengths of a softmax in a symbol file", "[error]") {
  const Model model = model_of("softmax", R"("use_length": "True")", "[[0, 0, 0], [1, 0, 0]]");
  CHECK_THAT(message_of([&] {
               model.symbol().infer_shape({{"x", {3, 3}}, {"w", {3, 1}}});
             }),
             Contains("net-symbol.json:5: softmax 'node'") &&
                 Contains("'length' has the shape (3, 1), but data (3, 3) along axis 1 needs (3,)"));
  CHECK_THAT(message_of([&] {
               model.run({{"x", ones({3, 3})}, {"w", ones({4})}});
             }),
             Contains("net-symbol.json:5: softmax 'node'") && Contains("needs (3,)"));
  CHECK(model.symbol().infer_shape({{"x", {3, 3}}, {"w", {3}}}).outputs.at(0) == Shape{3, 3});
}
