// Symbols: composing, asking, printing.
#include "golden_files.h"

#include <catch2/catch.hpp>

using namespace kiln;
using golden::error_of;
using Names = std::vector<std::string>;

TEST_CASE("a variable prints and lists itself", "[symbol]") {
  const Symbol x = sym::var("data");
  CHECK(x.str() == "<Symbol data>");
  CHECK(x.name() == "data");
  CHECK(x.list_arguments() == Names{"data"});
  CHECK(x.list_outputs() == Names{"data"});
  CHECK(x.list_auxiliary_states().empty());
  CHECK(x.size() == 1);
  CHECK(x[0].name() == "data");
  CHECK(x[-1].name() == "data");
  CHECK_THAT(error_of([&] { x[1]; }), Catch::Contains("no number 1"));
  CHECK_THAT(error_of([] { Symbol().name(); }), Catch::Contains("empty"));
}

TEST_CASE("a variable declares what a file shows", "[symbol]") {
  const Symbol w = sym::var("w", {.shape = Shape{256, 0},
                                  .dtype = DType::f32,
                                  .lr_mult = 1.0,
                                  .wd_mult = 0.5,
                                  .init = "zeros",
                                  .attr = {{"__storage_type__", "0"}}});
  CHECK(w.attr("__shape__") == "(256, 0)");
  CHECK(w.attr("__dtype__") == "0");
  CHECK(w.attr("__lr_mult__") == "1.0");
  CHECK(w.attr("__wd_mult__") == "0.5");
  CHECK(w.attr("__init__") == "zeros");
  CHECK(w.attr("__storage_type__") == "0");
  CHECK(!w.attr("other"));
  CHECK_THAT(error_of([] { sym::var("w", {.attr = {{"shape", "1"}}}); }), Catch::Contains("underscores"));
}

TEST_CASE("logical operators of symbols are those of tensors", "[symbol]") {
  const Symbol a = sym::var("a"), b = sym::var("b");
  const Symbol all =
      sym::group({a && b, a || b, !a, a && true, 2 && a, false || b, b || 0.0, (a && b) || !(a || b)});
  CHECK((a && b).list_arguments() == Names{"a", "b"});
  CHECK_THAT((a && b).tojson(), Catch::Contains("\"_logical_and\""));
  CHECK_THAT((!a).tojson(), Catch::Contains("\"logical_not\""));
  CHECK_THAT((a || 1).tojson(), Catch::Contains("\"_logical_or_scalar\""));

  SymbolBlock net(all, {a, b});
  net.hybridize();
  const Tensor x{0, 1, -2, 0}, y{0, 0, 3, 1};
  const Tensors got = net({x, y}),
                wanted{x && y, x || y, !x, x && true, 2 && x, false || y, y || 0.0, (x && y) || !(x || y)};
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i].to_vector<float>() == wanted[i].to_vector<float>());
  }
}

TEST_CASE("operators on symbols do not broadcast", "[symbol]") {
  const Symbol a = sym::var("a"), b = sym::var("b");
  const auto op_of = [](const Symbol& s) {
    const auto nodes = nlohmann::json::parse(s.tojson())["nodes"];
    return nodes.back()["op"].get<std::string>();
  };
  CHECK(op_of(a + b) == "elemwise_add");
  CHECK(op_of(a - b) == "elemwise_sub");
  CHECK(op_of(a * b) == "elemwise_mul");
  CHECK(op_of(a / b) == "elemwise_div");
  CHECK(op_of(a == b) == "_equal");
  CHECK(op_of(a + 1) == "_plus_scalar");
  CHECK(op_of(1 - a) == "_rminus_scalar");
  CHECK(op_of(2.0 / a) == "_rdiv_scalar");
  CHECK(op_of(1 > a) == "_lesser_scalar");
  CHECK(op_of(-a) == "_mul_scalar");
  CHECK((a + 1).attr("scalar") == "1");
  CHECK((a + 1.0).attr("scalar") == "1.0");
  CHECK((a + b).list_arguments() == Names{"a", "b"});
  const Symbol y = (a + b) * a;
  CHECK(y.list_arguments() == Names{"a", "b"});
}

