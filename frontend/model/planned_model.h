// A model compiled up to its plan, for tests that look at its kernels or change them.
#pragma once
#include "runtime/executable.h"

#include <kiln/model.h>

#include <map>
#include <string>
#include <vector>

namespace kiln {

/// A model compiled up to its plan, for tests that look at its kernels or change them.
struct PlannedModel {
  ExecutablePlan plan;
  std::vector<Tensor> variables;  ///< the inputs of the plan

  /// Throws the errors of Model::run. RunOptions::mode does not matter.
  KILN_API static PlannedModel of(const Model& model, const std::map<std::string, Tensor>& inputs,
                                  const RunOptions& options = {});
};

/// One call. Returns the outputs; variables that the plan writes are written.
KILN_API std::vector<Tensor> run_executable(const Executable& executable,
                                            const std::vector<Tensor>& variables);

}  // namespace kiln
