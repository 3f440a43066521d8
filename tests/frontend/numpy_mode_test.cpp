// npx::set_np(): numpy mode for a program. Results of single operators are tested in numpy_test.cpp.
#include "numpy_mode.h"

#include "function_net.h"
#include "golden_files.h"
#include "temporary_folder.h"

#include <fmt/format.h>
#include <functional>
#include <sstream>

using namespace kiln;
using golden::error_of;

namespace {

/// The text that Python printed for a line of the transcript's part in numpy mode.
std::string printed(const std::string& line) {
  const std::string text = golden::read_text(golden::path("transcripts/ndarray_print.txt"));
  const std::size_t at = text.find(">>> " + line + "\n", text.find("mx.npx.set_np()"));
  REQUIRE(at != std::string::npos);
  const std::size_t begin = text.find('\n', at) + 1;
  return text.substr(begin, text.find("\n>>>", begin) - begin);
}

std::string streamed(const Tensor& t) {
  std::ostringstream out;
  out << t;
  return out.str();
}

Tensor of(const std::vector<float>& values, const Shape& shape) { return Tensor(values, shape); }

}  // namespace

TEST_CASE("arrays print as MXNet's numpy arrays", "[numpy]") {
  const NumpyMode mode;
  const std::pair<const char*, Tensor> shown[] = {
      {"mx.np.zeros((1, 2))", np::zeros({1, 2})},
      {"mx.np.array(3.5)", np::array(3.5)},
      {"mx.np.zeros((0, 3))", np::zeros({0, 3})},
      {"mx.np.arange(3, dtype=\"int32\")", np::arange(0, 3, 1, DType::i32)},
      {"mx.np.array([1.5, 2]).mean()", np::array({1.5, 2}).mean()},
      {"mx.np.array([1, 2]) > 1", np::array({1, 2}) > 1}};
  for (const auto& [line, array] : shown) {
    INFO(line);
    CHECK(np::array_repr(array) == printed(line));
  }
  CHECK(streamed(np::zeros({1, 2})) == printed("print(mx.np.zeros((1, 2)))"));
  // numpy's rules for what the transcript does not show.
  CHECK(streamed(np::array(2)) == "2.0");
  CHECK(streamed(np::array({1, 2}) == np::array({1, 3})) == "[ True False]");
  CHECK(np::array_repr(np::ones({2}, DType::f64)) == "array([1., 1.], dtype=float64)");
  CHECK(np::array_repr(np::zeros({0})) == "array([])");
  CHECK(np::array_repr(np::zeros({0}, DType::i64)) == "array([], dtype=int64)");
  CHECK(np::array_repr(np::arange(6).reshape({2, 3})) == "array([[0., 1., 2.],\n       [3., 4., 5.]])");
  CHECK(np::array_repr(np::arange(24)) ==
        "array([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12.,\n"
        "       13., 14., 15., 16., 17., 18., 19., 20., 21., 22., 23.])");
}

TEST_CASE("shapes are numpy's", "[numpy]") {
  const NumpyMode mode;
  CHECK(npx::is_np_shape());
  CHECK(npx::is_np_array());
  const Tensor x = np::arange(12);
  CHECK(Tensor(x[3]).shape() == Shape{});
  CHECK(Tensor(x[3]).item<float>() == 3);
  CHECK(x.sum().shape() == Shape{});
  CHECK(x.max().item<float>() == 11);
  CHECK(x.reshape({3, -1}).argmax({.axis = 0}).dtype() == DType::i64);
  CHECK(x.reshape({3, 4}).flatten().shape() == Shape{12});
  CHECK(x.reshape({3, 4}).T().shape() == Shape{4, 3});
  // 0 is an extent, not a code.
  CHECK(np::zeros({0, 3}).reshape({3, 0}).shape() == Shape{3, 0});
  CHECK_THAT(error_of([&] { x.reshape({0, -1}); }), Catch::Contains("reshape"));
  CHECK_THAT(error_of([&] { x.reshape({-2}); }), Catch::Contains("one extent may be -1"));
  // A scalar of an array is written through.
  Tensor y = np::zeros({2, 3});
  y({1, 2}) = 9;
  y({slice(0, 1), slice()}) = 12;
  CHECK(y.to_vector<float>() == std::vector<float>{12, 12, 12, 0, 0, 9});
}

