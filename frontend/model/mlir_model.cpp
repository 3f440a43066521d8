// Loads a program from a file and calls it on arrays.
#include "frontend/model/mlir_model.h"

#include "codegen/driver/mlir_program.h"
#include "frontend/formats/file_io.h"
#include "frontend/model/model_state.h"
#include "frontend/model/planned_model.h"
#include "frontend/tensor/text.h"
#include "runtime/messages.h"

#include <kiln/io.h>
#include <kiln/threads.h>

#include <algorithm>

namespace kiln {
namespace {

std::vector<std::string> names_of(const MlirProgram& program) {
  std::vector<std::string> names;
  for (const MlirProgram::Argument& a : program.arguments) names.push_back(a.name);
  return names;
}

}  // namespace

MlirModel MlirModel::load(const std::string& path, const std::string& params_path,
                          const RunOptions& options) {
  MlirModel model;
  model.path_ = path;
  const std::vector<std::byte> text = read_file(path, "program");
  model.program_ = std::make_shared<const MlirProgram>(compile_mlir(
      {reinterpret_cast<const char*>(text.data()), text.size()}, path, compile_options_of(options)));
  if (params_path.empty()) return model;
  const std::vector<std::string> names = names_of(*model.program_);
  const std::vector<NamedArray> arrays = load_arrays(params_path, {});
  for (const NamedArray& array : arrays) {
    const std::string name = detail::name_without_kind(array.name);
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("{}: the array '{}' is no argument of {}, which has {}{}", params_path, array.name, path,
           names.empty() ? "none" : detail::brief_list(names), by_position_advice(arrays, names));
    model.values_.insert_or_assign(name, array.array);
  }
  return model;
}

std::vector<std::string> MlirModel::input_names() const {
  std::vector<std::string> names = names_of(*program_);
  std::erase_if(names, [&](const std::string& name) { return values_.contains(name); });
  return names;
}

const std::vector<std::string>& MlirModel::output_names() const { return program_->results; }

std::vector<Tensor> MlirModel::run(const std::map<std::string, Tensor>& inputs,
                                   const RunOptions& options) const {
  const std::vector<std::string> names = names_of(*program_);
  for (const auto& [name, array] : inputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(Mistake::no_such_input, "{} has no argument '{}'; it has {}", path_, name,
           names.empty() ? "none" : detail::brief_list(names));
  std::vector<Tensor> arguments;
  const ExecutablePlan& plan = program_->executable->plan();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto input = inputs.find(names[i]), value = values_.find(names[i]);
    if (input == inputs.end() && value == values_.end())
      fail(Mistake::missing_input, "{}: no value for '{}': give it as an input, or in a params file", path_,
           names[i]);
    const Tensor& array = input != inputs.end() ? input->second : value->second;
    const TensorType given{array.dtype(), array.shape()};
    if (!(given == plan.inputs[i]))
      fail("{}: the argument '{}' is {}, but got {}", path_, names[i], plan.inputs[i].str(), given.str());
    const bool is_written = std::any_of(plan.write_backs.begin(), plan.write_backs.end(),
                                        [&](const auto& write) { return write.input == i; });
    arguments.push_back(is_written ? array.copy() : array);
  }
  std::optional<ThreadLimit> limit;
  if (options.threads > 0) limit.emplace(options.threads);
  return run_executable(*program_->executable, arguments);
}

}  // namespace kiln
