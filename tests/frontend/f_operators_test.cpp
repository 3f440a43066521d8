// F's functions of operators that no layer calls: each gives what its operator means, eagerly and in a
// compiled network.
#include "numpy_mode.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

using namespace kiln;

namespace {

using Function = std::function<Tensor(F&, const Tensors&)>;

class Net : public HybridBlock {
 public:
  explicit Net(Function fn) : fn_(std::move(fn)) {}

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override { return {fn_(F, inputs)}; }

 private:
  Function fn_;
};

/// Applied to `inputs` it gives an array like `expected`, twice with the same bits.
void check(const std::string& name, const Tensors& inputs, const Tensor& expected, const Function& fn) {
  INFO(name);
  Net net(fn);
  const Tensor eager = net(inputs)[0];
  CHECK(eager.shape() == expected.shape());
  const auto got = eager.to_vector<double>(), wanted = expected.to_vector<double>();
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).epsilon(1e-5).margin(1e-6));
  net.hybridize();
  CHECK(net(inputs)[0].to_vector<double>() == got);
}

const Tensor x = Tensor({{1, 2, 3, 4}, {-1, 0, 2, 5}});
Tensor image(const Shape& shape) { return arange(static_cast<double>(shape.elements())).reshape(shape); }

}  // namespace

TEST_CASE("lengths that int64 does not have") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Tensor data = Tensor({{1, 2, 3, 4}, {5, 6, 7, 8}}), lengths{inf, -inf, 1e20f, -1e20f};
  check("SequenceMask", {data, lengths}, Tensor({{1, 0, 3, 0}, {5, 0, 7, 0}}),
        [](F& F, const Tensors& in) { return F.SequenceMask(in[0], in[1], {.use_sequence_length = true}); });
  check("SequenceLast", {data, lengths}, Tensor{5, 2, 7, 4},
        [](F& F, const Tensors& in) { return F.SequenceLast(in[0], in[1], {.use_sequence_length = true}); });
}

TEST_CASE("normalisations") {
  check("GroupNorm", {x, ones({2}), zeros({2})}, Tensor({{-1, 1, -1, 1}, {-1, 1, -1, 1}}),
        [](F& F, const Tensors& in) {
          return F.GroupNorm(in[0], in[1], in[2], {.num_groups = 2, .eps = 1e-12});
        });
  check("InstanceNorm", {x.reshape({2, 2, 2}), ones({2}), zeros({2})},
        Tensor({{-1, 1, -1, 1}, {-1, 1, -1, 1}}).reshape({2, 2, 2}),
        [](F& F, const Tensors& in) { return F.InstanceNorm(in[0], in[1], in[2], {.eps = 1e-12}); });
  check("L2Normalization", {Tensor({{3, 4}})}, Tensor({{0.6, 0.8}}),
        [](F& F, const Tensors& in) { return F.L2Normalization(in[0]); });
  check("L2Normalization of one axis", {Tensor{3, -4}}, Tensor{1, -1},
        [](F& F, const Tensors& in) { return F.L2Normalization(in[0]); });
  check("LRN", {Tensor({{1, 2, 3}})}, Tensor({{1 / 3.5, 2 / 8.0, 3 / 7.5}}), [](F& F, const Tensors& in) {
    return F.LRN(in[0], {.alpha = 1.5, .beta = 1, .knorm = 1, .nsize = 3});
  });
  check("moments", {x}, Tensor({2.5, 1.5}),
        [](F& F, const Tensors& in) { return F.moments(in[0], {.axes = 1})[0]; });
  check("moments' variance", {x}, Tensor({1.25, 5.25}),
        [](F& F, const Tensors& in) { return F.moments(in[0], {.axes = {1}})[1]; });
}

