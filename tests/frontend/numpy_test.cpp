// MXNet's numpy mode from C++: what F.np() and F.npx() compute, and the files that they write.
#include "golden_files.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <iostream>
#include <thread>

using namespace kiln;
using golden::error_of;
using Vars = std::function<Tensor(const std::string&)>;
using Build = std::function<Tensors(const Vars&)>;

namespace {

/// The programs of the golden cases; each writes the file that MXNet wrote for it.
const std::map<std::string, Build>& programs() {
  static const std::map<std::string, Build> all = {
      {"np_negative__a", [](const Vars& v) { return Tensors{np().negative(v("x"))}; }},
      {"np_abs__a", [](const Vars& v) { return Tensors{np().abs(v("x"))}; }},
      {"np_exp__empty", [](const Vars& v) { return Tensors{np().exp(v("x"))}; }},
      {"np_log__scalar", [](const Vars& v) { return Tensors{np().log(v("x"))}; }},
      {"np_sqrt__scalar", [](const Vars& v) { return Tensors{np().sqrt(v("x"))}; }},
      {"np_square__a", [](const Vars& v) { return Tensors{np().square(v("x"))}; }},
      {"np_tanh__a", [](const Vars& v) { return Tensors{np().tanh(v("x"))}; }},
      {"np_sin__scalar", [](const Vars& v) { return Tensors{np().sin(v("x"))}; }},
      {"np_cos__a", [](const Vars& v) { return Tensors{np().cos(v("x"))}; }},
      {"np_log1p__empty", [](const Vars& v) { return Tensors{np().log1p(v("x"))}; }},
      {"np_expm1__scalar", [](const Vars& v) { return Tensors{np().expm1(v("x"))}; }},
      {"np_reciprocal__scalar", [](const Vars& v) { return Tensors{np().reciprocal(v("x"))}; }},
      {"np_sign__empty", [](const Vars& v) { return Tensors{np().sign(v("x"))}; }},
      {"np_floor__a", [](const Vars& v) { return Tensors{np().floor(v("x"))}; }},
      {"np_ceil__a", [](const Vars& v) { return Tensors{np().ceil(v("x"))}; }},
      {"np_arctan__a", [](const Vars& v) { return Tensors{np().arctan(v("x"))}; }},
      {"np_add__bc", [](const Vars& v) { return Tensors{np().add(v("a"), v("b"))}; }},
      {"np_add__st", [](const Vars& v) { return Tensors{np().add(1.5, v("x"))}; }},
      {"np_add__i32_ts", [](const Vars& v) { return Tensors{np().add(v("x"), 2)}; }},
      {"np_subtract__bc", [](const Vars& v) { return Tensors{np().subtract(v("a"), v("b"))}; }},
      {"np_subtract__st", [](const Vars& v) { return Tensors{np().subtract(1.5, v("x"))}; }},
      {"np_multiply__ts", [](const Vars& v) { return Tensors{np().multiply(v("x"), 2)}; }},
      {"np_true_divide__i32", [](const Vars& v) { return Tensors{np().true_divide(v("a"), v("b"))}; }},
      {"np_true_divide__st", [](const Vars& v) { return Tensors{np().divide(1.5, v("x"))}; }},
      {"np_power__ts", [](const Vars& v) { return Tensors{np().power(v("x"), 2)}; }},
      {"np_power__st", [](const Vars& v) { return Tensors{np().power(1.5, v("x"))}; }},
      {"np_maximum__bc", [](const Vars& v) { return Tensors{np().maximum(v("a"), v("b"))}; }},
      {"np_maximum__st", [](const Vars& v) { return Tensors{np().maximum(1.5, v("x"))}; }},
      {"np_minimum__ts", [](const Vars& v) { return Tensors{np().minimum(v("x"), 2)}; }},
      {"np_mod__i32f32", [](const Vars& v) { return Tensors{np().mod(v("a"), v("b"))}; }},
      {"np_mod__st", [](const Vars& v) { return Tensors{np().mod(1.5, v("x"))}; }},
      {"np_equal__ts", [](const Vars& v) { return Tensors{np().equal(v("x"), 1)}; }},
      {"np_not_equal__a", [](const Vars& v) { return Tensors{np().not_equal(v("a"), v("b"))}; }},
      {"np_greater__ts", [](const Vars& v) { return Tensors{np().greater(v("x"), 1)}; }},
      {"np_greater_equal__a", [](const Vars& v) { return Tensors{np().greater_equal(v("a"), v("b"))}; }},
      {"np_less__a", [](const Vars& v) { return Tensors{np().less(v("a"), v("b"))}; }},
      {"np_less_equal__ts", [](const Vars& v) { return Tensors{np().less_equal(v("x"), 1)}; }},
      {"np_sum__all", [](const Vars& v) { return Tensors{np().sum(v("x"))}; }},
      {"np_sum__i32", [](const Vars& v) { return Tensors{np().sum(v("x"), {.axis = 0})}; }},
      {"np_mean__tup",
       [](const Vars& v) {
         return Tensors{np().mean(v("x"), {.axis = {0, -1}})};
       }},
      {"np_mean__scalar", [](const Vars& v) { return Tensors{np().mean(v("x"))}; }},
      {"np_max__keep",
       [](const Vars& v) { return Tensors{np().max(v("x"), {.axis = -1, .keepdims = true})}; }},
      {"np_min__all", [](const Vars& v) { return Tensors{np().min(v("x"))}; }},
      {"np_prod__keep",
       [](const Vars& v) { return Tensors{np().prod(v("x"), {.axis = -1, .keepdims = true})}; }},
      {"np_var__tup",
       [](const Vars& v) {
         return Tensors{np().var(v("x"), {.axis = {0, -1}})};
       }},
      {"np_std__keep",
       [](const Vars& v) { return Tensors{np().std(v("x"), {.axis = -1, .keepdims = true})}; }},
      {"np_argmax__all", [](const Vars& v) { return Tensors{np().argmax(v("x"))}; }},
      {"np_argmin__all", [](const Vars& v) { return Tensors{np().argmin(v("x"))}; }},
      {"np_dot__nd", [](const Vars& v) { return Tensors{np().dot(v("a"), v("b"))}; }},
      {"np_matmul__bc", [](const Vars& v) { return Tensors{np().matmul(v("a"), v("b"))}; }},
      {"np_einsum__diag", [](const Vars& v) { return Tensors{np().einsum("ii->i", {v("x0")})}; }},
      {"np_tensordot__b",
       [](const Vars& v) {
         return Tensors{np().tensordot(v("a"), v("b"), Shape{1, 0}, Shape{0, 2})};
       }},
      {"np_reshape__toscalar", [](const Vars& v) { return Tensors{np().reshape(v("x"), {})}; }},
      {"np_npx_reshape__m6",
       [](const Vars& v) {
         return Tensors{npx().reshape(v("x"), {-6, 2, -1, -2})};
       }},
      {"np_transpose__p",
       [](const Vars& v) {
         return Tensors{np().transpose(v("x"), {1, 2, 0})};
       }},
      {"np_swapaxes__a", [](const Vars& v) { return Tensors{np().swapaxes(v("x"), 0, -1)}; }},
      {"np_moveaxis__a", [](const Vars& v) { return Tensors{np().moveaxis(v("x"), 0, -1)}; }},
      {"np_expand_dims__a", [](const Vars& v) { return Tensors{np().expand_dims(v("x"), -1)}; }},
      {"np_squeeze__a", [](const Vars& v) { return Tensors{np().squeeze(v("x"))}; }},
      {"np_concatenate__a1",
       [](const Vars& v) {
         return Tensors{np().concatenate({v("a"), v("b")}, 1)};
       }},
      {"np_stack__a1",
       [](const Vars& v) {
         return Tensors{np().stack({v("a"), v("b")}, 1)};
       }},
      {"np_split__a", [](const Vars& v) { return np().split(v("x"), 2, 1); }},
      {"np_tile__a",
       [](const Vars& v) {
         return Tensors{np().tile(v("x"), {2, 1, 2})};
       }},
      {"np_repeat__a", [](const Vars& v) { return Tensors{np().repeat(v("x"), 2, 1)}; }},
      {"np_broadcast_to__a",
       [](const Vars& v) {
         return Tensors{np().broadcast_to(v("x"), {2, 3})};
       }},
      {"np_where__a", [](const Vars& v) { return Tensors{np().where(v("c"), v("a"), v("b"))}; }},
      {"np_clip__a", [](const Vars& v) { return Tensors{np().clip(v("x"), -0.5, 0.5)}; }},
      {"np_zeros_like__a", [](const Vars& v) { return Tensors{np().add(np().zeros_like(v("x")), 1)}; }},
      {"np_take__a", [](const Vars& v) { return Tensors{np().take(v("x"), v("i"), 0)}; }},
      {"np_npx_relu__a", [](const Vars& v) { return Tensors{npx().relu(v("x"))}; }},
      {"np_npx_sigmoid__a", [](const Vars& v) { return Tensors{npx().sigmoid(v("x"))}; }},
      {"np_npx_softmax__ax0", [](const Vars& v) { return Tensors{npx().softmax(v("x"), {.axis = 0})}; }},
      {"np_npx_log_softmax__a",
       [](const Vars& v) { return Tensors{npx().log_softmax(v("x"), {.axis = -1})}; }},
      {"np_npx_fully_connected__empty",
       [](const Vars& v) {
         return Tensors{npx().fully_connected(v("x"), v("w"), v("b"), {.num_hidden = 3})};
       }},
      {"np_npx_activation__a",
       [](const Vars& v) { return Tensors{npx().activation(v("x"), {.act_type = "tanh"})}; }},
      {"np_npx_leaky_relu__gelu",
       [](const Vars& v) { return Tensors{npx().leaky_relu(v("x"), {.act_type = "gelu"})}; }},
      {"np_npx_convolution__a",
       [](const Vars& v) {
         return Tensors{npx().convolution(v("x"), v("w"), v("b"), {.kernel = {3, 3}, .num_filter = 2})};
       }},
      {"np_npx_pooling__a",
       [](const Vars& v) {
         return Tensors{npx().pooling(v("x"), {.kernel = {2, 2}, .pool_type = "max", .stride = {2, 2}})};
       }},
      {"np_npx_layer_norm__a",
       [](const Vars& v) { return Tensors{npx().layer_norm(v("x"), v("g"), v("b"))}; }},
      {"np_npx_embedding__a",
       [](const Vars& v) {
         return Tensors{npx().embedding(v("x"), v("w"), {.input_dim = 5, .output_dim = 3})};
       }},
      {"np_npx_one_hot__a", [](const Vars& v) { return Tensors{npx().one_hot(v("x"), 4)}; }},
      {"np_npx_pick__a", [](const Vars& v) { return Tensors{npx().pick(v("x"), v("i"))}; }},
      {"np_npx_batch_dot__a",
       [](const Vars& v) { return Tensors{npx().batch_dot(v("a"), v("b"), {.transpose_b = true})}; }},
      {"np_npx_arange_like__a",
       [](const Vars& v) { return Tensors{np().multiply(npx().arange_like(v("x"), 1), 1.0)}; }},
  };
  return all;
}

std::string symbol_file(const std::string& name) { return golden::path("ops/" + name + "-symbol.json"); }

/// The variables of the file, in its order.
std::vector<std::string> variables_of(const std::string& name) {
  std::vector<std::string> names;
  const auto symbol = nlohmann::json::parse(golden::read_text(symbol_file(name)));
  for (const auto& node : symbol["nodes"])
    if (node["op"] == "null") names.push_back(node["name"]);
  return names;
}

}  // namespace

