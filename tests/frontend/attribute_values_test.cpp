// Attributes that change a result, or that Kiln cannot honour and refuses.
#include "function_net.h"
#include "golden_files.h"

using namespace kiln;
using golden::error_of;

namespace {

/// A symbol file of one operator on the variables x0, x1, ...
Symbol one_node(const std::string& op, const nlohmann::json& attrs, std::size_t inputs) {
  nlohmann::json nodes = nlohmann::json::array(), arguments = nlohmann::json::array(),
                 entries = nlohmann::json::array();
  for (std::size_t i = 0; i < inputs; ++i) {
    nodes.push_back({{"op", "null"}, {"name", "x" + std::to_string(i)}, {"inputs", nlohmann::json::array()}});
    arguments.push_back(i);
    entries.push_back({i, 0, 0});
  }
  nodes.push_back({{"op", op}, {"name", "node"}, {"attrs", attrs}, {"inputs", entries}});
  const nlohmann::json head = nlohmann::json::array({inputs, 0, 0});
  return Symbol::load_json(
      nlohmann::json{{"nodes", nodes}, {"arg_nodes", arguments}, {"heads", nlohmann::json::array({head})}}
          .dump());
}

std::string error_of_file(const Symbol& symbol, const std::map<std::string, Tensor>& in, bool train = false) {
  return error_of([&] { Model::from_symbol(symbol).run(in, {.train = train}); });
}

}  // namespace

TEST_CASE("linalg_gemm2 and linalg_gemm take the axis of rows", "[attributes]") {
  // As MXNet's documentation has it: rows along an axis are swapped there and back.
  const Tensor a = numbered({3, 2, 5, 4}, DType::f32), b = numbered({4, 2, 5, 6}, DType::f32),
               c = numbered({3, 2, 5, 6}, DType::f32);
  for (const int axis : {0, -4}) {
    const auto gemm2 = [&](F& F, const Tensors& in) {
      return Tensors{F.linalg().gemm2(in[0], in[1], {.alpha = 0.5, .axis = axis})};
    };
    const auto gemm = [&](F& F, const Tensors& in) {
      return Tensors{F.linalg().gemm(in[0], in[1], in[2], {.beta = 2, .axis = axis})};
    };
    const auto swapped = [](const Tensor& x) { return x.swapaxes(0, 2); };
    const Tensor product = F::linalg::gemm2(swapped(a), swapped(b), {.alpha = 0.5});
    CHECK(same_bits(everywhere(gemm2, {a, b})[0], swapped(product)));
    const Tensor sum = F::linalg::gemm(swapped(a), swapped(b), swapped(c), {.beta = 2});
    CHECK(same_bits(everywhere(gemm, {a, b, c})[0], swapped(sum)));
  }
  const Tensor t = numbered({4, 2, 3}, DType::f32);
  CHECK(F::linalg::gemm2(t, t, {.transpose_a = true, .axis = 0}).shape() == Shape{3, 2, 3});
  CHECK_THAT(error_of([&] { F::linalg::gemm2(a, b, {.axis = -1}); }), Catch::Contains("rows along axis -1"));
  CHECK_THAT(error_of([&] { F::linalg::gemm2(a, b, {.axis = 4}); }), Catch::Contains("axis 4"));
}

TEST_CASE("a range whose length its uses would tell is refused", "[attributes]") {
  for (const char* op : {"_arange", "_npi_arange"}) {
    const std::string message = error_of_file(one_node(op, {{"start", "3"}, {"infer_range", "True"}}, 0), {});
    CHECK_THAT(message, Catch::Contains("infer_range"));
    CHECK_THAT(message, Catch::Contains("arange_like"));
    // With a stop there is nothing to infer.
    const Symbol stopped = one_node(op, {{"start", "3"}, {"stop", "6"}, {"infer_range", "True"}}, 0);
    CHECK(Model::from_symbol(stopped).run({})[0].to_vector<float>() == std::vector<float>{3, 4, 5});
  }
}

TEST_CASE("SyncBatchNorm of several devices trains on none", "[attributes]") {
  const Symbol symbol =
      one_node("_contrib_SyncBatchNorm", {{"ndev", "4"}, {"key", "bn"}, {"fix_gamma", "False"}}, 5);
  const Tensor x = numbered({2, 3, 4}, DType::f32), ones = nd::ones({3});
  const std::map<std::string, Tensor> in{
      {"x0", x}, {"x1", ones}, {"x2", nd::zeros({3})}, {"x3", nd::zeros({3})}, {"x4", ones}};
  CHECK_THAT(error_of_file(symbol, in, /*train=*/true), Catch::Contains("ndev"));
  // The result of each device by itself.
  const Tensor y = Model::from_symbol(symbol).run(in)[0];
  CHECK(same_bits(y, F::BatchNorm(x, ones, nd::zeros({3}), nd::zeros({3}), ones, {.fix_gamma = false})));
}

TEST_CASE("Embedding's dtype is that of a weight which declares none", "[attributes]") {
  const Symbol symbol =
      one_node("Embedding", {{"input_dim", "5"}, {"output_dim", "2"}, {"dtype", "float64"}}, 2);
  const auto made = Model::from_symbol(symbol).make_inputs({{"x0", {3}}});
  CHECK(made.at("x1").dtype() == DType::f64);
  CHECK(made.at("x1").shape() == Shape{5, 2});
  // One with another dtype stays what it is.
  const Tensor table = numbered({5, 2}, DType::f32);
  CHECK(Model::from_symbol(symbol).run({{"x0", nd::zeros({3})}, {"x1", table}})[0].dtype() == DType::f32);
}

TEST_CASE("values that name what Kiln does not have are refused", "[attributes]") {
  CHECK_THAT(error_of([] {
               one_node("dot", {{"forward_stype", "sparse"}}, 2);
             }),
             Catch::Contains("forward_stype"));
  CHECK_THAT(
      error_of_file(
          one_node("UpSampling",
                   {{"scale", "2"}, {"sample_type", "bilinear"}, {"num_args", "2"}, {"num_filter", "3"}}, 2),
          {{"x0", nd::ones({1, 2, 3, 3})}, {"x1", nd::ones({2, 1, 4, 4})}}),
      Catch::Contains("num_filter=3"));
}