TEST_CASE("outputs and activations") {
  const Tensor two = Tensor({{0, std::log(3.0)}});
  const Tensor label{1};
  check("softmin", {two}, Tensor({{0.75, 0.25}}), [](F& F, const Tensors& in) { return F.softmin(in[0]); });
  check("SoftmaxActivation", {two}, Tensor({{0.25, 0.75}}),
        [](F& F, const Tensors& in) { return F.SoftmaxActivation(in[0]); });
  check("hard_sigmoid", {Tensor({-9, 0, 1, 9})}, Tensor({0, 0.5, 0.7, 1}),
        [](F& F, const Tensors& in) { return F.hard_sigmoid(in[0]); });
  check("SoftmaxOutput", {two, label}, Tensor({{0.25, 0.75}}),
        [](F& F, const Tensors& in) { return F.SoftmaxOutput(in[0], in[1], {.grad_scale = 2}); });
  check("LinearRegressionOutput", {two, two}, two,
        [](F& F, const Tensors& in) { return F.LinearRegressionOutput(in[0], in[1]); });
  check("MAERegressionOutput", {two, two}, two,
        [](F& F, const Tensors& in) { return F.MAERegressionOutput(in[0], in[1]); });
  check("LogisticRegressionOutput", {two, two}, Tensor({{0.5, 0.75}}),
        [](F& F, const Tensors& in) { return F.LogisticRegressionOutput(in[0], in[1]); });
  check("softmax_cross_entropy", {two, label}, Tensor({-std::log(0.75)}),
        [](F& F, const Tensors& in) { return F.softmax_cross_entropy(in[0], in[1]); });
  check("smooth_l1", {Tensor({0.5, -3})}, Tensor({0.125, 2.5}),
        [](F& F, const Tensors& in) { return F.smooth_l1(in[0]); });
}

TEST_CASE("images") {
  check("depth_to_space", {image({1, 4, 1, 2})}, Tensor({{0, 2, 1, 3}, {4, 6, 5, 7}}).reshape({1, 1, 2, 4}),
        [](F& F, const Tensors& in) { return F.depth_to_space(in[0], 2); });
  check("space_to_depth", {image({1, 1, 2, 2})}, image({1, 4, 1, 1}),
        [](F& F, const Tensors& in) { return F.space_to_depth(in[0], 2); });
  check("im2col", {image({1, 1, 2, 3})}, Tensor({{0, 1}, {1, 2}, {3, 4}, {4, 5}}).reshape({1, 4, 2}),
        [](F& F, const Tensors& in) {
          return F.im2col(in[0], {.kernel = {2, 2}});
        });
  check("Crop", {image({1, 1, 3, 3})}, Tensor({{4, 5}, {7, 8}}).reshape({1, 1, 2, 2}),
        [](F& F, const Tensors& in) {
          return F.Crop({in[0]}, {.offset = {1, 1}, .h_w = {2, 2}});
        });
  check("Crop like", {image({1, 1, 3, 3}), ones({1, 1, 1, 2})}, Tensor({{0, 1}}).reshape({1, 1, 1, 2}),
        [](F& F, const Tensors& in) { return F.Crop(in); });
  check("AdaptiveAvgPooling2D", {image({1, 1, 2, 2})}, Tensor({1.5}).reshape({1, 1, 1, 1}),
        [](F& F, const Tensors& in) {
          return F.contrib().AdaptiveAvgPooling2D(in[0], {1, 1});
        });
  check(
      "BilinearResize2D", {image({1, 1, 1, 2})}, Tensor({{0, 0.5, 1}}).reshape({1, 1, 1, 3}),
      [](F& F, const Tensors& in) { return F.contrib().BilinearResize2D(in[0], {.height = 1, .width = 3}); });
  check("BilinearResize2D like", {image({1, 1, 1, 2}), ones({1, 1, 1, 3})},
        Tensor({{0, 0.5, 1}}).reshape({1, 1, 1, 3}),
        [](F& F, const Tensors& in) { return F.contrib().BilinearResize2D(in[0], in[1], {.mode = "like"}); });
}

TEST_CASE("contrib and linear algebra") {
  check("div_sqrt_dim", {x}, x / 2.0,
        [](F& F, const Tensors& in) { return F.contrib().div_sqrt_dim(in[0]); });
  check("arange_like", {x}, arange(4),
        [](F& F, const Tensors& in) { return F.contrib().arange_like(in[0], {.axis = 1}); });
  check("gradientmultiplier", {x}, x,
        [](F& F, const Tensors& in) { return F.contrib().gradientmultiplier(in[0], 0.5); });
  check("index_copy", {zeros({3, 2}), Tensor({2}), ones({1, 2})}, Tensor({{0, 0}, {0, 0}, {1, 1}}),
        [](F& F, const Tensors& in) { return F.contrib().index_copy(in[0], in[1], in[2]); });
  check("quadratic", {Tensor({2})}, Tensor({11}),
        [](F& F, const Tensors& in) { return F.contrib().quadratic(in[0], {.a = 1, .b = 2, .c = 3}); });
  check("self attention", {ones({2, 1, 3})}, ones({1, 2, 2}),
        [](F& F, const Tensors& in) { return F.contrib().interleaved_matmul_selfatt_qk(in[0], 1); });
  check(
      "self attention's values", {ones({2, 1, 3}), ones({1, 2, 2})}, full({2, 1, 1}, 2),
      [](F& F, const Tensors& in) { return F.contrib().interleaved_matmul_selfatt_valatt(in[0], in[1], 1); });
  const Tensor a = Tensor({{1, 2}, {3, 4}});
  check("gemm2", {a, a}, Tensor({{14, 20}, {30, 44}}),
        [](F& F, const Tensors& in) { return F.linalg().gemm2(in[0], in[1], {.alpha = 2}); });
  check("gemm", {a, a, a}, Tensor({{13, 20}, {23, 32}}), [](F& F, const Tensors& in) {
    return F.linalg().gemm(in[0], in[1], in[2], {.transpose_a = true, .beta = 3});
  });
  check("syrk", {a}, Tensor({{5, 11}, {11, 25}}),
        [](F& F, const Tensors& in) { return F.linalg().syrk(in[0]); });
  check("khatri_rao", {Tensor({{1, 2}}), a}, Tensor({{1, 4}, {3, 8}}),
        [](F& F, const Tensors& in) { return F.khatri_rao(in); });
}

