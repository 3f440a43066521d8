// quantize(): runs a network on batches, observes the inputs of its layers, and makes the int8 network. Of
// weights alone, nothing is run.
#include "frontend/call/line.h"
#include "frontend/call/trace.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/gluon/quantize/int8_network.h"
#include "frontend/gluon/quantize/threshold.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/tensor/convert.h"
#include "frontend/tensor/elements.h"
#include "runtime/fail.h"
#include "runtime/float_env.h"

#include <kiln/autograd.h>
#include <kiln/quantize.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace kiln {
namespace detail {
namespace {

/// The layers of a network, and the distributions of their inputs.
class Quantizer {
 public:
  Quantizer(const HybridBlock& net, const QuantizeOptions& options, std::source_location where)
      : net_(net), options_(options), where_(where) {
    const auto a = options.activations;
    if (a && *a != DType::i8 && *a != DType::u8)
      fail("quantize(): activations must be int8 or uint8, not {}", name_of(*a));
    if (a && options.weights_only)
      fail(
          "quantize(): activations are integers of inputs, and inputs stay in floating point with "
          "weights_only: leave out one of the two");
    const ParameterDict params = net.collect_params();
    if (!params.empty()) device_ = params.items().front().device();
  }

  /// Whether further batches change nothing.
  bool has_all() const { return options_.weights_only && batches_ > 0; }

  /// Takes the inputs of one call. The first one gives the graph of the network its shapes; unless weights
  /// alone become int8, the float network runs on each.
  void take(const Tensors& batch) {
    if (batch.empty()) fail("quantize(): batch {} has no arrays", batches_);
    Tensors inputs;
    for (const Tensor& x : batch) inputs.push_back(x.to(device_, where_));
    try {
      if (batches_ == 0) find_layers(inputs);
      if (!options_.weights_only) observe(inputs);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::user || std::string_view(e.what()).starts_with("quantize()")) throw;
      // The line of this call comes first; another one is a part of the cause.
      std::string_view cause = e.what();
      if (const std::string_view place = place_of(cause); place == line_prefix(where_))
        cause.remove_prefix(place.size());
      fail("quantize(): batch {}{}: {}", batches_,
           batch.size() == 1 ? "" : fmt::format(", of {} arrays", batch.size()), cause.data());
    }
    ++batches_;
  }

  SymbolBlock finish() {
    if (batches_ == 0)
      fail("quantize() needs at least one batch {}, and there is none",
           options_.weights_only ? "for the shapes of inputs" : "to observe the inputs of layers");
    observer_.reset();
    const FloatEnv env;
    std::vector<Int8Layer> int8;
    std::map<std::string, Int8Weight> weights;
    std::vector<QuantizedLayer> rows;
    for (const FloatLayer& layer : layers_) {
      QuantizedLayer& row = rows.emplace_back();
      row.name = layer.node->name;
      row.op = layer.node->op->name;
      row.weights_only = options_.weights_only;
      row.float_because = layer.float_because;
      if (row.float_because.empty()) quantize_layer(layer, row, int8, weights);
    }
    if (int8.empty()) fail_without_layers(rows);
    if (options_.layers) *options_.layers = std::move(rows);
    return int8_network(network_, int8, weights, device_);
  }

 private:
  /// An input of layers.
  struct Observed {
    ir::Entry entry;
    std::string layer;  ///< the first one that reads it
    Histogram histogram;
  };

  void find_layers(const Tensors& batch) {
    network_ = float_network(net_, batch, where_);
    layers_ = float_layers(net_, network_, options_.exclude);
    for (FloatLayer& layer : layers_)
      if (options_.weights_only && layer.float_because.empty() && layer.node->op->name != "FullyConnected")
        layer.float_because = "no dense layer";
    if (!options_.weights_only) start_observer();
  }

  /// Makes the network whose results are the outputs and the inputs of layers.
  void start_observer() {
    std::vector<ir::Entry> results = network_.outputs;
    for (const FloatLayer& layer : layers_) {
      const ir::Entry& data = layer.node->inputs[0];
      if (!layer.float_because.empty() || find(data)) continue;
      observed_.push_back({data, layer.node->name, {}});
      results.push_back(data);
    }
    std::vector<Symbol> inputs;
    for (const std::string& name : network_.inputs) inputs.push_back(sym::var(name));
    observer_.emplace(SymbolAccess::make(std::move(results)), inputs);
    observer_->params().set_grad_req(GradReq::null);
    for (Parameter p : observer_->params())
      ParameterAccess::give(p, network_.parameters.at(p.name()), device_);
    observer_->hybridize();
  }

  /// Runs the float network, and adds the inputs of layers to their distributions.
  void observe(const Tensors& inputs) {
    const Tensors results = (*observer_)(inputs, where_);
    for (std::size_t i = 0; i < observed_.size(); ++i)
      add(observed_[i], results[network_.outputs.size() + i]);
  }

  Observed* find(const ir::Entry& entry) {
    const auto same = [&](const Observed& o) {
      return o.entry.node == entry.node && o.entry.output == entry.output;
    };
    const auto found = std::find_if(observed_.begin(), observed_.end(), same);
    return found == observed_.end() ? nullptr : &*found;
  }

  void add(Observed& observed, const Tensor& activation) {
    const FloatEnv env;
    const auto n = static_cast<std::size_t>(activation.size());
    const HostElements elements(activation);
    std::vector<float> converted;
    std::span<const float> values;
    if (activation.dtype() == DType::f32) {
      values = {reinterpret_cast<const float*>(elements.data()), n};
    } else {
      converted.resize(n);
      convert_elements(elements.data(), activation.dtype(), converted.data(), DType::f32, n);
      values = converted;
    }
    const auto bad = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
    if (bad != values.end())
      fail("quantize(): batch {} makes an element of the input of the layer '{}' {}", batches_,
           observed.layer, *bad);
    observed.histogram.add(values);
  }

