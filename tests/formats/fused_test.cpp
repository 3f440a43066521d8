// Networks that MXNet fused and quantised: their names and states, runs as blocks, exports, and mistakes of a
// call.
#include "golden_files.h"
#include "same_bits.h"

#include <catch2/catch.hpp>

using namespace kiln;
using Catch::Contains;
using golden::error_of;

namespace {

std::string op_case(const std::string& name) { return golden::path("ops/i_sg_mkldnn_" + name); }
std::string model_file(const std::string& name) { return golden::path("models/" + name); }

std::map<std::string, Tensor> inputs_of(const std::string& io) {
  std::map<std::string, Tensor> inputs;
  for (const NamedArray& a : load_arrays(io))
    if (a.name.starts_with("in:")) inputs[a.name.substr(3)] = a.array;
  return inputs;
}

/// The operator of a golden case, called with some inputs replaced.
std::vector<Tensor> run_case(const std::string& name, const std::map<std::string, Tensor>& replaced = {}) {
  std::map<std::string, Tensor> inputs = inputs_of(op_case(name) + "-io.params");
  for (const auto& [input, value] : replaced) inputs.at(input) = value;
  return Model::load(op_case(name) + "-symbol.json").run(inputs);
}

SymbolBlock block_of(const std::string& name) {
  return SymbolBlock::imports(model_file(name) + "-symbol.json", {"data"}, model_file(name) + "-0000.params");
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the states and results of a fused node have MXNet's names", "[fused]") {
  const Symbol plain = Symbol::load(op_case("conv__f_bn_sum_relu") + "-symbol.json");
  CHECK(plain.list_arguments() == Names{"data", "weight", "gamma", "beta", "summand"});
  CHECK(plain.list_auxiliary_states() == Names{"moving_mean", "moving_var"});
  CHECK(plain.list_outputs() == Names{"sg_mkldnn_conv_bn_add_act_0_output"});
  const Symbol conv = Symbol::load(op_case("conv__i8_bn_relu") + "-symbol.json");
  CHECK(conv.list_auxiliary_states() == Names{"mean", "var"});
  CHECK(conv.list_outputs() == Names{"sg_output", "sg_output_min", "sg_output_max"});
  const Symbol dense = Symbol::load(op_case("fully_connected__i8_relu") + "-symbol.json");
  CHECK(dense.list_outputs() == Names{"sg_output", "sg_min_output", "sg_max_output"});
}

TEST_CASE("shapes pass through the subgraph of a fused node", "[fused]") {
  for (const char* name : {"conv__f_bn_sum_relu", "conv__i8_bn_sum_i8_relu"}) {
    const auto shapes =
        Symbol::load(op_case(name) + "-symbol.json").infer_shape({{"data", Shape{2, 3, 6, 6}}});
    CHECK(shapes.arguments[1] == Shape{4, 3, 3, 3});
    CHECK(shapes.outputs[0] == Shape{2, 4, 6, 6});
    CHECK(shapes.auxiliary_states[1] == Shape{4});
  }
  const auto shapes =
      Symbol::load(op_case("fully_connected__i8_relu") + "-symbol.json").infer_shape({{"data", Shape{3, 7}}});
  CHECK(shapes.arguments == std::vector<Shape>{{3, 7}, {5, 7}, {5}, {1}, {1}, {1}, {1}, {1}, {1}});
}

TEST_CASE("fused and quantised networks run as blocks and are exported again", "[fused]") {
  for (const char* name : {"fused_lenet", "quant_lenet_naive", "quant_resnet_naive"}) {
    INFO(name);
    const Tensor x = inputs_of(model_file(name) + "-io.params").at("data");
    const Tensor expected = Model::load(model_file(name) + "-symbol.json", model_file(name) + "-0000.params")
                                .run({{"data", x}})[0];
    SymbolBlock block = block_of(name);
    CHECK(same_bits(block(x), expected));
    block.hybridize();
    CHECK(same_bits(block(x), expected));
    CHECK(same_bits(block(x), expected));
    CHECK(block(x.slice_axis(0, 0, 1)).shape()[0] == 1);
    block.export_model("exported");
    SymbolBlock again = SymbolBlock::imports("exported-symbol.json", {"data"}, "exported-0000.params");
    CHECK(same_bits(again(x), expected));
    CHECK(again.symbol().list_auxiliary_states() == block.symbol().list_auxiliary_states());
  }
}

TEST_CASE("a fused node keeps its statistics in training and passes no gradient", "[fused]") {
  const std::map<std::string, Tensor> inputs = inputs_of(op_case("conv__f_bn_relu") + "-io.params");
  const Model model =
      Model::load(op_case("conv__f_bn_relu") + "-symbol.json", op_case("conv__f_bn_relu") + "-0000.params");
  PreparedModel train = model.prepare(inputs, {.train = true});
  CHECK(same_bits(train.run()[0], model.run(inputs)[0]));
  SymbolBlock block = block_of("fused_lenet");
  Tensor x = inputs_of(model_file("fused_lenet") + "-io.params").at("data");
  x.attach_grad();
  {
    autograd::Record record;
    (block(x).sum() + x.sum()).backward();
  }
  for (const float g : x.grad().to_vector<float>()) REQUIRE(g == 1);
}

TEST_CASE("float weights are quantised when parameters change, not by each call", "[fused]") {
  const std::string name = model_file("quant_lenet_pos");
  const Model model = Model::load(name + "-symbol.json", name + "-0000.params");
  const std::string plan = model.dump(inputs_of(name + "-io.params")).at("plan");
  const std::size_t steps = plan.find("  steps\n");
  REQUIRE(steps != std::string::npos);
  // Input 0 is the data, all others are parameters.
  CHECK_THAT(plan.substr(0, steps), Contains("prepacked") && Contains("(input 1,"));
  for (const std::size_t number : {1, 2, 3, 4, 5, 9})
    CHECK_THAT(plan.substr(steps), !Contains("input " + std::to_string(number) + ","));

  SymbolBlock block = block_of("quant_lenet_pos");
  block.hybridize();
  const Tensor x = inputs_of(name + "-io.params").at("data");
  const Tensor before = block(x);
  Parameter weight = block.collect_params()["quos_conv0_weight"];
  weight.set_data(weight.data() * -1);
  CHECK_FALSE(same_bits(block(x), before));
  weight.set_data(weight.data() * -1);
  CHECK(same_bits(block(x), before));
}

TEST_CASE("a call that does not fit a quantised node names it", "[fused]") {
  const auto error = [](const std::string& name, const std::map<std::string, Tensor>& replaced) {
    const std::string message = error_of([&] { run_case(name, replaced); });
    CHECK_THAT(message, Contains("'sg'") && !Contains("internal error"));
    return message;
  };
  const std::string conv = "conv__i8_bias", dense = "fully_connected__i8_bias";
  CHECK_THAT(error(conv, {{"data", ones({2, 3, 6, 6})}}), Contains("data must be int8 or uint8"));
  CHECK_THAT(error(conv, {{"weight", ones({4, 3, 3, 3}, DType::i8)}}), Contains("weight must be float32"));
  CHECK_THAT(error(conv, {{"weight", ones({5, 3, 3, 3})}}), Contains("(5, 3, 3, 3)"));
  CHECK_THAT(error(conv, {{"bias", ones({5})}}), Contains("(5,)"));
  CHECK_THAT(error(conv, {{"data_min", ones({2})}}), Contains("(2,)"));
  CHECK_THAT(error("conv__i8_sum_i8", {{"sum", ones({2, 4, 6, 6})}}), Contains("must be int8 or uint8"));
  CHECK_THAT(error(dense, {{"weight", ones({5, 7})}}), Contains("weight must be int8"));
  CHECK_THAT(error(dense, {{"weight", ones({5, 8}, DType::i8)}}), Contains("8"));
  CHECK_THAT(error("fully_connected__i8_chan", {{"weight", ones({5, 7}, DType::i8)}}),
             Contains("weight must be float32"));
}