TEST_CASE("F.np() and F.npx() write the files of MXNet's numpy mode", "[numpy]") {
  for (const auto& [name, program] : programs()) {
    INFO(name);
    std::string text;
    // Generated names count from 0 in every thread.
    std::thread([&, &name = name, &program = program] {
      std::map<std::string, Tensor> made;
      const std::vector<std::string> known = variables_of(name);
      text = Symbol(program([&](const std::string& v) {
               // The cases of one input do not agree on its name.
               const std::string& real =
                   std::find(known.begin(), known.end(), v) == known.end() ? known.at(0) : v;
               if (!made.contains(real)) made[real] = sym::var(real);
               return made.at(real);
             })).tojson();
    }).join();
    CHECK(text == golden::read_text(symbol_file(name)));
  }
}

TEST_CASE("F.np() computes at once what MXNet's file computes", "[numpy]") {
  for (const auto& [name, program] : programs()) {
    INFO(name);
    const std::vector<NamedArray> io = load_arrays(golden::path("ops/" + name + "-io.params"));
    const std::string params_file = golden::path("ops/" + name + "-0000.params");
    const std::vector<NamedArray> params =
        std::filesystem::exists(params_file) ? load_arrays(params_file) : std::vector<NamedArray>();
    const std::vector<std::string> known = variables_of(name);
    const Tensors results = program([&](const std::string& v) {
      const std::string& real = std::find(known.begin(), known.end(), v) == known.end() ? known.at(0) : v;
      const Tensor* const input = find_array(io, "in:" + real);
      return input ? *input : *find_array(params, "arg:" + real);
    });
    const auto row = [&] {
      for (const auto& c : golden::manifest("ops"))
        if (c["name"] == name) return c;
      return nlohmann::json();
    }();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Tensor& expected = *find_array(io, "out:" + std::to_string(i));
      CHECK(results[i].shape() == expected.shape());
      CHECK(results[i].dtype() == expected.dtype());
      const auto got = results[i].to_vector<double>(), wanted = expected.to_vector<double>();
      REQUIRE(got.size() == wanted.size());
      const double rtol = row["rtol"], atol = row["atol"];
      for (std::size_t k = 0; k < got.size(); ++k)
        CHECK(std::abs(got[k] - wanted[k]) <= atol + rtol * std::abs(wanted[k]));
    }
  }
}