  void quantize_layer(const FloatLayer& layer, QuantizedLayer& row, std::vector<Int8Layer>& int8,
                      std::map<std::string, Int8Weight>& weights) {
    const Tensor& values = network_.parameters.at(layer.weight());
    if (!is_floating(values.dtype())) {
      row.float_because = fmt::format("its weight is {}", name_of(values.dtype()));
      return;
    }
    const auto data = options_.weights_only ? std::nullopt : data_of(layer, row);
    if (!row.float_because.empty()) return;
    const auto weight = weights.find(layer.weight());
    const Int8Weight& w =
        weight != weights.end()
            ? weight->second
            : weights.emplace(layer.weight(), int8_weight(values, layer.weight())).first->second;
    if (data &&
        static_cast<double>(w.max_sum) * levels_of(data->dtype) > std::numeric_limits<std::int32_t>::max()) {
      row.float_because = "its sums might exceed int32";
      return;
    }
    if (data) {
      row.data_dtype = data->dtype;
      row.data_step = data->step;
    }
    row.float_bytes = values.size() * static_cast<std::int64_t>(size_of(values.dtype()));
    row.int8_bytes = w.integers.size() + w.steps.size() * static_cast<std::int64_t>(sizeof(float));
    int8.push_back({layer.node, data});
  }

  /// The greatest integer of an input.
  static double levels_of(DType dtype) { return dtype == DType::u8 ? 255 : 127; }

  /// The integers of a layer's input. Nothing if it has none: the row then says why.
  std::optional<Int8Data> data_of(const FloatLayer& layer, QuantizedLayer& row) {
    const Observed& observed = *find(layer.node->inputs[0]);
    const DType dtype = options_.activations.value_or(observed.histogram.min() < 0 ? DType::i8 : DType::u8);
    if (dtype == DType::u8 && observed.histogram.min() < 0)
      fail(
          "quantize(): the input of the layer '{}' has negative elements, as {}, which uint8 cannot "
          "represent: "
          "leave out QuantizeOptions::activations, or exclude the layer",
          row.name, observed.histogram.min());
    const double threshold = calibrated_threshold(observed.histogram, options_.calibration, dtype);
    const auto step = static_cast<float>(threshold / levels_of(dtype));
    if (std::isnormal(step) && std::isnormal(1 / step)) return Int8Data{dtype, step};
    row.float_because = threshold == 0 ? "its input is 0 in all batches" : "its input is nearly 0";
    return std::nullopt;
  }

  bool has_int8_layers() const {
    const auto nodes = ir::topological_order(network_.outputs);
    return std::any_of(nodes.begin(), nodes.end(), [](const ir::NodePtr& node) {
      return node->op && node->op->name.starts_with("_int8_");
    });
  }

  [[noreturn]] void fail_without_layers(const std::vector<QuantizedLayer>& rows) const {
    if (rows.empty() && has_int8_layers()) fail("quantize(): the layers of the network are int8 already");
    if (rows.empty()) fail("quantize(): the network has no dense layer and no convolution");
    std::string reasons;
    for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 3); ++i)
      reasons += fmt::format("{}'{}': {}", i ? "; " : "", rows[i].name, rows[i].float_because);
    fail("quantize(): no layer of the network can {} ({}{})",
         options_.weights_only ? "have an int8 weight" : "compute in int8", reasons,
         rows.size() > 3 ? "; ..." : "");
  }

  const HybridBlock& net_;
  const QuantizeOptions& options_;
  const std::source_location where_;
  Device device_;
  FloatNetwork network_;
  std::vector<FloatLayer> layers_;
  std::vector<Observed> observed_;
  std::optional<SymbolBlock> observer_;
  std::size_t batches_ = 0;
};

/// `feed` gives the batches to a Quantizer.
template <class Feed>
SymbolBlock quantized(const HybridBlock& net, const QuantizeOptions& options, std::source_location where,
                      const Feed& feed) {
  return at_line(where, [&] {
    if (Trace::current()) fail("quantize() runs a network and cannot be recorded: call it outside of blocks");
    const autograd::Pause prediction;
    Quantizer quantizer(net, options, where);
    feed(quantizer);
    return quantizer.finish();
  });
}

}  // namespace
}  // namespace detail

SymbolBlock quantize(const HybridBlock& net, const std::vector<Tensors>& batches,
                     const QuantizeOptions& options, std::source_location where) {
  return detail::quantized(net, options, where, [&](detail::Quantizer& quantizer) {
    for (const Tensors& batch : batches)
      if (!quantizer.has_all()) quantizer.take(batch);
  });
}

SymbolBlock quantize(const HybridBlock& net, const data::DataLoader& batches, const QuantizeOptions& options,
                     std::source_location where) {
  return detail::quantized(net, options, where, [&](detail::Quantizer& quantizer) {
    if (options.num_inputs == 0) fail("quantize(): num_inputs must be 1 or more");
    for (auto batch = batches.begin(where); batch != batches.end() && !quantizer.has_all(); ++batch) {
      const Tensors& arrays = batch->arrays();
      if (arrays.size() < options.num_inputs)
        fail("quantize(): num_inputs is {}, and a batch has {} arrays", options.num_inputs, arrays.size());
      quantizer.take({arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(options.num_inputs)});
    }
  });
}

}  // namespace kiln
