// Contractions of bools: a result is 1 if one of its products is, eagerly and compiled.
#include <kiln/kiln.h>

#include <functional>

using namespace kiln;

namespace {

using Contraction = std::function<Tensor(const Tensor& a, const Tensor& b)>;

struct Net : HybridBlock {
  explicit Net(Contraction f) : contract(std::move(f)) {}
  Tensor hybrid_forward(F&, const Tensor& a, const Tensor& b) override { return contract(a, b); }
  Contraction contract;
};

/// Two products that are 1 for each result, then none.
void check(const Contraction& contract, const Shape& a_shape, const Shape& b_shape) {
  const Tensor a = ones(a_shape, DType::boolean), b = ones(b_shape, DType::boolean);
  const Tensor none = zeros(b_shape, DType::boolean);
  Net net(contract);
  net.hybridize();
  for (const auto& call :
       {contract, Contraction([&](const Tensor&x, const Tensor&y) { return net(x, y); })}) {
    const Tensor some = call(a, b);
    REQUIRE(some.dtype() == DType::boolean);
    for (const int element : some.to_vector<int>()) CHECK(element == 1);
    for (const int element : call(a, none).to_vector<int>()) CHECK(element == 0);
  }
}

TEST_CASE("classic contractions of bools are whether a product is 1") {
  check([](const Tensor& a, const Tensor& b) { return F::dot(a, b); }, {2, 2}, {2, 2});
  check([](const Tensor& a, const Tensor& b) { return F::batch_dot(a, b); }, {3, 2, 2}, {3, 2, 2});
  check([](const Tensor& a,
           const Tensor& b) { return F::FullyConnected(a, b, {.num_hidden = 3, .no_bias = true}); },
        {2, 2}, {3, 2});
  check(
      [](const Tensor& a, const Tensor& b) {
        return F::Convolution(a, b, {.kernel = {2}, .num_filter = 3, .no_bias = true});
      },
      {1, 1, 4}, {3, 1, 2});
}

TEST_CASE("numpy contractions of bools are whether a product is 1") {
  npx::set_np();
  check([](const Tensor& a, const Tensor& b) { return np::matmul(a, b); }, {2, 2}, {2, 2});
  check([](const Tensor& a, const Tensor& b) { return np::tensordot(a, b, 1); }, {2, 2}, {2, 2});
  check([](const Tensor& a, const Tensor& b) { return np::einsum("ij,jk->ik", {a, b}); }, {2, 2}, {2, 2});
  npx::reset_np();
}

}  // namespace