TEST_CASE("operators are numpy's", "[numpy]") {
  const NumpyMode mode;
  const Tensor i = np::arange(0, 4, 1, DType::i32), x = np::array({0.5, 1.5, 2.5, 3.5});
  CHECK((x > 1).dtype() == DType::boolean);
  CHECK((i / 2).dtype() == DType::f32);
  CHECK((i / 2).to_vector<float>() == std::vector<float>{0, 0.5f, 1, 1.5f});
  CHECK((i + x).to_vector<float>() == std::vector<float>{0.5f, 2.5f, 4.5f, 6.5f});
  CHECK((2 - x).to_vector<float>() == std::vector<float>{1.5f, 0.5f, -0.5f, -1.5f});
  CHECK((-i).to_vector<int>() == std::vector<int>{0, -1, -2, -3});
  CHECK((np::arange(3).reshape({3, 1}) + np::arange(2)).shape() == Shape{3, 2});
}

TEST_CASE("eager and compiled runs agree in numpy mode", "[numpy]") {
  const NumpyMode mode;
  const Tensor x = of({1, -2, 3, -4, 5, -6}, {2, 3});
  const auto body = [](F&, const Tensors& in) {
    Tensor h = in[0].copy();
    h({0, 1}) = 7;
    const Tensor row = h[1];
    return Tensors{h.sum(),
                   row[2],
                   (h > 1),
                   h.reshape({3, -1}) * row[0],
                   np::random::normal(0, 1, {4}) + np::random::uniform(),
                   h.mean({.axis = 0, .keepdims = true})};
  };
  const Tensors y = everywhere(body, {x});
  CHECK(y[0].shape() == Shape{});
  CHECK(y[1].shape() == Shape{});
  CHECK(y[2].dtype() == DType::boolean);
  CHECK(y[3].shape() == Shape{3, 2});
  // Arrays without elements.
  const auto sums = [](F&, const Tensors& in) { return Tensors{in[0] * 2, in[0].sum({.axis = 0})}; };
  CHECK(everywhere(sums, {np::zeros({0, 3})})[1].to_vector<float>() == std::vector<float>{0, 0, 0});
  // Rows of an array of one axis have none.
  const auto running = [](F& F, const Tensors& in) {
    const auto r =
        F.contrib().foreach ([](const Tensors& rows, const Tensors& states) -> struct F::contrib::Results {
          const Tensor sum = rows[0] + states[0];
          return {{sum}, {sum}};
        },
                             {in[0]}, {np::array(0)});
    return Tensors{r.outputs[0], r.states[0]};
  };
  const Tensors sum = everywhere(running, {np::arange(5)});
  CHECK(sum[0].to_vector<float>() == std::vector<float>{0, 1, 3, 6, 10});
  CHECK(sum[1].shape() == Shape{});
}

TEST_CASE("a net that was compiled is recorded again in numpy mode", "[numpy]") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0] > 0, in[0].sum()}; });
  net.hybridize();
  const Tensor x = of({1, -1}, {2});
  for (int i = 0; i < 2; ++i) {
    CHECK(net({x})[0].dtype() == DType::f32);
    CHECK(net({x})[1].shape() == Shape{1});
    const NumpyMode mode;
    CHECK(net({x})[0].dtype() == DType::boolean);
    CHECK(net({x})[1].shape() == Shape{});
  }
  CHECK(net.runs() == 2);
}

TEST_CASE("a bound call belongs to its mode", "[numpy]") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0].sum()}; });
  net.hybridize();
  BoundCall call = net.bind({of({1, 2}, {2})});
  CHECK(call().shape() == Shape{1});
  const NumpyMode mode;
  CHECK_THAT(error_of([&] { call(); }), Catch::Contains("numpy mode"));
}

