// kiln run: the outputs of a network for inputs from a file.
#include "frontend/model/mlir_model.h"
#include "tools/kiln/command.h"
#include "tools/kiln/gradients.h"
#include "tools/kiln/model_arguments.h"
#include "tools/kiln/tolerance.h"

#include <fmt/format.h>

namespace kiln::tool {
namespace {

struct RunArguments {
  ModelArguments model;
  std::string output, expect, mode = "compiled";
  Tolerance tolerance;
  int threads = 0;
  bool train = false, gradients = false;
  Device device;
  std::optional<Precision> precision;
};

/// Results as they are written: out:0, out:1, ... or grad:NAME, and where they come from.
struct Results {
  std::vector<NamedArray> arrays;
  std::vector<std::string> nodes;  // may be empty

  void add(const std::string& name, const Tensor& array, const std::string& node = "") {
    arrays.push_back({name, array});
    nodes.push_back(node);
  }
  void add_outputs(const std::vector<Tensor>& outputs, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      add(fmt::format("out:{}", i), outputs[i], i < names.size() ? names[i] : "");
  }
};

bool is_mlir(const RunArguments& a) { return a.model.symbol.ends_with(".mlir"); }

Results results_of_mlir(const RunArguments& a, const RunOptions& options) {
  const MlirModel model = MlirModel::load(a.model.symbol, a.model.params, options);
  std::map<std::string, Tensor> inputs;
  if (!a.model.input.empty()) inputs = read_inputs(a.model.input, model.input_names());
  Results results;
  results.add_outputs(model.run(inputs, options), model.output_names());
  return results;
}

Results results_of_model(const RunArguments& a, const RunOptions& options) {
  Model model = a.model.load();
  const auto inputs = read_inputs(a.model.input, model.input_names());
  Results results;
  if (a.gradients) {
    const HeadGradients heads = read_head_gradients(a.model.input, model);
    for (const NamedArray& g : run_gradients(model, inputs, heads, options, a.model.input).gradients)
      results.add("grad:" + g.name, g.array);
  } else {
    results.add_outputs(model.run(inputs, options), model.output_names());
  }
  return results;
}

int run(const RunArguments& a) {
  if (!a.output.empty()) array_format_of(a.output);  // throws before anything is computed
  RunOptions options;
  options.mode = a.mode == "eager" ? RunMode::eager : RunMode::compiled;
  options.threads = a.threads;
  options.device = a.device;
  options.train = a.train || a.gradients;
  const Results results = is_mlir(a) ? results_of_mlir(a, options) : results_of_model(a, options);
  if (a.output.empty() && a.expect.empty())
    for (std::size_t i = 0; i < results.arrays.size(); ++i) {
      const auto& [name, array] = results.arrays[i];
      const std::string& node = results.nodes[i];
      fmt::print("{}{}{}\n{}\n", name, node.empty() ? "" : " ", node, to_string(array));
    }
  if (!a.output.empty()) save_arrays(a.output, results.arrays, {}, {});
  if (!a.expect.empty() && !compare_arrays(results.arrays, load_arrays(a.expect, {}), a.expect, a.tolerance))
    return bad_input;
  return ok;
}

/// Throws for options that a file has no use for.
void check_arguments(const RunArguments& a) {
  if (!is_mlir(a)) {
    if (a.model.input.empty()) throw CLI::RequiredError("--input");
    return;
  }
  for (const auto& [given, option] :
       {std::pair(a.mode == "eager", "--mode eager"), {a.train, "--train"}, {a.gradients, "--gradients"}})
    if (given) throw CLI::ValidationError(fmt::format("{} is of networks, not of a .mlir file", option));
}

/// The problem of the text of a tolerance; empty if there is none.
std::string tolerance_problem(const std::string& text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value >= 0) return {};  // no NaN either
  return fmt::format("'{}' is no tolerance, which is a number of 0 or more", text);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* c = app.add_subcommand("run", "Compute a network's outputs");
  a->model.add_model(*c, "a -symbol.json file, or FILE.mlir of kiln dump");
  c->add_option("--input", a->model.input, input_help)->option_text("FILE");
  c->add_option("--output", a->output, "Write out:0, out:1, ... or grad:NAME, ... and print nothing")
      ->option_text("FILE");
  auto* expect =
      c->add_option("--expect", a->expect, "Compare with its arrays of these names; exit 1 on difference")
          ->option_text("FILE");
  c->add_option("--rtol", a->tolerance.relative, "Relative tolerance of --expect (1e-5)")
      ->needs(expect)
      ->check(tolerance_problem)
      ->option_text("X");
  c->add_option("--atol", a->tolerance.absolute, "Absolute tolerance of --expect (1e-8)")
      ->needs(expect)
      ->check(tolerance_problem)
      ->option_text("X");
  c->add_option("--mode", a->mode, "eager or compiled (default)")
      ->option_text("MODE")
      ->check(CLI::IsMember({"eager", "compiled"}));
  add_threads(*c, a->threads);
  add_device(*c, a->device, "cpu, cuda or cuda:N, an NVIDIA GPU; the same bits");
  add_precision(*c, a->precision);
  c->add_flag("--train", a->train, "As in training: BatchNorm uses the batch, Dropout drops");
  c->add_flag("--gradients", a->gradients, "Instead: grad:NAME, from head_grad:I of --input or ones");
  c->callback([a, &action] {
    check_arguments(*a);
    action = [a] { return with_precision(a->precision, [&] { return run(*a); }); };
  });
}

}  // namespace kiln::tool
