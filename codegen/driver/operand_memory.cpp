// Groups operands whose memory may overlap.
#include "codegen/driver/operand_memory.h"

namespace kiln::codegen {
namespace {

struct Operand {
  BufferRef ref;
  std::int64_t bytes;
};

bool may_overlap(const Operand& a, const Operand& b) {
  if (a.ref.space != b.ref.space) return false;
  // Inputs of a call may overlap each other.
  if (a.ref.space == BufferRef::Space::input) return true;
  return a.ref.index == b.ref.index && a.ref.offset < b.ref.offset + b.bytes &&
         b.ref.offset < a.ref.offset + a.bytes;
}

}  // namespace

std::vector<int> memory_of(std::span<const BufferRef> operands, std::span<const std::int64_t> bytes) {
  std::vector<int> memory;
  int next = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    memory.push_back(next);
    for (std::size_t j = 0; j < i; ++j) {
      if (memory[j] == memory[i] || !may_overlap({operands[i], bytes[i]}, {operands[j], bytes[j]})) continue;
      // All that overlaps i is one memory.
      const int joined = memory[j], from = memory[i];
      for (int& m : memory)
        if (m == from) m = joined;
    }
    next += memory[i] == next;
  }
  return memory;
}

}  // namespace kiln::codegen
