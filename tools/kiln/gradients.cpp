#include "tools/kiln/gradients.h"

#include <kiln/autograd.h>
#include <kiln/symbol_block.h>
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

/// A network of the model's symbol: `names` are its inputs, all other variables parameters with values.
SymbolBlock network(const Model& model, const std::map<std::string, Tensor>& inputs,
                    const std::vector<std::string>& names) {
  std::vector<Symbol> variables;
  for (const std::string& name : names) variables.push_back(sym::var(name));
  SymbolBlock net(model.symbol(), variables);
  std::map<std::string, Tensor> values = inputs;
  for (const NamedArray& a : model.params()) values.emplace(a.name, a.array);
  for (Parameter p : net.collect_params()) {
    const Tensor& value = values.at(p.name());
    p.cast(value.dtype());
    if (!is_floating(value.dtype())) p.set_grad_req(GradReq::null);
    p.initialize(init::Zero());
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
  for (const NamedArray& a : load_arrays(path)) {
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

GradientRun run_gradients(const Model& model, const std::map<std::string, Tensor>& inputs,
                          const HeadGradients& heads, const RunOptions& options, const std::string& from) {
  (void)model.prepare(inputs, {.mode = RunMode::eager, .train = options.train});  // checks the inputs
  const std::vector<std::string> states = model.symbol().list_auxiliary_states();
  std::vector<std::string> names;
  std::vector<Tensor> arrays;
  for (const auto& [name, value] : inputs) {
    if (contains(states, name)) continue;
    names.push_back(name);
    arrays.push_back(value.copy());
    if (is_floating(value.dtype())) arrays.back().attach_grad();
  }
  SymbolBlock net = network(model, inputs, names);
  if (options.mode == RunMode::compiled) net.hybridize();
  std::optional<ThreadLimit> limit;
  if (options.threads > 0) limit.emplace(options.threads);

  GradientRun run;
  {
    const autograd::Record record(options.train);
    run.outputs = net(arrays);
  }
  autograd::Tensors reached, gradients;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const auto given = heads.find(i);
    if (given != heads.end()) check_head(given->second, run.outputs[i], i, from);
    if (!autograd::is_recorded(run.outputs[i])) continue;
    reached.push_back(run.outputs[i]);
    gradients.push_back(given == heads.end() ? Tensor() : given->second);
  }
  if (!reached.empty()) autograd::backward(reached, gradients);

  for (std::size_t i = 0; i < names.size(); ++i)
    if (is_floating(arrays[i].dtype())) run.gradients.push_back({names[i], arrays[i].grad()});
  for (const NamedArray& a : model.params()) {
    if (contains(names, a.name) || contains(states, a.name) || !is_floating(a.array.dtype())) continue;
    run.gradients.push_back({a.name, net.collect_params()[a.name].grad()});
  }
  return run;
}

}  // namespace kiln::tool