TEST_CASE("random numbers in numpy mode", "[numpy]") {
  const NumpyMode mode;
  random::seed(5);
  const Tensor u = np::random::uniform(-1, 3, {7}), n = np::random::normal(2, 0.5, {7});
  const Tensor one = np::random::uniform(), k = np::random::randint(0, 10, {50});
  CHECK(one.shape() == Shape{});
  CHECK(k.dtype() == DType::i64);
  for (const std::int64_t v : k.to_vector<std::int64_t>()) CHECK((v >= 0 && v < 10));
  random::seed(5);
  // The same sequence under the classic names.
  CHECK(same_bits(u, nd::random_uniform(-1, 3, {7})));
  CHECK(same_bits(n, nd::random_normal(2, 0.5, {7})));
}

TEST_CASE("an extent of a parameter that is not known is -1 in numpy mode", "[numpy]") {
  const nn::Dense dense(4);
  CHECK_THAT(dense.weight.str(), Catch::Contains("(4, 0)"));
  const NumpyMode mode;
  CHECK_THAT(dense.weight.str(), Catch::Contains("(4, -1)"));
}

TEST_CASE("a net of Gluon's layers in numpy mode is exported as one", "[numpy]") {
  const TemporaryFolder folder;
  const std::string prefix = (folder.path / "net").string();
  const NumpyMode mode;
  nn::HybridSequential net({.prefix = "net_"});
  net.add(nn::Dense(4, {.activation = "relu", .prefix = "net_a_"}), nn::Flatten(),
          nn::Dense(2, {.prefix = "net_b_"}));
  net.initialize();
  const Tensor x = of({1, -2, 3, -4, 5, -6}, {2, 3});
  const Tensor eager = net(x);
  net.hybridize();
  CHECK(same_bits(net(x), eager));
  net.export_model(prefix);
  const std::string text = golden::read_text(prefix + "-symbol.json");
  CHECK_THAT(text, Catch::Contains("\"is_np_shape\": [\"int\", 1]"));
  CHECK_THAT(text, Catch::Contains("batch_flatten0"));
  // The arrays have the magic V3; so have the arrays of save_parameters().
  CHECK(golden::read_text(prefix + "-0000.params").substr(24, 4) == "\xCA\xFA\x93\xF9");
  net.save_parameters(prefix + ".params");
  CHECK(golden::read_text(prefix + ".params").substr(24, 4) == "\xCA\xFA\x93\xF9");
  net.load_parameters(prefix + ".params");
  auto back = SymbolBlock::imports(prefix + "-symbol.json", {"data"}, prefix + "-0000.params");
  CHECK(same_bits(back(x), eager));
  // No sample is a batch too.
  CHECK(net(np::zeros({0, 3})).shape() == Shape{0, 2});
  CHECK(same_bits(net(x), eager));
  npx::reset_np();
  // A file keeps its mode.
  auto classic = SymbolBlock::imports(prefix + "-symbol.json", {"data"}, prefix + "-0000.params");
  CHECK(same_bits(classic(x), eager));
  net.save_parameters(prefix + "-classic.params");
  CHECK(golden::read_text(prefix + "-classic.params").substr(24, 4) == "\xC9\xFA\x93\xF9");
}

