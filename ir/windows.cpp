// Finds the windows of poolings over contractions.
#include "ir/windows.h"

namespace kiln::ir {
std::int64_t Windows::point_of(SliceOp slice) const {
  std::int64_t point = 0;
  for (auto [start, extent] : llvm::zip(slice.getStart(), size)) point = point * extent + start;
  return point;
}

std::optional<Windows> windows_over(mlir::Value v) {
  if (v.use_empty()) return std::nullopt;
  auto any = llvm::dyn_cast<SliceOp>(*v.user_begin());
  if (!any) return std::nullopt;
  Windows windows;
  windows.size.assign(any.getStep().begin(), any.getStep().end());
  windows.shape.assign(ranked(any.getResult()).getShape().begin(), ranked(any.getResult()).getShape().end());
  for (auto [extent, size, count] : llvm::zip(ranked(v).getShape(), windows.size, windows.shape))
    if (count == 0 || count != extent / size) return std::nullopt;
  llvm::SmallDenseSet<std::int64_t> points;
  for (mlir::Operation* user : v.getUsers()) {
    auto slice = llvm::dyn_cast<SliceOp>(user);
    if (!slice || slice.getStep() != llvm::ArrayRef(windows.size) ||
        ranked(slice.getResult()).getShape() != llvm::ArrayRef(windows.shape))
      return std::nullopt;
    for (auto [start, size] : llvm::zip(slice.getStart(), windows.size))
      if (start >= size) return std::nullopt;
    points.insert(windows.point_of(slice));
  }
  if (windows.points() == 1 || windows.points() != static_cast<std::int64_t>(points.size()))
    return std::nullopt;
  return windows;
}

bool has_windows(mlir::Operation* product, const Windows& windows) {
  if (llvm::isa<WinogradOp>(product))
    return llvm::equal(windows.size, std::array<std::int64_t, 4>{1, 2, 2, 1});
  auto convolution = llvm::dyn_cast<PackedConvolutionOp>(product);
  return convolution && !is_depthwise(convolution) && !convolution.getChannelsFirst() &&
         windows.size.front() == 1 && windows.size.back() == 1;
}

std::optional<Windows> pooled_windows(mlir::Operation* product) {
  if (!is_product(product)) return std::nullopt;
  auto windows = windows_over(product->getResult(0));
  return windows && has_windows(product, *windows) ? windows : std::nullopt;
}

}  // namespace kiln::ir
