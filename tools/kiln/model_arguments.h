// Arguments that several subcommands share: a model, its inputs, threads, precision.
#pragma once
#include <kiln/model.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kiln::tool {

/// A model and its inputs.
struct Fed {
  Model model;
  std::map<std::string, Tensor> inputs;
};

/// The arguments of most subcommands for a model and its inputs.
struct ModelArguments {
  std::string symbol;
  std::string params;
  std::string input;
  std::vector<std::string> shapes;

  /// Declares MODEL, of these kinds of files, and --params.
  void add_model(CLI::App& command, const std::string& kinds = "a -symbol.json file");
  /// Declares --input and --shape, which exclude each other.
  void add_inputs(CLI::App& command);

  /// Whether --input or --shape is given.
  bool has_inputs() const { return !input.empty() || !shapes.empty(); }

  Model load() const;
  /// The model, and the arrays `in:NAME` of the file or generated numbers of the given shapes. Variables in
  /// neither the parameters nor --shape are generated too; without a params file they stand for the
  /// parameters.
  Fed load_fed() const;
};

/// The inputs in a file of arrays. These are the arrays named `in:NAME`. If there are none, they are the
/// arrays with the names in `wanted`, or a single unnamed array (.npy) if that is one name. Throws
/// kiln::Error if there is none.
std::map<std::string, Tensor> read_inputs(const std::string& path, const std::vector<std::string>& wanted);

/// Declares --shape, whose texts parse_shape() takes.
CLI::Option* add_shapes(CLI::App& command, std::vector<std::string>& shapes, const std::string& help);

/// "data=1,3,224,224", already checked by the validator of --shape.
std::pair<std::string, Shape> parse_shape(const std::string& text);

/// The help text of --input.
inline constexpr const char* input_help = "Inputs: in:NAME or NAME in .params, .npz, .safetensors; .npy";

/// Declares --threads, at least 1.
CLI::Option* add_threads(CLI::App& command, int& threads);
CLI::Option* add_threads(CLI::App& command, std::vector<int>& threads);

/// The device of a text: cpu, cuda or cuda:N. Nothing for another text.
std::optional<Device> device_named(const std::string& text);
/// Declares --device.
CLI::Option* add_device(CLI::App& command, Device& device, const std::string& help);

/// Declares --precision. `usual` is the default in the help.
CLI::Option* add_precision(CLI::App& command, std::optional<Precision>& precision,
                           Precision usual = Precision::fast);
/// Runs an action with this precision, if there is one.
int with_precision(std::optional<Precision> precision, const std::function<int()>& action);

}  // namespace kiln::tool