TEST_CASE("operators and indices are exported as MXNet writes them", "[numpy]") {
  const NumpyMode mode;
  const TemporaryFolder folder;
  const std::string prefix = (folder.path / "net").string();
  // The nodes of MXNet's file, with the attributes of numbers and shapes. Of slices it prints Python's texts.
  const struct {
    Net::Body body;
    std::vector<std::string> nodes;
  } rows[] = {
      {[](F&, const Tensors& in) { return Tensors{-in[0]}; },
       {"_npi_multiply_scalar is_int=False scalar=-1.0"}},
      {[](F&, const Tensors& in) { return Tensors{3 - in[0]}; },
       {"_npi_rsubtract_scalar is_int=False scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{in[0] - 3}; },
       {"_npi_subtract_scalar is_int=True scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{in[0] - 3.5}; },
       {"_npi_subtract_scalar is_int=False scalar=3.5"}},
      {[](F&, const Tensors& in) { return Tensors{3 + in[0]}; }, {"_npi_add_scalar is_int=True scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{np::add(3, in[0])}; },
       {"_npi_add_scalar is_int=False scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{3 * in[0]}; },
       {"_npi_multiply_scalar is_int=False scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{3 / in[0]}; },
       {"_npi_rtrue_divide_scalar is_int=False scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{3 % in[0]}; },
       {"_npi_rmod_scalar is_int=False scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{3 > in[0]}; }, {"_npi_less_scalar is_int=True scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{3 <= in[0]}; },
       {"_npi_greater_equal_scalar is_int=True scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{3 == in[0]}; },
       {"_npi_equal_scalar is_int=True scalar=3.0"}},
      {[](F&, const Tensors& in) { return Tensors{in[0][1] + 1}; },
       {"slice", "_npx_reshape newshape=(-3, -4)", "_npi_add_scalar is_int=True scalar=1.0"}},
      {[](F&, const Tensors& in) { return Tensors{in[0][-1] + 1}; },
       {"slice", "_npx_reshape newshape=(-3, -4)", "_npi_add_scalar is_int=True scalar=1.0"}},
      {[](F&, const Tensors& in) { return Tensors{in[0][slice(1, 3)] + 1}; },
       {"slice", "_npi_add_scalar is_int=True scalar=1.0"}},
      {[](F&, const Tensors& in) { return Tensors{in[0][slice({}, {}, -1)]}; }, {"slice"}},
      {[](F&, const Tensors& in) {
         return Tensors{in[0]({1, 0}) + 1};
       },
       {"slice", "_npx_reshape newshape=(-3, -3, -4)", "_npi_add_scalar is_int=True scalar=1.0"}},
      {[](F&, const Tensors& in) {
         return Tensors{in[0]({slice(), -1})};
       },
       {"slice", "_npx_reshape newshape=(-2, -3, -4)"}},
      {[](F&, const Tensors& in) {
         return Tensors{in[0]({slice(1, 2), 0})};
       },
       {"slice", "_npx_reshape newshape=(-2, -3, -4)"}},
      {[](F&, const Tensors& in) {
         return Tensors{in[0]({slice(), slice({}, {}, 2)})};
       },
       {"slice"}},
  };
  const Tensor x = of({1, -2, 3, -4, 5, -6, 7, 8, -9, 0.5f, -0.0f, 11}, {3, 4});
  for (const auto& row : rows) {
    INFO(row.nodes.back());
    Net net(row.body);
    const Tensor eager = net({x})[0];
    net.hybridize();
    CHECK(same_bits(net({x})[0], eager));
    net.export_model(prefix);
    std::vector<std::string> nodes;
    const auto symbol = nlohmann::json::parse(golden::read_text(prefix + "-symbol.json"));
    for (const auto& node : symbol["nodes"]) {
      if (node["op"] == "null") continue;
      nodes.push_back(node["op"]);
      for (const auto& [key, value] : node["attrs"].items())
        if (node["op"] != "slice") nodes.back() += fmt::format(" {}={}", key, value.get<std::string>());
    }
    CHECK(nodes == row.nodes);
    auto back = SymbolBlock::imports(prefix + "-symbol.json", {"data"}, prefix + "-0000.params");
    CHECK(same_bits(back(x), eager));
  }
  // Integers keep their dtype as MXNet's arrays do; hybridized, MXNet gives float64.
  const Tensor i = np::arange(-1, 3, 1, DType::i32);
  const Tensors whole = everywhere(
      [](F&, const Tensors& in) {
        return Tensors{-in[0], 3 - in[0], 3 * in[0]};
      },
      {i});
  for (const Tensor& y : whole) CHECK(y.dtype() == DType::i32);
  CHECK(whole[0].to_vector<int>() == std::vector<int>{1, 0, -1, -2});
  CHECK(whole[1].to_vector<int>() == std::vector<int>{4, 3, 2, 1});
  // Gradients of views and negations, written beside.
  const auto written = [](F&, const Tensors& in) {
    Tensor y = in[0] * 2;
    const Tensor row = y[1];
    y[0] = -row;
    y({slice(), -1}) = 3 - y({slice(), 0});
    return Tensors{y, row};
  };
  everywhere(written, {x});
}
