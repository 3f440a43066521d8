// Runs a model as a network that trains, and reads its head gradients.
#include "tools/kiln/gradients.h"

#include <kiln/autograd.h>
#include <kiln/threads.h>

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <set>

namespace kiln::tool {
namespace {

constexpr std::string_view head_prefix = "head_grad:";

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::size_t output_number(const std::string& path, const std::string& entry, std::size_t outputs) {
  const std::string_view digits = std::string_view(entry).substr(head_prefix.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
    throw Error(
        fmt::format("{}: '{}' does not name an output; the gradients of outputs are head_grad:0, "
                    "head_grad:1, ...",
                    path, entry));
  if (error != std::errc() || number >= outputs)
    throw Error(
        fmt::format("{}: '{}' is the gradient of an output that the network does not have; its outputs are 0 "
                    "to {}",
                    path, entry, outputs - 1));
  return number;
}

/// The inputs without auxiliary states, which are parameters of a block.
std::vector<std::string> input_names(const Model& model, const std::map<std::string, Tensor>& inputs) {
  const std::vector<std::string> states = model.symbol().list_auxiliary_states();
  std::vector<std::string> names;
  for (const auto& [name, value] : inputs)
    if (!contains(states, name)) names.push_back(name);
  return names;
}

/// A network of the model's symbol: `names` are its inputs, all other variables parameters with values.
SymbolBlock make_network(const Model& model, const std::map<std::string, Tensor>& inputs,
                         const std::vector<std::string>& names) {
  (void)model.prepare(inputs, {.mode = RunMode::eager});  // checks the inputs
  std::vector<Symbol> variables;
  for (const std::string& name : names) variables.push_back(sym::var(name));
  SymbolBlock net(model.symbol(), variables);
  std::map<std::string, Tensor> values = inputs;
  for (const NamedArray& a : model.params()) values.emplace(a.name, a.array);
  for (Parameter p : net.collect_params()) {
    const Tensor& value = values.at(p.name());
    p.cast(value.dtype());
    if (!is_floating(value.dtype())) p.set_grad_req(GradReq::null);
    p.initialize(init::Zero(), {}, false, {});
    p.set_data(value);
  }
  return net;
}

void check_head(const Tensor& gradient, const Tensor& output, std::size_t i, const std::string& from) {
  if (!is_floating(output.dtype())) return;  // MXNet's files have one for these too
  if (gradient.shape() != output.shape() || gradient.dtype() != output.dtype())
    throw Error(fmt::format("{}: head_grad:{} is {} {}, but output {} is {} {}", from, i,
                            gradient.shape().str(), name_of(gradient.dtype()), i, output.shape().str(),
                            name_of(output.dtype())));
}

}  // namespace

HeadGradients read_head_gradients(const std::string& path, const Model& model) {
  const std::vector<std::string> variables = model.symbol().list_inputs();
  const std::size_t outputs = model.output_names().size();
  HeadGradients heads;
  for (const NamedArray& a : load_arrays(path, {})) {
    if (a.name.starts_with(head_prefix)) {
      heads[output_number(path, a.name, outputs)] = a.array;
      continue;
    }
    const std::size_t colon = a.name.find(':');
    static const std::set<std::string_view> kinds{"in", "out", "train_out", "grad", "aux_after"};
    const bool known =
        a.name.empty() || contains(variables, a.name) ||
        (colon != std::string::npos && kinds.contains(std::string_view(a.name).substr(0, colon)));
    if (!known)
      throw Error(fmt::format("{}: '{}' is neither head_grad:I nor an input, in:NAME or NAME alone, of {}",
                              path, a.name, fmt::join(variables, ", ")));
  }
  return heads;
}

TrainingModel::TrainingModel(const Model& model, const std::map<std::string, Tensor>& inputs,
                             const RunOptions& options, bool input_gradients)
    : options_(options),
      input_gradients_(input_gradients),
      names_(input_names(model, inputs)),
      net_(make_network(model, inputs, names_)) {
  for (const std::string& name : names_) {
    arrays_.push_back(inputs.at(name).copy().to(options.device));
    if (input_gradients && is_floating(arrays_.back().dtype())) arrays_.back().attach_grad();
  }
  net_.to(options.device);
  if (options.mode == RunMode::compiled) net_.hybridize();
}

std::vector<Tensor> TrainingModel::run(const HeadGradients& heads, const std::string& from) {
  std::optional<ThreadLimit> limit;
  if (options_.threads > 0) limit.emplace(options_.threads);
  std::vector<Tensor> outputs;
  {
    const autograd::Record record(options_.train);
    outputs = net_(arrays_, no_line);
  }
  autograd::Tensors reached, gradients;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto given = heads.find(i);
    if (given != heads.end()) check_head(given->second, outputs[i], i, from);
    if (!autograd::is_recorded(outputs[i])) continue;
    reached.push_back(outputs[i]);
    gradients.push_back(given == heads.end() ? Tensor() : given->second.to(options_.device));
  }
  if (!reached.empty()) autograd::backward(reached, gradients, {}, no_line);
  return outputs;
}

std::vector<NamedArray> TrainingModel::gradients() const {
  std::vector<NamedArray> list;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (input_gradients_ && is_floating(arrays_[i].dtype()))
      list.push_back({names_[i], arrays_[i].grad().to(cpu())});
  for (const Parameter& p : net_.collect_params())
    if (p.grad_req() != GradReq::null) list.push_back({p.name(), p.grad().to(cpu())});
  return list;
}

GradientRun run_gradients(const Model& model, const std::map<std::string, Tensor>& inputs,
                          const HeadGradients& heads, const RunOptions& options, const std::string& from) {
  TrainingModel training(model, inputs, options);
  GradientRun run;
  run.outputs = training.run(heads, from);
  run.gradients = training.gradients();
  return run;
}

}  // namespace kiln::tool
