// Mutants without an effect on results.
#pragma once
#include "mutants.h"

#include <string_view>
#include <vector>

/// The mutants that nothing can notice, or nothing but time, each with the reason.
namespace kiln::ptx {

struct EqualMutants {
  std::string_view kernel;
  MutantKind kind;
  std::string_view numbers;  ///< "3a 7b": see Mutant::number
  std::string_view reason;
};

const std::vector<EqualMutants>& equal_mutants();

}  // namespace kiln::ptx
