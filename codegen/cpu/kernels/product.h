#pragma once
#include "codegen/cpu/kernels/launch.h"
#include "codegen/cpu/loops/loop_nest.h"
#include "codegen/cpu/loops/scalar_expr.h"

namespace kiln::codegen {

/// What matrix products and convolutions have in common. The result's last axis are its columns, which
/// registers run along; all other axes are rows. An element is the sum over k of a left factor (by row and k)
/// times a right factor (by k and column), the latter packed in panels of `panel` columns.
struct Product {
  ir::View lhs;      ///< for its base and offset only
  unsigned rhs = 0;  ///< the fusion's argument
  /// Where that is not packed yet: element (k, column) lies at k * row_stride + column * column_stride.
  struct Unpacked {
    std::int64_t row_stride, column_stride;
  };
  std::optional<Unpacked> unpacked;
  Dims lhs_strides;  ///< along the result's axes but the columns, in elements
  Dims rhs_strides;  ///< the same for the packed factor: not 0 along the batch
  /// Where what follows pools the product (ir/windows.h): of each point of a window the offset of its left
  /// factors; strides are then along what comes of that.
  std::vector<std::int64_t> points;
  std::int64_t k_extent = 0;
  std::int64_t k_stride = 0;            ///< between left factors; unless there is
  std::vector<std::int64_t> k_offsets;  ///< for each k the offset of its left factor
  /// Columns come in groups, each with a left and a packed factor of its own.
  std::int64_t groups = 1, lhs_group = 0;
  std::int64_t columns = 0, panels = 0, panel = 0;  ///< of a group
  std::int64_t lhs_elements = 0;                    ///< distinct ones, over all rows
};

/// The kernel of a fusion whose root is such a product.
Launch launch_product(ir::FusionOp fusion, mlir::Value root, const Product& product, const char* family,
                      const Target& target);

}  // namespace kiln::codegen