TEST_CASE("F composes on symbols", "[symbol]") {
  const Symbol x = sym::var("data"), w = sym::var("w"), b = sym::var("b");
  const Symbol y = F::FullyConnected(x, w, b, {.num_hidden = 4, .name = "fc"});
  CHECK(y.str() == "<Symbol fc>");
  CHECK(y.list_outputs() == Names{"fc_output"});
  CHECK(y.list_arguments() == Names{"data", "w", "b"});
  CHECK(y.attr("num_hidden") == "4");
  std::ostringstream os;
  os << y;
  CHECK(os.str() == "<Symbol fc>");
  CHECK_THAT(error_of([&] { Tensor(y).to_vector<float>(); }), Catch::Contains("fc"));
  CHECK_THAT(error_of([&] { Symbol(ones({1})).name(); }), Catch::Contains("no symbol"));
}

TEST_CASE("an in-place operator on a symbol's tensor leaves the symbol", "[symbol]") {
  const Symbol x = sym::var("x");
  const Symbol y = F::relu(x);
  Tensor t = y;
  error_of([&] { t += 1; });
  CHECK(y.list_outputs()[0] == Symbol(Tensor(y)).list_outputs()[0]);
  CHECK(y.get_internals().size() == 2);
}

TEST_CASE("shapes follow from those that are known", "[symbol]") {
  const Symbol x = sym::var("data"), w = sym::var("w"), b = sym::var("b");
  const Symbol y = F::relu(F::FullyConnected(x, w, b, {.num_hidden = 4}));
  const InferredShapes all = y.infer_shape({{"data", {2, 3}}});
  CHECK(all.complete);
  REQUIRE(all.arguments.size() == 3);
  CHECK(all.arguments[1] == Shape{4, 3});
  CHECK(all.arguments[2] == Shape{4});
  CHECK(all.outputs == std::vector<Shape>{{2, 4}});
  CHECK(all.auxiliary_states.empty());
  CHECK(!y.infer_shape({}).complete);
  CHECK_THAT(error_of([&] { y.infer_shape({{"data", {2, 3}}, {"w", {5, 3}}}); }), Catch::Contains("(5, 3)"));
  CHECK_THAT(error_of([&] { y.infer_shape({{"nothing", {2, 3}}}); }), Catch::Contains("'nothing'"));
  // Inferred shapes stay out of the symbol.
  CHECK(y.infer_shape({{"data", {7, 5}}}).arguments[1] == Shape{4, 5});
}

TEST_CASE("a variable has the dtype that a user wants, whoever tells its shape", "[symbol]") {
  const Symbol symbol = Symbol::load_json(R"({"nodes": [
    {"op": "null", "name": "x", "inputs": []},
    {"op": "_arange", "name": "halves", "attrs": {"dtype": "bfloat16", "start": "0", "stop": "17"}, "inputs": []},
    {"op": "broadcast_sub", "name": "difference", "inputs": [[1, 0, 0], [0, 0, 0]]},
    {"op": "Cast", "name": "wide", "attrs": {"dtype": "float32"}, "inputs": [[0, 0, 0]]},
    {"op": "_arange", "name": "numbers", "attrs": {"start": "0", "stop": "17"}, "inputs": []},
    {"op": "elemwise_add", "name": "sum", "inputs": [[3, 0, 0], [4, 0, 0]]}
  ], "arg_nodes": [0], "heads": [[2, 0, 0], [5, 0, 0]]})");
  for (const std::int64_t known : {17, 0})
    CHECK(symbol.infer_shape({{"x", {known}}}).arguments == std::vector<Shape>{{17}});
}

TEST_CASE("auxiliary states are told from arguments", "[symbol]") {
  const Symbol net = Symbol::load(golden::path("models/tiny_resnet-symbol.json"));
  for (const std::string& name : net.list_auxiliary_states()) CHECK_THAT(name, Catch::Contains("running"));
  for (const std::string& name : net.list_arguments()) CHECK_THAT(name, !Catch::Contains("running"));
  CHECK(net.list_arguments().size() + net.list_auxiliary_states().size() == net.list_inputs().size());
  CHECK(net.list_arguments()[0] == "data");
}

