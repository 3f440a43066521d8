// Recurrent networks as files hold them, whose states have a batch that nothing but their use tells.
#include "golden_files.h"
#include "numpy_mode.h"
#include "same_bits.h"

#include <catch2/catch.hpp>

using namespace kiln;
using golden::error_of;
using nlohmann::json;

namespace {

/// The block gives what `expected` gives, eagerly and hybridized, at several batches in turn.
template <class Expected>
void check_batches(SymbolBlock block, const std::vector<Shape>& shapes, const Expected& expected) {
  for (const bool hybridized : {false, true}) {
    if (hybridized) block.hybridize();
    for (int round = 0; round < 2; ++round)
      for (const Shape& shape : shapes) {
        INFO(shape.str() << (hybridized ? " hybridized" : " eager"));
        const Tensor x = random::uniform(-1, 1, shape);
        CHECK(same_bits(block(x), expected(x)));
      }
  }
}

/// The outputs of a model of the same symbol and values.
auto as_model(const Symbol& symbol, const ParameterDict& params, RunMode mode) {
  std::vector<NamedArray> arrays;
  for (const Parameter& p : params) arrays.push_back({p.name(), p.data()});
  return [model = Model::from_symbol(symbol, arrays), mode](const Tensor& x) {
    return model.run({{"data", x}}, {.mode = mode})[0];
  };
}

template <class Cell>
Symbol unrolled(Cell cell) {
  return Symbol(cell.unroll(3, sym::var("data"), {.layout = "NTC", .merge_outputs = true}).outputs.tensor());
}

template <class Layer>
void check_export(Layer layer, const std::vector<Shape>& shapes) {
  layer.initialize(init::Uniform(0.5));
  layer.hybridize();
  layer(random::uniform(-1, 1, shapes[0]));
  layer.export_model("layer");
  const auto original = [&](const Tensor& x) { return layer(x); };
  check_batches(SymbolBlock::imports("layer-symbol.json", {"data"}, "layer-0000.params"), shapes, original);
  // Without the parameters their shapes follow from data: the file declares (rows, 0).
  SymbolBlock fresh = SymbolBlock::imports("layer-symbol.json", {"data"});
  fresh.initialize();
  CHECK(fresh(random::uniform(-1, 1, shapes[1])).shape() ==
        original(random::uniform(-1, 1, shapes[1])).shape());
  for (const Parameter& p : layer.collect_params())
    CHECK(fresh.collect_params()[p.name()].shape() == p.shape());
}

}  // namespace

TEST_CASE("unrolled cells begin with states of any batch", "[inference]") {
  const std::vector<Symbol> symbols = {unrolled(rnn::GRUCell(8, {.prefix = "c_"})),
                                       unrolled(rnn::LSTMCell(8, {.prefix = "c_"})),
                                       unrolled(rnn::RNNCell(8, {.prefix = "c_"}))};
  for (const Symbol& symbol : symbols) {
    CHECK_THAT(symbol.tojson(), Catch::Contains("_zeros") && Catch::Contains("(0, 8)"));
    symbol.save("unrolled-symbol.json");
    SymbolBlock block = SymbolBlock::imports("unrolled-symbol.json", {"data"});
    block.initialize(init::Uniform(0.5));
    CHECK(block(ones({2, 3, 5})).shape() == Shape{2, 3, 8});
    for (const RunMode mode : {RunMode::eager, RunMode::compiled})
      check_batches(block, {{4, 3, 5}, {1, 3, 5}}, as_model(symbol, block.collect_params(), mode));
    const InferredShapes shapes = symbol.infer_shape({{"data", {6, 3, 5}}});
    CHECK(shapes.complete);
    CHECK(shapes.outputs[0] == Shape{6, 3, 8});
  }
}

TEST_CASE("a batch goes backwards through split, dense and sum", "[inference]") {
  // Nothing except the sum ties the state's batch to the batch of data.
  const char* const text = R"json({"nodes": [
    {"op": "null", "name": "data", "inputs": []},
    {"op": "null", "name": "w", "attrs": {"__shape__": "(24, 0)"}, "inputs": []},
    {"op": "_zeros", "name": "state", "attrs": {"shape": "(0, 8)"}, "inputs": []},
    {"op": "FullyConnected", "name": "h2h", "attrs": {"num_hidden": "24", "no_bias": "True"}, "inputs": [[2, 0, 0], [1, 0, 0]]},
    {"op": "SliceChannel", "name": "parts", "attrs": {"num_outputs": "3"}, "inputs": [[3, 0, 0]]},
    {"op": "Activation", "name": "gate", "attrs": {"act_type": "sigmoid"}, "inputs": [[4, 1, 0]]},
    {"op": "elemwise_add", "name": "sum", "inputs": [[0, 0, 0], [5, 0, 0]]}],
    "arg_nodes": [0, 1], "heads": [[6, 0, 0]]})json";
  golden::write_text("gate-symbol.json", text);
  const Symbol symbol = Symbol::load("gate-symbol.json");
  CHECK(symbol.infer_shape({{"data", {5, 8}}}).arguments == std::vector<Shape>{{5, 8}, {24, 8}});
  // Unknown extents are not guessed.
  CHECK(!symbol.infer_shape({}).complete);
  CHECK(symbol.infer_shape({}).outputs[0] == Shape{0, 8});
  SymbolBlock block = SymbolBlock::imports("gate-symbol.json", {"data"});
  block.initialize(init::Uniform(0.5));
  CHECK(block(ones({2, 8})).shape() == Shape{2, 8});
  check_batches(block, {{3, 8}, {7, 8}}, as_model(symbol, block.collect_params(), RunMode::compiled));
}

