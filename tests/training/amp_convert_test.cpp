// Conversions to mixed precision: graphs as MXNet's, results near float32's, the same bits eagerly and
// compiled.
#include "expect.h"
#include "golden_files.h"
#include "same_bits.h"
#include "temporary_folder.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <optional>

using namespace kiln;
using Catch::Contains;
using golden::error_of;
using Json = nlohmann::json;
using Names = std::vector<std::string>;

namespace {

DType dtype_named(const std::string& name) { return name == "float16" ? DType::f16 : DType::bf16; }

/// The options of a golden case.
amp::ConvertOptions options_of(const Json& given) {
  amp::ConvertOptions out{.target_dtype = dtype_named(given.at("dtype"))};
  const Json& json = given.at("options");
  const auto names = [&](const char* key) {
    return json.contains(key) ? std::optional(json.at(key).get<Names>()) : std::nullopt;
  };
  out.target_dtype_ops = names("target_dtype_ops");
  out.fp32_ops = names("fp32_ops");
  out.data_names = names("data_names");
  out.excluded_sym_names = names("excluded_sym_names").value_or(Names());
  out.cast_optional_params = json.value("cast_optional_params", false);
  if (json.contains("conditional_fp32_ops")) {
    out.conditional_fp32_ops.emplace();
    for (const Json& op : json.at("conditional_fp32_ops"))
      out.conditional_fp32_ops->push_back({op[0], op[1], op[2].get<Names>()});
  }
  return out;
}

/// A network with a convolution, statistics, a sum, and a dense layer.
struct Residual : HybridBlock {
  Child<nn::Conv2D> convolution{this, "convolution"};
  Child<nn::BatchNorm> norm{this, "norm"};
  Child<nn::Dense> out{this, "out"};
  Residual() {
    convolution = nn::Conv2D(8, {.kernel_size = 3, .padding = 1});
    norm = nn::BatchNorm();
    out = nn::Dense(5);
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = convolution(x);
    return F.softmax(out(F.relu(norm(y)) + y));
  }
};

Residual recorded(const Tensor& x) {
  random::seed(4);
  Residual net;
  net.initialize(init::Xavier());
  net.hybridize();
  (void)net(x);
  return net;
}

std::map<std::string, Tensor> inputs_of(const std::string& name) {
  std::map<std::string, Tensor> inputs;
  for (const NamedArray& a : load_arrays(golden::path("models/" + name + "-io.params")))
    if (a.name.starts_with("in:")) inputs.emplace(a.name.substr(3), a.array);
  return inputs;
}

/// The greatest difference of two arrays, by the greatest magnitude of `expected`.
double relative_error(const Tensor& got, const Tensor& expected) {
  return (got.astype(DType::f32) - expected).abs().max().item<double>() / expected.abs().max().item<double>();
}

}  // namespace

TEST_CASE("amp::convert_symbol(): the graphs are MXNet's, node for node", "[amp_convert]") {
  const Json cases = golden::manifest("amp", "cases");
  CHECK(cases.size() == 28);
  for (const Json& c : cases) {
    const std::string name = c.at("name");
    INFO(name);
    const Symbol symbol = Symbol::load(golden::path("amp/" + c.at("symbol").get<std::string>()));
    const std::string before = symbol.tojson(false);
    const std::string expected = golden::read_text(golden::path("amp/" + name + "-symbol.json"));
    const Symbol converted = amp::convert_symbol(symbol, options_of(c));
    CHECK(converted.tojson(false) == expected);
    CHECK(Symbol::load_json(expected).tojson(false) == expected);
    CHECK(symbol.tojson(false) == before);
  }
}

TEST_CASE("amp::convert_model(): results are near float32's, with the same bits in both modes",
          "[amp_convert]") {
  const Names models{"mlp", "lenet", "tiny_resnet", "encoder", "lstm_unrolled", "lstm_fused"};
  for (const std::string& name : models)
    for (const DType dtype : {DType::f16, DType::bf16})
      for (const bool cast_optional : {false, true}) {
        INFO(name << " " << name_of(dtype) << " " << cast_optional);
        const std::string path = golden::path("models/" + name);
        const Model model = Model::load(path + "-symbol.json", path + "-0000.params");
        const auto inputs = inputs_of(name);
        const Tensors exact = model.run(inputs);
        const Model converted =
            amp::convert_model(model, {.target_dtype = dtype, .cast_optional_params = cast_optional});
        CHECK(converted.input_names() == model.input_names());
        std::size_t narrow = 0;
        for (const NamedArray& p : converted.params()) narrow += p.array.dtype() == dtype;
        CHECK((narrow > 0) == cast_optional);
        const Tensors eager = converted.run(inputs, {.mode = RunMode::eager});
        for (const int threads : {1, 2}) {
          const Tensors compiled = converted.run(inputs, {.threads = threads});
          REQUIRE(compiled.size() == eager.size());
          for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(compiled[i], eager[i]));
        }
        for (std::size_t i = 0; i < eager.size(); ++i) {
          CHECK(eager[i].dtype() == exact[i].dtype());
          CHECK(relative_error(eager[i], exact[i]) < (dtype == DType::f16 ? 0.01 : 0.05));
        }
        CHECK_FALSE(same_bits(eager[0], exact[0]));
      }
}

