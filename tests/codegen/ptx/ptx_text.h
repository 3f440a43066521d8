// PTX text in pieces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

/// PTX text in pieces, as LLVM's NVPTX back end writes kernels: one entry, registers, local and shared
/// memory, labels and instructions. Views refer to the text.
namespace kiln::ptx {

/// A kernel parameter: its place in the bytes that a launch passes.
struct Parameter {
  std::string_view name;
  std::size_t offset = 0, bytes = 0;
};

/// `%r<5>`: %r1 to %r4, of `bits` bits; 1 for predicates.
struct Registers {
  std::string_view prefix;
  unsigned bits = 0;
};

/// Memory of a thread.
struct Local {
  std::string_view name;
  std::size_t offset = 0, bytes = 0;
};

/// Memory of a block.
struct Shared {
  std::string_view name;
  std::size_t offset = 0, bytes = 0;
};

/// A label, or an instruction: "@!%p1 add.s32 %r1, %r2, 5;".
struct Line {
  std::string_view label;
  std::string_view predicate;  ///< empty: always
  bool negated = false;
  std::string_view opcode;
  std::vector<std::string_view> operands;  ///< "{%r1, %r2}" and "[%rd1+8]" are one each
  std::string_view text;
};

struct Entry {
  std::string_view name;
  std::vector<Parameter> parameters;
  std::vector<Registers> registers;
  std::vector<Local> locals;
  std::vector<Shared> shared;  ///< sized by the launch: last, all at the end of the others
  std::vector<Line> lines;
  std::size_t parameter_bytes = 0, shared_bytes = 0;
  std::size_t local_bytes = 0;     ///< with alignment, for a first byte aligned to 16
  unsigned version = 0, arch = 0;  ///< .version 7.0 is 70, .target sm_80 80
  std::string_view arch_suffix;    ///< "a" of sm_90a
  std::size_t max_threads = 0;     ///< .maxntid and .reqntid: of a block; 0: not said
  bool waits = false;              ///< has barriers, shuffles, votes or products of matrices
  std::deque<std::string> own;     ///< text that differs from the PTX: of operands, of several lines
};

/// Throws std::runtime_error for what it does not know, with the line.
Entry parse(std::string_view text);

}  // namespace kiln::ptx