TEST_CASE("shapes and indices") {
  check("SwapAxis", {x}, x.transpose(),
        [](F& F, const Tensors& in) { return F.SwapAxis(in[0], {.dim1 = 0, .dim2 = 1}); });
  check("reverse", {Tensor({1, 2})}, Tensor({2, 1}),
        [](F& F, const Tensors& in) { return F.reverse(in[0], {0}); });
  check("broadcast_axis", {Tensor({{1}, {2}})}, Tensor({{1, 1}, {2, 2}}),
        [](F& F, const Tensors& in) { return F.broadcast_axis(in[0], {.axis = 1, .size = 2}); });
  check("Pad", {image({1, 1, 1, 2})}, Tensor({{0, 0, 1, 1}}).reshape({1, 1, 1, 4}),
        [](F& F, const Tensors& in) {
          return F.Pad(in[0], {.mode = "edge", .pad_width = {0, 0, 0, 0, 0, 0, 1, 1}});
        });
  check("SliceChannel", {x}, Tensor({{3, 4}, {2, 5}}),
        [](F& F, const Tensors& in) { return F.SliceChannel(in[0], {.num_outputs = 2})[1]; });
  check("split_v2 by indices", {x}, Tensor({{2, 3, 4}, {0, 2, 5}}),
        [](F& F, const Tensors& in) { return F.split_v2(in[0], {.indices = {1}, .axis = 1})[1]; });
  check("split_v2 in sections", {x}, Tensor({-1, 0, 2, 5}),
        [](F& F, const Tensors& in) { return F.split_v2(in[0], {.sections = 2, .squeeze_axis = true})[1]; });
  check("argmax_channel", {x}, Tensor({3, 3}),
        [](F& F, const Tensors& in) { return F.argmax_channel(in[0]); });
  check("batch_take", {x, Tensor({1, 3}, DType::i32)}, Tensor({2, 5}),
        [](F& F, const Tensors& in) { return F.batch_take(in[0], in[1]); });
  check("ravel_multi_index", {Tensor({{1, 0}, {2, 3}})}, Tensor({6, 3}), [](F& F, const Tensors& in) {
    return F.ravel_multi_index(in[0], {2, 4});
  });
  check("unravel_index", {Tensor({6, 3})}, Tensor({{1, 0}, {2, 3}}), [](F& F, const Tensors& in) {
    return F.unravel_index(in[0], {2, 4});
  });
  check("eye", {x}, Tensor({{0, 1, 0}, {0, 0, 1}}),
        [](F& F, const Tensors&) { return F.eye(2, {.M = 3, .k = 1}); });
  check("linspace", {x}, Tensor({0, 0.5, 1}), [](F& F, const Tensors&) { return F.linspace(0, 1, 3); });
}

TEST_CASE("random numbers beyond uniform and normal") {
  const auto all = [](const Tensor& t, const std::function<bool(double)>& fits) {
    for (const double v : t.to_vector<double>())
      if (!fits(v)) return false;
    return t.size() > 0;
  };
  const Tensor integers = nd::random::randint(-2, 3, {100});
  CHECK(integers.dtype() == DType::i32);
  CHECK(all(integers, [](double v) { return v >= -2 && v < 3; }));
  CHECK(all(nd::random::exponential(2, {100}), [](double v) { return v >= 0; }));
  CHECK(all(nd::random::uniform_like(ones({50}), 3, 4), [](double v) { return v >= 3 && v < 4; }));
  CHECK(nd::random::normal_like(ones({2, 3})).shape() == Shape{2, 3});
}