TEST_CASE("amp::convert_hybrid_block(): a block of its own, in files too", "[amp_convert]") {
  const Tensor x = random::normal(0, 1, {2, 3, 6, 6});
  const Residual net = recorded(x);
  const Tensor exact = Residual(net)(x);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    INFO(name_of(dtype));
    SymbolBlock block = amp::convert_hybrid_block(net, {.target_dtype = dtype, .cast_optional_params = true});
    const ParameterDict own = block.collect_params(), given = net.collect_params();
    CHECK(own.size() == given.size());
    for (const Parameter& p : own) {
      const bool is_norm = p.name().find("norm") != std::string::npos;
      CHECK(p.dtype() == (is_norm ? DType::f32 : dtype));
      CHECK(same_bits(p.data(), given[p.name()].data().astype(p.dtype())));
    }
    const Tensor eager = block(x);
    CHECK(eager.dtype() == DType::f32);
    CHECK(relative_error(eager, exact) < 0.02);
    CHECK_FALSE(same_bits(eager, exact));
    block.hybridize();
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      CHECK(same_bits(block(x), eager));
    }
    // A converted block converts again: its casts are operators as any.
    CHECK(amp::convert_hybrid_block(block, {.target_dtype = dtype})(x).dtype() == DType::f32);

    const TemporaryFolder folder;
    const std::string prefix = (folder.path / "net").string();
    block.export_model(prefix, 0, /*remove_amp_cast=*/false);
    CHECK(golden::read_text(prefix + "-symbol.json").find("amp_cast") != std::string::npos);
    SymbolBlock again = SymbolBlock::imports(prefix + "-symbol.json", {"data"}, prefix + "-0000.params");
    CHECK(same_bits(again(x), eager));
    block.export_model(prefix);
    CHECK(golden::read_text(prefix + "-symbol.json").find("amp_cast") == std::string::npos);
  }
  CHECK(same_bits(Residual(net)(x), exact));
}

TEST_CASE("amp::convert_*: gradients pass to float32 parameters", "[amp_convert]") {
  const Tensor x = random::normal(0, 1, {2, 3, 6, 6});
  SymbolBlock block = amp::convert_hybrid_block(recorded(x));
  {
    const autograd::Record record;
    block(x).sum().backward();
  }
  for (const Parameter& p : block.collect_params())
    if (p.grad_req() != GradReq::null) CHECK(p.grad().dtype() == DType::f32);
}

TEST_CASE("amp::convert_*: loops and branches stay float32", "[amp_convert]") {
  const std::string path = golden::path("models/controlflow");
  const Model model = Model::load(path + "-symbol.json", path + "-0000.params");
  const auto inputs = inputs_of("controlflow");
  const Tensors exact = model.run(inputs), converted = amp::convert_model(model).run(inputs);
  REQUIRE(converted.size() == exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    CHECK(converted[i].dtype() == DType::f32);
    CHECK(relative_error(converted[i], exact[i]) < 0.01);
  }
}

TEST_CASE("amp::convert_*: inputs that need one dtype are float32 if they differ", "[amp_convert]") {
  const Symbol data = sym::var("data");
  const Symbol dense = F::FullyConnected(data, sym::var("w"), sym::var("b"), {.num_hidden = 4});
  // MXNet refuses this sum of dtypes in bfloat16, where Concat is in no list of casts.
  const Model model = Model::from_symbol(F::Concat({dense, F::exp(dense), data}, {.dim = 0}),
                                         {{"w", ones({4, 4})}, {"b", ones({4})}});
  const std::map<std::string, Tensor> inputs{{"data", ones({6, 4})}};
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor y = amp::convert_model(model, {.target_dtype = dtype}).run(inputs)[0];
    CHECK(y.dtype() == DType::f32);
    CHECK(relative_error(y, model.run(inputs)[0]) < 0.01);
  }
}

TEST_CASE("amp::convert_*: mistakes", "[amp_convert]") {
  const Symbol data = sym::var("data");
  const Symbol dense =
      F::FullyConnected(data, sym::var("w"), sym::var("b"), {.num_hidden = 4, .name = "dense"});
  const auto error = [&](const amp::ConvertOptions& options) {
    return error_of([&] { (void)amp::convert_symbol(dense, options); });
  };
  CHECK_THAT(error({.target_dtype = DType::f64}),
             Contains("amp_convert_test.cpp:") && Contains("float16 and bfloat16, not float64"));
  CHECK_THAT(error({.fp32_ops = {{"sotfmax"}}}), Contains("amp::convert_symbol()") && Contains("'sotfmax'"));
  CHECK_THAT(error({.fp32_ops = {{"FullyConnected"}}}),
             Contains("'FullyConnected' is in target_dtype_ops and in fp32_ops"));
  CHECK_THAT(error({.target_dtype_ops = {{"dot"}}}),
             Contains("'dot'") && Contains("follows from its inputs"));
  CHECK_THAT(error({.excluded_sym_names = {"dens"}}), Contains("'dens'") && Contains("Is 'dense' meant?"));
  CHECK_THAT(error({.data_names = {{"x"}}}), Contains("'x'") && Contains("'data', 'w', 'b'"));
  CHECK_THAT(
      error_of([&] { (void)amp::convert_model(Model::from_symbol(dense), {.data_names = {{"data"}}}); }),
      Contains("amp::convert_model(): data_names"));
  nn::Dense net(2, {.in_units = 3});
  net.initialize();
  const auto convert = [&] { (void)amp::convert_hybrid_block(net); };
  CHECK_THAT(error_of(convert), Contains("amp_convert_test.cpp:") && Contains("call hybridize() and then"));
  net.hybridize();
  CHECK_THAT(error_of(convert), Contains("call hybridize() and then"));
  (void)net(ones({1, 3}));
  convert();
  CHECK_THAT(error_of([&] { (void)amp::convert_hybrid_block(SymbolBlock(dense, {data})); }),
             Contains("'w' has no values"));
}