TEST_CASE("internals and groups", "[symbol]") {
  const Symbol net = Symbol::load(golden::path("models/lenet-symbol.json"));
  const Symbol internals = net.get_internals();
  const Names names = internals.list_outputs();
  CHECK(names[0] == "data");
  CHECK(names.back() == net.list_outputs()[0]);
  const Symbol conv = internals["net0_conv0_fwd_output"];
  CHECK(conv.str() == "<Symbol net0_conv0_fwd>");
  CHECK(conv.list_arguments() == Names{"data", "net0_conv0_weight", "net0_conv0_bias"});
  CHECK_THAT(error_of([&] { net["nothing"]; }), Catch::Contains("'nothing'") && Catch::Contains("_output"));
  const Symbol both = sym::group({conv, net});
  CHECK(both.size() == 2);
  CHECK(both.name().empty());
  CHECK(both.str() == "<Symbol group [net0_conv0_fwd, " + net.name() + "]>");
  CHECK(both.list_outputs() == Names{"net0_conv0_fwd_output", net.list_outputs()[0]});
  CHECK(Symbol::load_json(both.tojson()).tojson() == both.tojson());
  CHECK_THAT(error_of([&] { F::relu(both); }), Catch::Contains("2 outputs"));
  CHECK_THAT(net.dot(), Catch::StartsWith("digraph") && Catch::Contains("net0_conv0_fwd"));
}

TEST_CASE("a symbol is saved and loaded", "[symbol]") {
  const Symbol y = F::relu(sym::var("x") + 1);
  y.save("y-symbol.json");
  CHECK(sym::load("y-symbol.json").tojson() == y.tojson());
  CHECK(golden::read_text("y-symbol.json") == y.tojson());
  CHECK(sym::load_json(y.tojson()).list_arguments() == Names{"x"});
}

TEST_CASE("an imported symbol is a block", "[symbol]") {
  const std::string prefix = golden::path("malformed/good");
  SymbolBlock net = SymbolBlock::imports(prefix + "-symbol.json", {"data"}, prefix + "-0000.params");
  CHECK(net.str() == "SymbolBlock(\n<Symbol net_dense1_fwd> : 1 -> 1\n)");
  CHECK(net.collect_params().size() == 8);
  const Tensor x = arange(6).reshape({2, 3});
  const std::vector<float> eager = net(x).to_vector<float>();
  net.hybridize();
  CHECK(net(x).to_vector<float>() == eager);
  net.export_model("again");
  CHECK(golden::read_text("again-symbol.json") == golden::read_text(prefix + "-symbol.json"));
  CHECK(golden::read_text("again-0000.params").size() == golden::read_text(prefix + "-0000.params").size());
  // Its nodes keep their names inside another network.
  nn::HybridSequential outer({.prefix = "outer_"});
  outer.add(net);
  CHECK(outer(sym::var("data")).name() == "net_dense1_fwd");
}

TEST_CASE("an import says what does not fit", "[symbol]") {
  using Catch::Contains;
  const std::string prefix = golden::path("malformed/good");
  const std::string json = prefix + "-symbol.json";
  std::vector<NamedArray> arrays = load_arrays(prefix + "-0000.params");
  CHECK_THAT(error_of([&] { SymbolBlock::imports(json, {"wrong"}, prefix + "-0000.params"); }),
             Contains("good-symbol.json") && Contains("'wrong'") && Contains("data"));
  CHECK_THAT(error_of([&] { SymbolBlock::imports("nofile-symbol.json", {"data"}); }),
             Contains("nofile-symbol.json"));
  CHECK_THAT(error_of([&] { SymbolBlock::imports(json, {"data"}, "nofile.params"); }),
             Contains("nofile.params"));
  SymbolBlock empty = SymbolBlock::imports(json, {"data"});
  CHECK_THAT(error_of([&] {
               empty(ones({2, 3}));
             }),
             Contains("net_dense0_weight") && Contains("has not been initialized"));
  empty.initialize();
  CHECK(empty(ones({2, 3})).shape() == Shape{2, 2});

  arrays.push_back({"arg:more", ones({1})});
  save_arrays("extra.params", arrays);
  CHECK_THAT(error_of([&] { SymbolBlock::imports(json, {"data"}, "extra.params"); }),
             Contains("extra.params") && Contains("'more'") && Contains("there is no parameter"));
  arrays.resize(3);
  save_arrays("cut.params", arrays);
  CHECK_THAT(error_of([&] { SymbolBlock::imports(json, {"data"}, "cut.params"); }),
             Contains("cut.params") && Contains("there are no values"));
}
