// The axes around the rows of a contraction.
#pragma once
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"

namespace kiln::codegen {

inline constexpr ParamNames outer_axis_names{"extent", "lhs_stride", "rhs_stride"};

/// The axes around the rows of a product A B, as parameters of a kernel: a batch, images.
class OuterAxes {
 public:
  using Axis = KernelParams<outer_axis_names>;

  /// Strides are in elements, of A and of B; strides of further axes are left out.
  static void append(std::vector<std::int64_t>& params, llvm::ArrayRef<std::int64_t> extents,
                     llvm::ArrayRef<std::int64_t> lhs_strides, llvm::ArrayRef<std::int64_t> rhs_strides) {
    for (auto [extent, lhs, rhs] : llvm::zip(extents, lhs_strides, rhs_strides))
      Axis::append(params, {{"extent", extent}, {"lhs_stride", lhs}, {"rhs_stride", rhs}});
  }

  /// Appends an epilogue's axes; its first extra strides are A's, the second B's.
  static void append(std::vector<std::int64_t>& params, const Epilogue& epilogue) {
    append(params, llvm::ArrayRef(epilogue.extents()).drop_back(), epilogue.extra_strides(0),
           epilogue.extra_strides(1));
  }

  /// The axes whose parameters begin at params[first].
  OuterAxes(KernelBuilder& e, mlir::Value params, std::int64_t first, std::size_t count)
      : end_(first + static_cast<std::int64_t>(count) * Axis::size) {
    for (; first < end_; first += Axis::size) axes_.emplace_back(e, params, first);
  }
  /// The position after the parameters.
  std::int64_t end() const { return end_; }

  /// The index along each axis of point `number` of their box, in C order.
  llvm::SmallVector<mlir::Value> index(KernelBuilder& e, mlir::Value number) const {
    llvm::SmallVector<mlir::Value> extents;
    for (const Axis& axis : axes_) extents.push_back(axis["extent"]);
    return e.coordinates(number, extents);
  }
  /// Offset of an index in elements of A, and of B.
  mlir::Value lhs_offset(KernelBuilder& e, mlir::ValueRange index) const {
    return offset(e, index, "lhs_stride");
  }
  mlir::Value rhs_offset(KernelBuilder& e, mlir::ValueRange index) const {
    return offset(e, index, "rhs_stride");
  }

 private:
  mlir::Value offset(KernelBuilder& e, mlir::ValueRange index, Axis::Name stride) const {
    mlir::Value sum = e.index(0);
    for (auto [i, axis] : llvm::zip(index, axes_)) sum = e.add(sum, e.mul(i, axis[stride]));
    return sum;
  }

  std::int64_t end_;
  llvm::SmallVector<Axis> axes_;
};

}  // namespace kiln::codegen
