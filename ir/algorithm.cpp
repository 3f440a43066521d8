// The algorithm of each contraction, from its shape.
#include "ir/algorithm.h"

namespace kiln::ir {

bool winograd_is_defined(mlir::RankedTensorType w, const Window& window, std::int64_t groups) {
  const auto all = [](llvm::ArrayRef<std::int64_t> values, std::int64_t of) {
    return llvm::all_of(values, [=](std::int64_t v) { return v == of; });
  };
  const auto list = [](const Shape& s) { return llvm::ArrayRef<std::int64_t>(s.begin(), s.size()); };
  return w.getRank() == 4 && all(w.getShape().drop_front(2), 3) && all(list(window.stride), 1) &&
         all(list(window.dilate), 1) && groups == 1 && w.getElementType().isF32();
}

Algorithm convolution_algorithm(mlir::RankedTensorType w, mlir::RankedTensorType result, const Window& window,
                                std::int64_t groups) {
  // Smaller cases: the transforms and the larger weights cost more than the saved multiplications.
  constexpr std::int64_t min_channels = 16, min_extent = 7;
  if (!winograd_is_defined(w, window, groups)) return Algorithm::chained512;
  const bool pays = std::min(w.getDimSize(0), w.getDimSize(1)) >= min_channels &&
                    std::min(result.getDimSize(2), result.getDimSize(3)) >= min_extent;
  return pays ? Algorithm::winograd : Algorithm::chained512;
}

}  // namespace kiln::ir