namespace {

class NumpyNet : public HybridBlock {
 public:
  explicit NumpyNet(const BlockOptions& options = {}) : HybridBlock(options) { dense = nn::Dense(4); }
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const auto h = F.npx().relu(dense(x));
    return F.np().sum(F.np().multiply(h, 2.5));
  }

 private:
  Child<nn::Dense> dense{this, "dense"};
};

}  // namespace

TEST_CASE("a net of numpy operators is exported as one of numpy mode and comes back", "[numpy]") {
  NumpyNet net({.prefix = "net_"});
  net.initialize();
  const Tensor x = nd::ones({2, 3});
  const Tensor eager = net(x);
  CHECK(eager.shape() == Shape{});
  net.hybridize();
  CHECK(net(x).to_vector<float>() == eager.to_vector<float>());
  net.export_model("numpy_net");
  const std::string text = golden::read_text("numpy_net-symbol.json");
  CHECK_THAT(text, Catch::Contains("\"is_np_shape\": [\"int\", 1]"));
  CHECK_THAT(text, Catch::Contains("\"__shape__\": \"(4, -1)\""));
  // The arrays have the magic V3.
  const std::string params = golden::read_text("numpy_net-0000.params");
  CHECK(params.substr(24, 4) == "\xCA\xFA\x93\xF9");
  auto back = SymbolBlock::imports("numpy_net-symbol.json", {"data"}, "numpy_net-0000.params");
  const Tensor again = back(x);
  CHECK(again.shape() == Shape{});
  CHECK(again.to_vector<float>() == eager.to_vector<float>());
  back.hybridize();
  CHECK(back(x).to_vector<float>() == eager.to_vector<float>());
  back.export_model("numpy_again");
  CHECK(golden::read_text("numpy_again-symbol.json") == text);
}

