// Replaces layers of a graph by their int8 operators, and weights by integers and steps.
#include "frontend/gluon/quantize/int8_network.h"

#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/symbol/symbol_infer.h"
#include "frontend/tensor/convert.h"
#include "frontend/tensor/elements.h"
#include "runtime/fail.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace kiln::detail {
namespace {

constexpr float levels = 127;

/// The variables of the int8 weights in the new graph, by the names of the float ones.
class WeightVariables {
 public:
  explicit WeightVariables(const std::vector<ir::NodePtr>& nodes) {
    for (const ir::NodePtr& node : nodes)
      if (node->is_variable()) taken_.insert(node->name);
  }

  struct Pair {
    ir::NodePtr integers, steps;
  };
  const Pair& of(const std::string& weight, const Int8Weight& values) {
    Pair& pair = pairs_[weight];
    if (!pair.integers) {
      pair.integers = variable(weight + "_int8", values.integers);
      pair.steps = variable(weight + "_step", values.steps);
    }
    return pair;
  }
  /// The values of all variables that were made.
  const std::map<std::string, Tensor>& values() const { return values_; }

 private:
  ir::NodePtr variable(const std::string& name, const Tensor& values) {
    auto node = std::make_shared<ir::Node>();
    node->name = name;
    for (int i = 1; !taken_.insert(node->name).second; ++i) node->name = name + std::to_string(i);
    node->attr_text["__dtype__"] = std::to_string(static_cast<int>(values.dtype()));
    node->attr_text["__shape__"] = values.shape().str();
    values_.emplace(node->name, values);
    return node;
  }

  std::set<std::string> taken_;
  std::map<std::string, Pair> pairs_;
  std::map<std::string, Tensor> values_;
};

/// Makes `node`, a copy of a layer's node, the layer's int8 operator.
void replace(ir::Node& node, const Int8Layer& layer, const WeightVariables::Pair& weight) {
  const ir::OpDef& op = *ir::find_op(layer.node->op->name == "Convolution" ? "_int8_convolution"
                                     : layer.data                          ? "_int8_fully_connected"
                                                                           : "_int8_weight_fully_connected");
  ir::Attrs given;
  for (const ir::Attrs::Item& item : layer.node->attrs.items())
    if (op.attr(item.name)) given.set(item.name, item.value);
  if (layer.data) {
    given.set("data_step", static_cast<double>(layer.data->step));
    given.set("data_dtype", std::string(name_of(layer.data->dtype)));
  }
  // Of the texts, the ones that the new operator knows, and hidden ones.
  std::erase_if(node.attr_text,
                [&](const auto& text) { return !text.first.starts_with("__") && !op.attr(text.first); });
  for (const char* name : {"data_step", "data_dtype"})
    if (const auto* value = given.find(name)) node.attr_text[name] = ir::to_text(*value);
  node.op = &op;
  node.op_name = op.name;
  node.attrs = op.complete(given);
  node.inputs[1] = {weight.integers, 0, 0};
  node.inputs.insert(node.inputs.begin() + 2, ir::Entry{weight.steps, 0, 0});
}

}  // namespace

Int8Weight int8_weight(const Tensor& weight, const std::string& name) {
  const Shape shape = weight.shape();
  const HostElements elements(weight);
  const auto n = static_cast<std::size_t>(shape.elements());
  std::vector<float> values(n);
  convert_elements(elements.data(), weight.dtype(), values.data(), DType::f32, n);
  const auto units = static_cast<std::size_t>(shape[0]);
  const std::size_t size = units == 0 ? 0 : n / units;
  std::vector<std::int8_t> integers(n);
  std::vector<float> steps(units, 1.0F);
  std::int64_t max_sum = 0;
  for (std::size_t unit = 0; unit < units; ++unit) {
    const std::span<const float> row(values.data() + unit * size, size);
    float greatest = 0;
    for (const float x : row) {
      if (!std::isfinite(x)) fail("quantize(): the parameter '{}' has an element that is {}", name, x);
      greatest = std::max(greatest, std::abs(x));
    }
    // A step below the normal numbers would have no inverse.
    if (std::isnormal(greatest / levels)) steps[unit] = greatest / levels;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const float q = std::clamp(std::nearbyint(row[i] / steps[unit]), -levels, levels);
      integers[unit * size + i] = static_cast<std::int8_t>(q);
      sum += std::abs(integers[unit * size + i]);
    }
    max_sum = std::max(max_sum, sum);
  }
  Int8Weight out{TensorAccess::empty(shape, DType::i8), TensorAccess::empty({shape[0]}, DType::f32), max_sum};
  set_elements(out.integers, integers.data());
  set_elements(out.steps, steps.data());
  return out;
}

SymbolBlock int8_network(const FloatNetwork& network, const std::vector<Int8Layer>& layers,
                         const std::map<std::string, Int8Weight>& weights, Device device) {
  const std::vector<ir::NodePtr> order = ir::topological_order(network.outputs);
  const ir::GraphCopy copies(order);
  WeightVariables variables(order);
  for (const Int8Layer& layer : layers) {
    const std::string& weight = layer.node->inputs[1].node->name;
    replace(*copies.of(layer.node.get()), layer, variables.of(weight, weights.at(weight)));
  }
  std::vector<ir::Entry> outputs;
  for (const ir::Entry& e : network.outputs) outputs.push_back(copies.of(e));
  std::vector<Symbol> inputs;
  for (const std::string& name : network.inputs) inputs.push_back(sym::var(name));
  SymbolBlock out(SymbolAccess::make(std::move(outputs)), inputs);
  for (Parameter p : out.params()) {
    const bool made = variables.values().contains(p.name());
    if (made) p.set_grad_req(GradReq::null);
    ParameterAccess::give(p, made ? variables.values().at(p.name()) : network.parameters.at(p.name()),
                          device);
  }
  return out;
}

}  // namespace kiln::detail
