// Affine accesses, and the axes along which they suit a loop nest.
#pragma once
#include "runtime/tensor_type.h"

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kiln::codegen {

using Dims = llvm::SmallVector<std::int64_t, 6>;

/// An affine access of a loop nest, with one stride per axis. It reads the elements of an operand or, without
/// an operand, the integers (the index along an axis).
struct StridedAccess {
  DType dtype = DType::f32;
  int operand = -1;         ///< of the step; -1: the access yields the integer itself
  Dims strides;             ///< in elements, one per axis of the nest
  std::int64_t offset = 0;  ///< of the first element, in elements from the operand's beginning
  bool read = true;  ///< loaded at every point; with an innermost stride of 0, once before the inner loop
  int repeats = 1;   ///< consecutive points that use the same element; the innermost stride is then 1
  int cycle = 1;     ///< elements that consecutive points use in turn; the innermost stride is then 0
  int arrays = 1;    ///< contiguous arrays that consecutive points read in turn, the innermost stride apart
  /// The period of the access, in consecutive points: the points that share an element, the elements in turn,
  /// or the arrays in turn. 1 for other accesses.
  int group() const { return std::max({repeats, cycle, arrays}); }
};

/// 0 for a stride of 0, 1 for 1, and 2 for any other, which the code finds in a parameter.
int stride_class(std::int64_t stride);
/// Whether elements this far apart are loaded together with the elements between them, and lanes selected.
bool is_small_step(std::int64_t stride);
/// Whether consecutive rows of the box access the same elements.
bool is_shared_by_rows(const StridedAccess& access);
/// Whether the unit stride is along the last axis but one, so that consecutive elements belong to consecutive
/// rows.
bool reads_transposed(const StridedAccess& access);

/// Merges an innermost axis that is shorter than the registers that the body interleaves, or than two, with
/// the axis outside of it, if every access allows it. An access may have one element along the inner axis
/// (StridedAccess::repeats), or the same elements for each index of the outer axis (StridedAccess::cycle). Or
/// it may read two arrays in turn (StridedAccess::arrays), or have mergeable strides. `multiple`: loops begin
/// at multiples of this number of points, which have to be whole groups; 0: at multiples of
/// StridedAccess::group().
void join_repeats(Dims& extents, std::vector<StridedAccess>& accesses, int lanes, int registers,
                  std::int64_t multiple = 0);

/// Moves an axis along which an access has a unit stride to the second-last place, so that the access reads
/// transposed. Squares of at most `lanes` by `lanes` points must fit in the box. Returns the side of the
/// squares, which is smaller where rows are shorter or fewer; 0 if there is no such access. `keep_outermost`:
/// the outermost axis stays outermost.
int move_transposed_axis_inward(Dims& extents, std::vector<StridedAccess>& accesses, int lanes,
                                bool keep_outermost);

}  // namespace kiln::codegen