TEST_CASE("numpy's products are those of their definition", "[numpy]") {
  const Tensor a = nd::arange(24).reshape({2, 3, 4}), b = nd::arange(12).reshape({4, 3});
  const auto values = [](const Tensor& t) { return t.to_vector<double>(); };
  const Tensor product = np().matmul(a, b);
  CHECK(product.shape() == Shape{2, 3, 3});
  CHECK(values(np().einsum("bij,jk->bik", {a, b})) == values(product));
  CHECK(values(np().einsum("bij,jk", {a, b})) == values(product));
  CHECK(values(np().einsum("...ij,jk->...ik", {a, b})) == values(product));
  CHECK(values(np().tensordot(a, b, 1)) == values(product));
  CHECK(values(np().dot(a, b)) == values(product));
  CHECK(np().einsum("ij,ji", {b, b.T()}).shape() == Shape{});
  CHECK(np().einsum("ij,ji", {b, b.T()}).item<double>() == 506);
  CHECK(values(np().einsum("ii", {nd::arange(9).reshape({3, 3})})) == std::vector<double>{12});
  CHECK(values(np().einsum("i,j->ji", {nd::arange(2), nd::arange(3)})) ==
        std::vector<double>{0, 0, 0, 1, 0, 2});
  // Three operands, one label of only one of them, an extent of 1 that stretches.
  const Tensor u = nd::ones({1, 4});
  CHECK(values(np().einsum("ij,kj,l->ik", {b.T(), u, nd::arange(3)})) == std::vector<double>{54, 66, 78});
  CHECK(np().tensordot(nd::arange(2), nd::arange(3), 0).shape() == Shape{2, 3});
  CHECK(np().matmul(nd::arange(4), b).shape() == Shape{3});
  CHECK(np().matmul(nd::arange(3), nd::ones({2, 3, 5})).shape() == Shape{2, 5});
  CHECK_THAT(error_of([&] { np().einsum("ij,jk->iz", {b, b.T()}); }), Catch::Contains("'z'"));
  CHECK_THAT(error_of([&] { np().einsum("ij,jk", {b, b}); }), Catch::Contains("'j'"));
  CHECK_THAT(error_of([&] { np().einsum("i,jk", {b, b}); }), Catch::Contains("operand 0"));
  CHECK_THAT(error_of([&] { np().einsum("ij", {b, b}); }), Catch::Contains("1 operands"));
  CHECK_THAT(error_of([&] { np().matmul(b, b); }), Catch::Contains("differ"));
}

