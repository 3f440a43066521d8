#pragma once
#include <string>
#include <string_view>
#include <vector>

/// Small mistakes in kernels whose threads work together.
namespace kiln::ptx {

enum class MutantKind { barrier, distance, offset, bound };
constexpr std::string_view mutant_kinds[] = {"barrier", "distance", "offset", "bound"};

struct Mutant {
  MutantKind kind;
  std::string ptx;
  std::string from, to;  ///< the instruction, and what it is changed to; empty: nothing
};

/// Each barrier removed, each constant distance of a shuffle halved, doubled and increased, each address of
/// shared memory moved by a word up and down, each constant of a comparison increased and decreased.
std::vector<Mutant> mutants_of(const std::string& ptx);

}  // namespace kiln::ptx
