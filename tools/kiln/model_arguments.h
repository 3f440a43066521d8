#pragma once
#include <kiln/model.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace kiln::tool {

/// A model and what to feed it.
struct Fed {
  Model model;
  std::map<std::string, Tensor> inputs;
};

/// The arguments by which most subcommands name a model and what to feed it.
struct ModelArguments {
  std::string symbol;
  std::string params;
  std::string input;
  std::vector<std::string> shapes;

  /// Declares MODEL-symbol.json and --params.
  void add_model(CLI::App& command);
  /// Declares --input and --shape, of which at most one is given.
  void add_inputs(CLI::App& command);

  Model load() const;
  /// The model, and the arrays `in:NAME` of the file or made-up numbers in the given shapes. Variables that
  /// neither the parameters nor --shape name are made up too, and stand for parameters where no file gives
  /// any.
  Fed load_fed() const;
};

/// What to feed `model` from a file of arrays: those called `in:NAME`; where none is called so, those with
/// the names of the model's inputs; and a lone array without a name (.npy) where the model has one input.
/// Throws kiln::Error when there is none.
std::map<std::string, Tensor> read_inputs(const std::string& path, const Model& model);

/// "data=1,3,224,224"; the validator of --shape has seen it.
std::pair<std::string, Shape> parse_shape(const std::string& text);

/// What --input is, in the help of the subcommands that have it.
inline constexpr const char* input_help = "Inputs: in:NAME or NAME in .params, .npz, .safetensors; .npy";

/// Declares --threads, at least 1.
void add_threads(CLI::App& command, int& threads);
void add_threads(CLI::App& command, std::vector<int>& threads);

}  // namespace kiln::tool
