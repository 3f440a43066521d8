// The contents of a file of a model: arrays, operators and multiply-adds.
#pragma once
#include <kiln/dtype.h>
#include <kiln/export.h>
#include <kiln/shape.h>

#include <cstdint>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace kiln {

/// An array of a model or a file, without its elements.
struct ArrayInfo {
  std::string name;  ///< empty in a list without names
  /// Unknown (no value) if the rank is; an extent of -1 is unknown.
  std::optional<Shape> shape = {};
  std::optional<DType> dtype = {};  ///< unknown (no value) if nothing says it
  /// Elements and bytes; no value unless shape and dtype are known.
  std::optional<std::int64_t> elements = {}, bytes = {};
};

/// One operator of a model.
struct OperatorInfo {
  std::string name;          ///< as in the file, maybe an alias
  std::int64_t count = 0;    ///< nodes with it, in bodies of loops and branches too
  bool known = true;         ///< whether Kiln has it
  std::string nearest;       ///< if it is not known: the nearest name that is; may be empty
  double multiply_adds = 0;  ///< of all its nodes; of loops and branches, see ModelInfo::multiply_adds
};

/// The contents of a symbol file with its parameters, or of a file of arrays.
struct ModelInfo {
  std::string format;  ///< "symbol", "params", "npy", "npz" or "safetensors"
  /// Inputs of a symbol file: variables that are not parameters.
  std::vector<ArrayInfo> inputs;
  std::vector<ArrayInfo> outputs;  ///< results of a symbol file
  /// Variables with a value, and auxiliary states. Without a file of parameters: variables that declare how
  /// they are initialised or trained, and, if shapes are given, variables without one. Of a file of arrays,
  /// the arrays.
  std::vector<ArrayInfo> parameters;
  /// By multiply-adds, then count, then name.
  std::vector<OperatorInfo> operators;
  /// Multiply-adds of one forward call, in prediction: of each contraction and convolution that the operators
  /// are composed of, products of padding included. A step of a loop counts each time. A loop with a
  /// condition counts with the largest number of its steps, a branch with the body that has more. Exact below
  /// 2^53.
  double multiply_adds = 0;
  bool multiply_adds_are_bound = false;  ///< whether values decide how often a body runs
  /// Nodes that are not in the sum: the shapes of their inputs are unknown, or Kiln lacks the operator.
  std::int64_t uncounted_nodes = 0;
  /// The contradiction that ended the inference of shapes, if no shapes were given; else empty. Inputs
  /// without a declared dtype count as float32.
  std::string not_inferred;
};

/// Options of model_info().
struct ModelInfoOptions {
  std::optional<std::string> params = {};    ///< a file of parameters of a symbol file
  std::map<std::string, Shape> shapes = {};  ///< of inputs, by name
};

/// Reads a symbol file of any version of MXNet, or a file of arrays (load_arrays()); the contents tell which.
/// Operators that Kiln does not have are listed, and shapes inferred as far as they do not depend on these.
/// Throws kiln::Error, naming file, node and array, for bad files, options that the file has no use for,
/// arrays and shapes that contradict the symbol. Any thread.
KILN_API ModelInfo model_info(const std::string& path, const ModelInfoOptions& options = {},
                              std::source_location where = std::source_location::current());

}  // namespace kiln