TEST_CASE("exported recurrent layers are imported and called at any batch", "[inference]") {
  for (const char* layout : {"TNC", "NTC"}) {
    const bool batch_first = std::string(layout) == "NTC";
    const std::vector<Shape> shapes = batch_first ? std::vector<Shape>{{2, 4, 5}, {3, 4, 5}, {1, 4, 5}}
                                                  : std::vector<Shape>{{4, 2, 5}, {4, 3, 5}, {4, 1, 5}};
    for (const bool both : {false, true}) {
      const rnn::LayerOptions options{
          .num_layers = 2, .layout = layout, .bidirectional = both, .prefix = "l_"};
      check_export(rnn::LSTM(6, options), shapes);
      check_export(rnn::GRU(6, options), shapes);
      check_export(rnn::RNN(6, options, "tanh"), shapes);
    }
  }
  check_export(rnn::LSTM(6, {.projection_size = 3, .prefix = "l_"}), {{4, 2, 5}, {4, 3, 5}});
}

TEST_CASE("in numpy mode an open batch is -1", "[inference][numpy]") {
  const NumpyMode mode;
  check_export(rnn::LSTM(6, {.prefix = "l_"}), {{4, 2, 5}, {4, 3, 5}});
  CHECK_THAT(golden::read_text("layer-symbol.json"), Catch::Contains("\"shape\": \"(1, -1, 6)\""));
  const Symbol symbol = unrolled(rnn::GRUCell(6, {.prefix = "c_"}));
  CHECK_THAT(symbol.tojson(), Catch::Contains("\"shape\": \"(-1, 6)\""));
  CHECK(symbol.infer_shape({{"data", {2, 3, 5}}}).outputs.at(0) == Shape{2, 3, 6});
}

TEST_CASE("MXNet's fused file runs as a block, and without its parameters", "[inference]") {
  const std::string prefix = golden::path("models/lstm_fused");
  SymbolBlock block = SymbolBlock::imports(prefix + "-symbol.json", {"data"}, prefix + "-0000.params");
  Tensor x, y;
  for (const NamedArray& a : load_arrays(prefix + "-io.params")) {
    if (a.name.starts_with("in:")) x = a.array;
    if (a.name == "out:0") y = a.array;
  }
  const std::vector<float> expected = y.to_vector<float>(), found = block(x).to_vector<float>();
  REQUIRE(expected.size() == found.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-5));
  Shape one = x.shape();
  one[0] = 1;
  check_batches(block, {x.shape(), one}, as_model(block.symbol(), block.collect_params(), RunMode::compiled));

  const Model model = Model::load(prefix + "-symbol.json");
  const std::map<std::string, Tensor> made = model.make_inputs({{"data", {3, 5, 7}}});
  CHECK(made.at("fl_lstm0_l0_i2h_weight").shape() == Shape{40, 7});
  CHECK(made.at("fl_lstm0_r0_i2h_weight").shape() == Shape{40, 7});
  CHECK(made.at("fl_dense0_weight").shape() == Shape{4, 100});
  CHECK(same_bits(model.run(made, {.mode = RunMode::eager})[0], model.run(made)[0]));
}