TEST_CASE("the softmax family with lengths") {
  const Tensor length({1, 2}), two({{1, 2, 3}, {0, 0, 9}});
  const double half = std::log(0.5);
  check("softmax", {two, length}, Tensor({{1, 0, 0}, {0.5, 0.5, 0}}),
        [](F& F, const Tensors& in) { return F.softmax(in[0], in[1]); });
  check("softmax of an empty list", {Tensor({{0, 0}})}, Tensor({{0.5, 0.5}}),
        [](F& F, const Tensors& in) { return F.softmax(in[0], {}); });
  check("log_softmax", {two, length}, Tensor({{0.0, 0.0, 0.0}, {half, half, 0.0}}),
        [](F& F, const Tensors& in) { return F.log_softmax(in[0], in[1], {.axis = -1}); });
  check("softmin", {two, Tensor({2, 1, 0})},
        Tensor({{1 / (1 + std::exp(1.0)), 1.0, 0.0}, {1 / (1 + std::exp(-1.0)), 0.0, 0.0}}),
        [](F& F, const Tensors& in) { return F.softmin(in[0], in[1], {.axis = 0}); });
  const NumpyMode numpy;
  check("npx::softmax", {two, length}, Tensor({{1, 0, 0}, {0.5, 0.5, 0}}),
        [](F& F, const Tensors& in) { return F.npx().softmax(in[0], in[1], {.temperature = 1}); });
  check("npx::log_softmax", {two, length}, Tensor({{0.0, 0.0, 0.0}, {half, half, 0.0}}),
        [](F& F, const Tensors& in) { return F.npx().log_softmax(in[0], in[1]); });
}

TEST_CASE("some axes of another array, dtypes of results, and first numbers of reductions") {
  check("broadcast_like", {x.reshape({1, 8, 1}), zeros({5, 3, 2})},
        nd::broadcast_to(x.reshape({1, 8, 1}), Shape{5, 8, 3}), [](F& F, const Tensors& in) {
          return F.broadcast_like(in[0], in[1], {.lhs_axes = {0, 2}, .rhs_axes = {0, 1}});
        });
  check("reshape_like", {x, zeros({7, 2, 2, 9})}, x.reshape({2, 2, 2}), [](F& F, const Tensors& in) {
    return F.reshape_like(in[0], in[1], {.lhs_begin = 1, .lhs_end = 2, .rhs_begin = 1, .rhs_end = 3});
  });
  for (const ReshapeLikeOptions& none :
       {ReshapeLikeOptions{.lhs_end = 3}, ReshapeLikeOptions{.lhs_begin = -3},
        ReshapeLikeOptions{.lhs_begin = 1, .lhs_end = 1}, ReshapeLikeOptions{.rhs_begin = 2, .rhs_end = 1}})
    CHECK_THROWS_WITH(nd::reshape_like(x, x, none),
                      Catch::Contains("of shape (2, 4) has none there [KL0103]"));
  CHECK_THROWS_WITH(nd::reshape_like(x, x, {.lhs_begin = -5}), Catch::Contains("from -5 to before 2:"));
  CHECK_THROWS_WITH(nd::reshape_like(x, x, {.rhs_begin = 1, .rhs_end = -9}),
                    Catch::Contains("from 1 to before -9:"));
  check("norm", {Tensor({{3, 4}})}, Tensor({5}),
        [](F& F, const Tensors& in) { return F.norm(in[0], {.axis = 1, .out_dtype = DType::f64}); });
  CHECK(nd::norm(x, {.out_dtype = DType::f64}).dtype() == DType::f64);
  Tensor loss = ones({2, 2});
  loss.attach_grad();
  autograd::record([&] {
    return nd::MakeLoss(loss, {.grad_scale = 3, .normalization = "batch"});
  }).backward();
  CHECK(loss.grad().to_vector<float>() == std::vector<float>(4, 1.5F));

  const NumpyMode numpy;
  check("np::sum", {x}, Tensor({20, 16}),
        [](F& F, const Tensors& in) { return F.np().sum(in[0], {.axis = 1, .initial = 10}); });
  check("np::max", {x}, Tensor({4.5, 5.0}),
        [](F& F, const Tensors& in) { return F.np().max(in[0], {.axis = 1, .initial = 4.5}); });
  check("np::zeros_like", {x}, zeros({2, 4}),
        [](F& F, const Tensors& in) { return F.np().zeros_like(in[0], DType::i32); });
  CHECK(np::ones_like(x, DType::i32).dtype() == DType::i32);
  CHECK(np::full_like(x, 2.5, DType::f64).to_vector<double>() == std::vector<double>(8, 2.5));
}
