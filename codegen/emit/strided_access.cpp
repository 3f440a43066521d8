// The axes along which accesses suit a loop nest.
#include "codegen/emit/strided_access.h"

#include "codegen/target/tuning.h"

#include <llvm/ADT/STLExtras.h>
#include <mlir/IR/BuiltinTypes.h>

#include <bit>
#include <numeric>

namespace kiln::codegen {

int stride_class(std::int64_t stride) { return stride == 0 ? 0 : stride == 1 ? 1 : 2; }

bool is_small_step(std::int64_t stride) { return stride >= 2 && stride <= 4; }

bool is_shared_by_rows(const StridedAccess& access) {
  const std::size_t rank = access.strides.size();
  return rank > 1 && access.strides[rank - 2] == 0;
}

bool reads_transposed(const StridedAccess& access) {
  const std::size_t rank = access.strides.size();
  return rank > 1 && access.operand >= 0 && access.read && access.dtype != DType::boolean &&
         stride_class(access.strides.back()) == 2 && access.strides[rank - 2] == 1;
}

void join_repeats(Dims& extents, std::vector<StridedAccess>& accesses, int lanes, int registers,
                  std::int64_t multiple) {
  constexpr int min_registers = 2;
  const std::size_t rank = extents.size();
  if (rank < 2 || extents.back() < 2 || lanes == 1 ||
      extents.back() >= std::max(registers, min_registers) * lanes)
    return;
  const std::int64_t times = extents.back();
  if (multiple % times != 0) return;
  if (times < lanes && lanes % times != 0 && extents[rank - 2] * times < std::lcm(times, lanes)) return;
  const auto repeats = [&](const StridedAccess& s) {
    return s.operand >= 0 && s.read && s.strides[rank - 2] == 1 && s.strides[rank - 1] == 0;
  };
  const auto cycles = [&](const StridedAccess& s) {
    return s.operand >= 0 && s.read && s.strides[rank - 2] == 0 && s.strides[rank - 1] == 1;
  };
  // Squares of more arrays are transposed in registers.
  const auto alternates = [&](const StridedAccess& s) { return times == 2 && reads_transposed(s); };
  const auto goes_on = [&](const StridedAccess& s) {
    return s.strides[rank - 2] == s.strides[rank - 1] * times;
  };
  if (!llvm::all_of(accesses, [&](const StridedAccess& s) {
        return repeats(s) || cycles(s) || alternates(s) || goes_on(s);
      }))
    return;
  // A register of elements in turn is two masked loads then, which only functions outweigh.
  if (registers == 1 && times > lanes && times % lanes != 0 && llvm::any_of(accesses, cycles)) return;
  extents.pop_back();
  extents.back() *= times;
  for (StridedAccess& s : accesses) {
    if (alternates(s)) {
      s.arrays = static_cast<int>(times);
      s.strides.erase(s.strides.end() - 2);
      continue;
    }
    if (repeats(s))
      s.repeats = static_cast<int>(times);
    else if (cycles(s))
      s.cycle = static_cast<int>(times);
    else
      s.strides[rank - 2] = s.strides[rank - 1];
    s.strides.pop_back();
  }
}

int move_transposed_axis_inward(Dims& extents, std::vector<StridedAccess>& accesses, int lanes,
                                bool keep_outermost) {
  const std::size_t rank = extents.size();
  if (lanes == 1 || rank < 2) return 0;
  constexpr int min_side = 4;
  const bool is_small = mlir::ShapedType::getNumElements(extents) < tuning::min_narrow_elements;
  if (extents.back() < lanes) {
    if (is_small) return 0;
    const auto columns = static_cast<unsigned>(extents.back());
    lanes = std::min(lanes, std::max(static_cast<int>(std::bit_ceil(columns)), min_side));
  }
  for (const StridedAccess& s : accesses)
    for (std::size_t axis = keep_outermost && rank > 2 ? 1 : 0; axis + 1 < rank; ++axis) {
      const auto inward = [&](Dims dims) {
        std::rotate(dims.begin() + static_cast<std::ptrdiff_t>(axis),
                    dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end() - 1);
        return dims;
      };
      StridedAccess moved = s;
      moved.strides = inward(s.strides);
      const int side = static_cast<int>(
          std::bit_floor(static_cast<std::uint64_t>(std::min<std::int64_t>(extents[axis], lanes))));
      if (side < (is_small ? lanes : std::min(lanes, min_side)) || !reads_transposed(moved)) continue;
      extents = inward(extents);
      for (StridedAccess& other : accesses) other.strides = inward(other.strides);
      return side;
    }
  return 0;
}

}  // namespace kiln::codegen