TEST_CASE("shapes pass through the bodies of loops and branches", "[inference]") {
  // h = tanh(w x + u h), the state and, inside of the body, a bias of the batch's size begin as zeros.
  const char* const text = R"json({"nodes": [
    {"op": "null", "name": "data", "inputs": []},
    {"op": "_zeros", "name": "begin", "attrs": {"shape": "(0, 6)"}, "inputs": []},
    {"op": "null", "name": "w", "inputs": []},
    {"op": "null", "name": "u", "attrs": {"__shape__": "(6, 0)"}, "inputs": []},
    {"op": "_foreach", "name": "loop", "attrs": {"num_args": "5", "num_outputs": "2", "num_out_data": "1",
      "in_data_locs": "(0,)", "in_state_locs": "(1,)", "remain_locs": "(2, 3)"},
     "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]],
     "subgraphs": [{"nodes": [
       {"op": "null", "name": "row", "inputs": []},
       {"op": "null", "name": "state", "inputs": []},
       {"op": "null", "name": "w", "inputs": []},
       {"op": "null", "name": "u", "inputs": []},
       {"op": "FullyConnected", "name": "wx", "attrs": {"num_hidden": "6", "no_bias": "True"}, "inputs": [[0, 0, 0], [2, 0, 0]]},
       {"op": "FullyConnected", "name": "uh", "attrs": {"num_hidden": "6", "no_bias": "True"}, "inputs": [[1, 0, 0], [3, 0, 0]]},
       {"op": "elemwise_add", "name": "sum", "inputs": [[4, 0, 0], [5, 0, 0]]},
       {"op": "_ones", "name": "bias", "attrs": {"shape": "(0, 0)"}, "inputs": []},
       {"op": "elemwise_add", "name": "biased", "inputs": [[6, 0, 0], [7, 0, 0]]},
       {"op": "tanh", "name": "next", "inputs": [[8, 0, 0]]}],
       "arg_nodes": [0, 1, 2, 3], "heads": [[9, 0, 0], [9, 0, 0]]}]}],
    "arg_nodes": [0, 2, 3], "heads": [[4, 0, 0], [4, 1, 0]]})json";
  golden::write_text("loop-symbol.json", text);
  const Symbol symbol = Symbol::load("loop-symbol.json");
  const InferredShapes shapes = symbol.infer_shape({{"data", {5, 2, 3}}});
  CHECK(shapes.complete);
  CHECK(shapes.arguments == std::vector<Shape>{{5, 2, 3}, {6, 3}, {6, 6}});
  CHECK(shapes.outputs == std::vector<Shape>{{5, 2, 6}, {2, 6}});
  SymbolBlock block = SymbolBlock::imports("loop-symbol.json", {"data"});
  block.initialize(init::Uniform(0.5));
  for (const bool hybridized : {false, true}) {
    if (hybridized) block.hybridize();
    for (const std::int64_t batch : {2, 4, 2}) {
      const Tensor x = random::uniform(-1, 1, {5, batch, 3});
      std::vector<NamedArray> arrays;
      const Tensors out = block(Tensors{x});
      for (const Parameter& p : block.collect_params()) arrays.push_back({p.name(), p.data()});
      const Model model = Model::from_symbol(symbol, arrays);
      const std::vector<Tensor> expected = model.run({{"data", x}});
      CHECK(same_bits(out.at(0), expected.at(0)));
      CHECK(same_bits(out.at(1), expected.at(1)));
    }
  }
}

namespace {

/// A weight that the operator sees only after it was turned and reshaped.
class Turned : public HybridBlock {
 public:
  explicit Turned(const BlockOptions& options = {}) : HybridBlock(options) {
    weight = params().get("weight", {4, 0});
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    return F.tanh(F.dot(x, F.transpose(F.reshape(weight, {.shape = {0, -1}}))));
  }
  Parameter weight;
};

}  // namespace

TEST_CASE("shapes end where one value stands in several places of a branch", "[inference]") {
  // A branch that returns one value twice, of an input whose extent nothing tells.
  const std::string text = R"json({"nodes": [
    {"op":"null","name":"x","inputs":[]},
    {"op":"_cond","name":"c","attrs":{"cond_input_locs":"(0,)","then_input_locs":"(1,)","else_input_locs":"(2,)",
     "num_args":"6","num_outputs":"2"},"inputs":[[0,0,0],[0,0,0],[0,0,0]],"subgraphs":[
      {"nodes":[{"op":"null","name":"p","inputs":[]},{"op":"max","name":"m","inputs":[[0,0,0]]}],
       "arg_nodes":[0],"heads":[[1,0,0]]},
      {"nodes":[{"op":"null","name":"p","inputs":[]},
                {"op":"SwapAxis","name":"s","attrs":{"dim1":"1","dim2":"1"},"inputs":[[0,0,0]]}],
       "arg_nodes":[0],"heads":[[1,0,0],[1,0,0]]},
      {"nodes":[{"op":"null","name":"p","inputs":[]}],"arg_nodes":[0],"heads":[[0,0,0],[0,0,0]]}]}],
    "arg_nodes":[0],"heads":[[1,0,0],[1,1,0]]})json";
  const Symbol net = Symbol::load_json(text);
  CHECK(net.infer_shape({{"x", {2, 3}}}).outputs == std::vector<Shape>{{2, 3}, {2, 3}});
  CHECK(net.infer_shape({{"x", {0, 3}}}).outputs == std::vector<Shape>{{0, 3}, {0, 3}});
}

TEST_CASE("a deferred parameter's shape goes through the whole block", "[inference]") {
  Turned net;
  net.initialize();
  CHECK(net(ones({2, 3})).shape() == Shape{2, 4});
  CHECK(net.weight.shape() == Shape{4, 3});
}
