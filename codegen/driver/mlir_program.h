// Programs in the text of the kiln dialect.
#pragma once
#include "codegen/driver/compile.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// A compiled program: a function in the kiln dialect, as the stage "kiln" of a dump shows a graph.
struct MlirProgram {
  /// An argument: kiln.name and kiln.parameter of it; without a name "arg0", "arg1", ...
  struct Argument {
    std::string name;
    bool is_parameter = false;
  };
  std::vector<Argument> arguments;   ///< of the executable's inputs
  std::vector<std::string> results;  ///< the operators that compute the executable's outputs; may be empty
  std::shared_ptr<const Executable> executable;
};

/// Compiles a program. The text is of unknown origin: a text that does not parse, does not verify, or is of
/// another stage or dialect throws kiln::Error with `path`, line and column. Any thread.
MlirProgram compile_mlir(std::string_view text, const std::string& path,
                         const CompileOptions& options = default_options());

}  // namespace kiln
