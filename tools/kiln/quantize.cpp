// kiln quantize: writes a network in int8, and prints what its layers lose and save.
#include "tools/kiln/agreement.h"
#include "tools/kiln/command.h"
#include "tools/kiln/gradients.h"
#include "tools/kiln/model_arguments.h"
#include "tools/kiln/wrapped.h"

#include <kiln/quantize.h>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace kiln::tool {
namespace {

const std::map<std::string, Calibration> calibrations{{"entropy", Calibration::entropy},
                                                      {"percentile", Calibration::percentile},
                                                      {"extremes", Calibration::extremes}};

struct QuantizeArguments {
  ModelArguments model;
  std::string data, prefix;
  std::string calibration = "entropy";
  std::vector<std::string> exclude;
  std::int64_t batch = 32;
  bool weights_only = false;
};

/// The inputs of the network in calls of `rows` rows each; of inputs with different numbers of rows, one
/// call.
std::vector<Tensors> batches_of(const std::map<std::string, Tensor>& inputs,
                                const std::vector<std::string>& names, std::int64_t rows,
                                const std::string& file) {
  Tensors whole;
  for (const std::string& name : names) {
    const auto found = inputs.find(name);
    if (found == inputs.end()) throw Error(fmt::format("{}: no array for the input '{}'", file, name));
    whole.push_back(found->second);
  }
  if (whole.empty()) throw Error("the network has no input");
  const auto rows_of = [](const Tensor& t) { return t.shape().rank() == 0 ? -1 : t.shape()[0]; };
  const std::int64_t all = rows_of(whole[0]);
  if (all < 0 || std::any_of(whole.begin(), whole.end(), [&](const Tensor& t) { return rows_of(t) != all; }))
    return {whole};
  std::vector<Tensors> batches;
  for (std::int64_t begin = 0; begin < all; begin += rows) {
    Tensors& batch = batches.emplace_back();
    for (const Tensor& t : whole) batch.push_back(t.slice_axis(0, begin, std::min(begin + rows, all)));
  }
  return batches;
}

/// A network whose results are outputs of the nodes of some layers, then the results of `net`, whose
/// parameters it shares.
SymbolBlock observed(const SymbolBlock& net, const std::vector<std::string>& outputs) {
  const Symbol internals = net.symbol().get_internals();
  std::vector<Symbol> results, inputs;
  for (const std::string& name : outputs) results.push_back(internals[name]);
  results.push_back(net.symbol());
  for (const std::string& name : net.input_names()) inputs.push_back(sym::var(name));
  const ParameterDict params = net.params();
  SymbolBlock block(sym::group(results), inputs, &params);
  block.hybridize();
  return block;
}

/// The names of the layers' results, as far as one node has the name.
std::vector<std::string> outputs_of(const std::vector<QuantizedLayer>& layers, const SymbolBlock& net) {
  const std::vector<std::string> all = net.symbol().get_internals().list_outputs();
  std::vector<std::string> names;
  for (const QuantizedLayer& layer : layers) {
    const std::string name = layer.name + "_output";
    if (layer.float_because.empty() && std::count(all.begin(), all.end(), name) == 1) names.push_back(name);
  }
  return names;
}

/// The distances by name of the result, of layers and of the network.
std::map<std::string, Agreement> agreements(const SymbolBlock& net, const SymbolBlock& int8,
                                            const std::vector<QuantizedLayer>& layers,
                                            const std::vector<Tensors>& batches) {
  const std::vector<std::string> names = outputs_of(layers, net);
  const SymbolBlock expected = observed(net, names), got = observed(int8, names);
  const std::vector<std::string> results = expected.symbol().list_outputs();
  std::map<std::string, Agreement> all;
  for (const Tensors& batch : batches) {
    const Tensors e = expected(batch, no_line), g = got(batch, no_line);
    for (std::size_t i = 0; i < e.size(); ++i)
      if (i < names.size() || std::find(names.begin(), names.end(), results[i]) == names.end())
        all[results[i]].add(g[i], e[i]);
  }
  return all;
}

void write(const SymbolBlock& net, const std::string& prefix) {
  net.symbol().save(prefix + "-symbol.json", true, no_line);
  const std::vector<std::string> states = net.symbol().list_auxiliary_states();
  std::vector<NamedArray> arrays;
  for (const Parameter& p : net.params()) {
    const bool state = std::find(states.begin(), states.end(), p.name()) != states.end();
    arrays.push_back({(state ? "aux:" : "arg:") + p.name(), p.data()});
  }
  save_arrays(prefix + "-0000.params", arrays, {}, no_line);
}

std::int64_t bytes_of(const SymbolBlock& net) {
  std::int64_t bytes = 0;
  for (const Parameter& p : net.params())
    bytes += p.data().size() * static_cast<std::int64_t>(size_of(p.dtype()));
  return bytes;
}

void print_layers(const std::vector<QuantizedLayer>& layers, const std::map<std::string, Agreement>& errors) {
  std::size_t name = 5;
  for (const QuantizedLayer& layer : layers) name = std::max(name, layer.name.size());
  fmt::print("{:<{}}  data       step  max error  mean error   bytes    int8\n", "layer", name);
  for (const QuantizedLayer& layer : layers) {
    if (!layer.float_because.empty()) {
      fmt::print("{:<{}}  float: {}\n", layer.name, name, layer.float_because);
      continue;
    }
    const auto error = errors.find(layer.name + "_output");
    const auto number = [&](double (Agreement::*of)() const) {
      return error == errors.end() ? "-" : fmt::format("{:.3g}", (error->second.*of)());
    };
    fmt::print("{:<{}}  {:<5}  {:>8}  {:>9}  {:>10}  {:>6}  {:>6}\n", layer.name, name,
               layer.weights_only ? "float" : name_of(layer.data_dtype),
               layer.weights_only ? "-" : fmt::format("{:.3g}", layer.data_step), number(&Agreement::largest),
               number(&Agreement::mean), short_number(static_cast<double>(layer.float_bytes)),
               short_number(static_cast<double>(layer.int8_bytes)));
  }
}

int quantize_model(const QuantizeArguments& a) {
  const std::vector<std::string> names = a.model.load().input_names();
  const SymbolBlock net = SymbolBlock::imports(a.model.symbol, names, a.model.params, no_line);
  const std::vector<Tensors> batches = batches_of(read_inputs(a.data, names), names, a.batch, a.data);
  std::vector<QuantizedLayer> layers;
  const SymbolBlock int8 = quantize(net, batches,
                                    {.calibration = calibrations.at(a.calibration),
                                     .exclude = a.exclude,
                                     .weights_only = a.weights_only,
                                     .layers = &layers},
                                    no_line);
  write(int8, a.prefix);
  const std::map<std::string, Agreement> errors = agreements(net, int8, layers, batches);
  print_layers(layers, errors);
  const auto made = std::count_if(layers.begin(), layers.end(),
                                  [](const QuantizedLayer& l) { return l.float_because.empty(); });
  fmt::print("{} of {} layers {}; parameters {} bytes, {} before\n", made, layers.size(),
             a.weights_only ? "with int8 weights" : "in int8",
             short_number(static_cast<double>(bytes_of(int8))),
             short_number(static_cast<double>(bytes_of(net))));
  for (const std::string& output : net.symbol().list_outputs())
    fmt::print("{}: {}\n", output, errors.at(output).str());
  return ok;
}

}  // namespace