TEST_CASE("numpy's dtypes", "[numpy]") {
  const Tensor f({1.5, -2}), i({3, -2}, DType::i32), b({1, 0}, DType::boolean), u({200, 2}, DType::u8);
  CHECK(np().add(f, i).dtype() == DType::f32);
  CHECK(np().add(i, 1.5).dtype() == DType::f64);
  CHECK(np().add(i, 1).dtype() == DType::i32);
  CHECK(np().add(i, 1.5).to_vector<double>() == std::vector<double>{4.5, -0.5});
  CHECK(np().add(b, b).to_vector<int>() == std::vector<int>{1, 0});
  CHECK(np().add(b, b).dtype() == DType::boolean);
  CHECK(np().add(b, 1).dtype() == DType::i64);
  CHECK(np().multiply(u, i).dtype() == DType::i32);
  CHECK(np().true_divide(i, i).dtype() == DType::f32);
  CHECK(np().true_divide(i, 2).to_vector<float>() == std::vector<float>{1.5f, -1});
  CHECK(np().less(i, 0).dtype() == DType::boolean);
  CHECK(np().less(i, 2.5).to_vector<int>() == std::vector<int>{0, 1});
  CHECK(np().sum(b).dtype() == DType::i64);
  CHECK(np().sum(i, {.dtype = DType::f64}).dtype() == DType::f64);
  CHECK(np().mean(i).item<float>() == 0.5f);
  CHECK(np().argmax(f).dtype() == DType::i64);
  CHECK(np().where(b, f, i).dtype() == DType::f32);
}

TEST_CASE("a scalar stays one, however many numbers it meets", "[numpy]") {
  const Tensor x = np().sum(nd::ones({4})), i = np().sum(Tensor({1, 2}, DType::i32));
  for (int k = 0; k < 40; ++k) {
    const Tensor y = np().add(x, 0.5 * k), z = x * (0.5 * k);
    CHECK(y.shape() == Shape{});
    CHECK(y.item<double>() == 4 + 0.5 * k);
    CHECK(z.shape() == Shape{});
    CHECK(z.item<double>() == 2.0 * k);
    CHECK(np().add(i, 0.5 + k).dtype() == DType::f64);
    CHECK(np().add(i, k).item<int>() == 3 + k);
  }
}

TEST_CASE("np::where takes numbers", "[numpy]") {
  const Tensor c({1, 0, 1}, DType::boolean), x({1.5, 2.5, -0.0}), i({3, 4, 5}, DType::i32);
  using V = std::vector<float>;
  CHECK(np().where(c, x, 0).to_vector<float>() == V{1.5, 0, -0.0});
  CHECK(np().where(c, -0.0, x).to_vector<float>() == V{-0.0, 2.5, -0.0});
  CHECK(std::signbit(np().where(c, -0.0, x).to_vector<float>()[0]));
  CHECK(np().where(c, x, 0).dtype() == DType::f32);
  CHECK(np().where(c, x.astype(DType::f16), 0.5).dtype() == DType::f16);
  CHECK(np().where(c, 1, i).dtype() == DType::i32);
  CHECK(np().where(c, 1, i).to_vector<int>() == std::vector<int>{1, 4, 1});
  CHECK(np().where(c, i, 0.5).dtype() == DType::f64);
  CHECK(np().where(c, i, 0.5).to_vector<double>() == std::vector<double>{3, 0.5, 5});
  CHECK(np().where(c, c, 2).dtype() == DType::i64);
  CHECK(np().where(c, c, 2).to_vector<int>() == std::vector<int>{1, 2, 1});
  CHECK(np().where(c, 1, -1).dtype() == DType::i64);
  CHECK(np().where(c, 1, -1).to_vector<int>() == std::vector<int>{1, -1, 1});
  CHECK(np().where(c, 1, -0.5).dtype() == DType::f32);
  const Tensor column({1, 0}, DType::boolean);
  CHECK(np().where(column.reshape({2, 1}), x, 9).to_vector<float>() == V{1.5, 2.5, -0.0, 9, 9, 9});

  struct Relu : HybridBlock {
    Tensor hybrid_forward(F& F, const Tensor& x) override { return F.np().where(x > 0, x, 0); }
  };
  Relu net;
  const V eager = net(x).to_vector<float>();
  net.hybridize();
  CHECK(net(x).to_vector<float>() == eager);
  Tensor v({1, 2, 3});
  v.attach_grad();
  {
    const autograd::Record record;
    np().where(c, v * 2, 0).backward();
  }
  CHECK(v.grad().to_vector<float>() == V{2, 0, 2});
}
