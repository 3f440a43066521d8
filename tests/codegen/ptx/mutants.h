// Mutants: kernels with one small mistake.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Small mistakes in kernels: what a wrong schedule, index or rounding would look like in PTX.
namespace kiln::ptx {

enum class MutantKind {
  barrier,        ///< a barrier is removed
  distance,       ///< another distance of a shuffle: halved, doubled, one more
  bound,          ///< the other operand of a comparison or limit of an integer is one more or one less
  shared_offset,  ///< an address of shared memory is a word further, or a word before
  global_offset,  ///< an address of global memory is an element further, or an element before
  rounding,       ///< another rounding suffix or none, .ftz, .approx; another rounding to integers
  split,          ///< a fused multiply-add is a product and a sum, each rounded
  exchange        ///< two operands are exchanged
};
constexpr std::string_view mutant_kinds[] = {"barrier",       "distance", "bound", "shared_offset",
                                             "global_offset", "rounding", "split", "exchange"};
constexpr std::size_t mutant_kind_count = std::size(mutant_kinds);

struct Mutant {
  MutantKind kind;
  /// "12b": the second change of the twelfth instruction of the kernel that has changes of this kind.
  std::string number;
  std::string from, to;    ///< the instruction, and what it is changed to; empty: nothing
  std::size_t begin, end;  ///< of the instruction in the kernel's text

  std::string apply(const std::string& ptx) const;
};

/// The mutants of each instruction that has changes. A product has hundreds of similar multiply-adds. Of more
/// than 64 instructions of a kernel with the same opcode and kind of change, 8 to 16 evenly spaced ones are
/// taken.
std::vector<Mutant> mutants_of(const std::string& ptx);

}  // namespace kiln::ptx