void add_quantize(CLI::App& app, Action& action) {
  auto a = std::make_shared<QuantizeArguments>();
  CLI::App* c = app.add_subcommand("quantize", "Write dense layers and convolutions in int8");
  a->model.add_model(*c);
  c->get_option("--params")->required();
  c->add_option("--data", a->data, "Inputs to observe, as of kiln run --input")
      ->required()
      ->option_text("FILE");
  c->add_option("-o", a->prefix, "Output: PREFIX-symbol.json, PREFIX-0000.params")
      ->required()
      ->option_text("PREFIX");
  auto* calibration =
      c->add_option("--calibration", a->calibration, "entropy (default), percentile or extremes")
          ->option_text("KIND")
          ->check(CLI::IsMember({"entropy", "percentile", "extremes"}));
  c->add_flag("--weights-only", a->weights_only, "Weights of dense layers alone; data stay in float")
      ->excludes(calibration);
  c->add_option("--exclude", a->exclude, "A layer or block that stays in float; repeated")
      ->option_text("NAME")
      ->allow_extra_args(false);
  c->add_option("--batch", a->batch, "Rows of a call (32)")->option_text("N")->check(CLI::Range(1, 1 << 30));
  c->callback([a, &action] { action = [a] { return quantize_model(*a); }; });
}

}  // namespace kiln::tool
