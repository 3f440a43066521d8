// Intended differences from MXNet's infer_shape.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

/// Where Kiln's rule of shapes differs from MXNet's infer_shape on purpose.
namespace shapes {

struct Difference {
  enum class Kind {
    accepts,        ///< Kiln computes what MXNet refuses
    refuses,        ///< Kiln refuses what MXNet accepts
    other_outputs,  ///< both accept
  } kind;
  std::vector<std::string> operators;
  std::size_t cases;  ///< of mxnet.txt
  std::string reason;
};

const std::vector<Difference>& differences();

/// The row about this difference; null if there is none.
const Difference* find_difference(const std::string& op, Difference::Kind kind);

}  // namespace shapes
