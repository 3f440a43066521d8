// A back end that Kiln's sources do not know: one row registers it, and whole networks compile for it, to the
// bits of the CPU's back end.
#include "codegen/driver/compile.h"
#include "frontend/model/planned_model.h"
#include "same_bits.h"
#include "scalar_backend.h"

#include <catch2/catch.hpp>

using namespace kiln;

namespace {

/// A graph, node by node.
class Network {
 public:
  ir::Entry input(const Tensor& value, bool is_parameter = false) {
    auto variable = std::make_shared<ir::Node>();
    variable->name = "input" + std::to_string(graph_.inputs.size());
    variable->types = {{value.dtype(), value.shape()}};
    graph_.inputs.push_back(variable);
    graph_.is_parameter.push_back(is_parameter);
    values_.push_back(value);
    return {variable};
  }
  ir::Entry node(const std::string& op, std::vector<ir::Entry> inputs, const ir::Attrs& attrs = {}) {
    auto node = std::make_shared<ir::Node>();
    node->op = ir::find_op(op);
    node->op_name = op;
    node->name = op + std::to_string(graph_.nodes.size());
    node->attrs = node->op->complete(attrs);
    node->inputs = std::move(inputs);
    graph_.nodes.push_back(node);
    return {node};
  }
  /// The outputs by the back end of that name.
  std::vector<Tensor> run(const std::vector<ir::Entry>& outputs, CompileOptions options) {
    graph_.outputs = outputs;
    std::vector<ir::NodePtr> order = graph_.inputs;
    order.insert(order.end(), graph_.nodes.begin(), graph_.nodes.end());
    ir::infer_types(order, /*train=*/false);
    const auto executable = compile(graph_, options);
    target = executable->plan().target;
    return run_executable(*executable, values_);
  }

  std::string target;

 private:
  ir::Graph graph_;
  std::vector<Tensor> values_;
};

/// One row registers the back end, for the whole program.
CompileOptions on_third_backend() {
  [[maybe_unused]] static const bool registered = [] {
    codegen::register_backend(
        {"scalar", codegen::scalar_kernels, /*falls_back_to=*/"cpu", codegen::make_scalar});
    return true;
  }();
  return {.backend = "scalar"};
}

/// Whether the outputs have the same bits by the CPU's back end and by the third one.
void check_same_bits(Network& net, const std::vector<ir::Entry>& outputs) {
  const std::vector<Tensor> expected = net.run(outputs, {}), seen = net.run(outputs, on_third_backend());
  CHECK(net.target.ends_with(" test-scalar"));
  REQUIRE(seen.size() == expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(same_bits(seen[i], expected[i]));
}

}  // namespace

TEST_CASE("a convolutional network has the CPU's bits by a third back end", "[backend]") {
  random::seed(1);
  Network net;
  const ir::Entry x = net.input(random::normal(0, 1, {2, 3, 11, 9})),
                  w = net.input(random::normal(0, 1, {5, 3, 3, 3}), true),
                  v = net.input(random::normal(0, 1, {7, 5 * 5 * 4}), true),
                  b = net.input(random::normal(0, 1, {7}));
  ir::Entry y = net.node(
      "Convolution", {x, w},
      {{"kernel", Shape{3, 3}}, {"pad", Shape{1, 1}}, {"num_filter", std::int64_t{5}}, {"no_bias", true}});
  y = net.node("tanh", {y});
  y = net.node("Pooling", {y}, {{"kernel", Shape{2, 2}}, {"stride", Shape{2, 2}}});
  y = net.node("FullyConnected", {y, v, b}, {{"num_hidden", std::int64_t{7}}});
  check_same_bits(net, {net.node("softmax", {y}), net.node("sum", {y}, {{"axis", Shape{1}}})});
}

TEST_CASE("its own kernels read views, broadcast and copy", "[backend]") {
  random::seed(2);
  Network net;
  const ir::Entry a = net.input(random::normal(0, 3, {4, 6, 5})),
                  b = net.input(random::normal(0, 3, {1, 6, 1}));
  const ir::Entry t = net.node("transpose", {a}, {{"axes", Shape{2, 0, 1}}});
  const ir::Entry s = net.node("broadcast_add", {a, b});
  check_same_bits(net, {net.node("exp", {t}),
                        net.node("Concat", {s, a}, {{"num_args", std::int64_t{2}}, {"dim", std::int64_t{1}}}),
                        net.node("sort", {a}), net.node("cumsum", {a}, {{"axis", std::int64_t{1}}})});
}

TEST_CASE("its kernels are emitted and lowered by itself", "[backend]") {
  Network net;
  const ir::Entry x = net.input(ones({4, 33}));
  std::map<std::string, std::string> texts;
  CompileOptions options = on_third_backend();
  options.stages = &texts;
  net.run({net.node("exp", {x})}, options);
  CHECK_THAT(texts["mlir"], !Catch::Contains("vector<"));
  CHECK_THAT(texts["llvm"], Catch::Contains("test-scalar lowered it"));
  CHECK(texts.count("asm") == 0);
}

TEST_CASE("a back end that is not registered is an error", "[backend]") {
  Network net;
  const ir::Entry x = net.input(ones({3}));
  const std::vector<ir::Entry> outputs{net.node("exp", {x})};
  CHECK_THROWS_WITH(net.run(outputs, {.backend = "none"}), Catch::Contains("there is no back end 'none'"));
}

TEST_CASE("a back end with no other to fall back to says what it lacks", "[backend]") {
  CHECK_THROWS_WITH(
      [] {
        codegen::register_backend({"alone", codegen::scalar_kernels, /*falls_back_to=*/"",
                                   [](const codegen::TargetRequest&, const codegen::KernelTable*) {
                                     static const codegen::KernelTable nothing{};
                                     return codegen::make_scalar({}, &nothing);
                                   }});
        Network net;
        const ir::Entry x = net.input(ones({3, 4}));
        net.run({net.node("sum", {x}, {{"axis", Shape{1}}})}, {.backend = "alone"});
      }(),
      Catch::Contains("reached code generation"));
}
