// Runs of programs in the text of the kiln dialect.
#pragma once
#include <kiln/model.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kiln {

struct MlirProgram;

/// A compiled program from a .mlir file: a graph as the stage "kiln" of a dump shows it. Immutable; any
/// thread.
class KILN_API MlirModel {
 public:
  /// Reads and compiles a file for options.device. `params_path`: values of arguments, as Model::load takes
  /// them; empty: none. Throws kiln::Error, of a text with the file, line and column.
  static MlirModel load(const std::string& path, const std::string& params_path, const RunOptions& options);

  /// Arguments without a value, in their order.
  std::vector<std::string> input_names() const;
  /// By result, the operator that computes it; may be empty.
  const std::vector<std::string>& output_names() const;
  /// One call. `inputs`: by argument, of the argument's shape and dtype; all that have no value. Arguments
  /// that the program writes keep their values.
  std::vector<Tensor> run(const std::map<std::string, Tensor>& inputs, const RunOptions& options) const;

 private:
  MlirModel() = default;
  std::string path_;
  std::shared_ptr<const MlirProgram> program_;
  std::map<std::string, Tensor> values_;
};

}  // namespace kiln
