// An array that is continued beyond its ends, as parts that are copies.
#pragma once
#include "codegen/emit/launch.h"
#include "ir/dialect.h"

#include <array>
#include <vector>

namespace kiln::codegen {

/// An axis of the result.
struct ExtendedAxis {
  std::int64_t extent = 1;  ///< of the result
  std::int64_t low = 0;     ///< elements that precede the operand
  std::int64_t inner = 1;   ///< extent of the operand
  std::int64_t stride = 0;  ///< of the operand, in elements

  bool is_extended() const { return inner != extent; }
  std::int64_t high() const { return extent - low - inner; }
};

/// Consecutive elements of the result along an axis: elements of the operand from `from` on, `step` apart.
struct AxisPart {
  std::int64_t to, count, from, step;
};
/// The parts of an axis: before the operand, the operand, and after it.
std::array<AxisPart, 3> parts_of(const ExtendedAxis& axis, ir::Extend how);

/// The result of an extension as copies of boxes of its operand.
std::vector<StridedBox> parts_of(ir::ExtendOp extend);

}  // namespace kiln::codegen
