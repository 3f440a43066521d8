// A contraction as all targets see it, before it is divided into tiles.
#pragma once
#include "codegen/emit/byte_products.h"
#include "codegen/emit/loop_nest.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/scalar_expr.h"
#include "ir/dialect.h"

namespace kiln::codegen {

/// A contraction (GEMM): a matrix product, or a convolution as an implicit one. The last axis of the result
/// is its columns, which the lanes of registers run along; all other axes are rows. An element is the sum
/// over k of A (by row and k, the LHS) times B (by k and column, the RHS). B is packed in panels of `panel`
/// columns.
struct Contraction {
  ir::View lhs;      ///< for its base and offset only
  unsigned rhs = 0;  ///< the fusion's argument
  DType rhs_dtype;   ///< of B in memory: the result's, or one that the product widens to it
  /// A B that is not packed yet: element (k, column) lies at k * row_stride + column * column_stride.
  struct Unpacked {
    std::int64_t row_stride, column_stride;
  };
  std::optional<Unpacked> unpacked;
  Dims lhs_strides;  ///< of A along the result's axes but the columns, in elements
  Dims rhs_strides;  ///< of B, packed or not; not 0 along the batch
  /// The order of the rows' axes in tiles, if it differs from the result's.
  Dims row_order;
  /// Where the epilogue pools the result (ir/windows.h): A's offset of each point of a window; strides are
  /// then along the axes of the pooled result.
  std::vector<std::int64_t> window_points;
  std::int64_t k_extent = 0;
  std::int64_t k_stride = 0;            ///< of A along k, if there are no
  std::vector<std::int64_t> k_offsets;  ///< A's offset for each k
  /// Groups of columns, each with a separate A and packed B.
  std::int64_t groups = 1, lhs_group = 0;
  std::int64_t columns = 0, panels = 0, panel = 0;  ///< of a group
  std::int64_t lhs_elements = 0;                    ///< distinct elements of A, over all rows
  /// Values of k in an element of A or of B. Words of bytes, u8 of A and i8 of B, have four; their sums are
  /// of i32. Words of paired32 have two; their sums are of f32. Other elements are one value.
  std::int64_t values_of_word = 1;

  /// Whether the matrix unit computes it, which reads 16 neighbouring words of k.
  bool on_matrix_unit(const CpuTarget& target) const;
  std::optional<ByteProducts> byte_products(const CpuTarget& target, int lanes) const {
    return values_of_word == 4 && !on_matrix_unit(target) ? std::optional(byte_products_of(target, lanes))
                                                          : std::nullopt;
  }
  bool of_pairs() const { return values_of_word == 2; }
};

/// A view of values as one of words.
ir::View in_words(ir::View values, std::int64_t values_of_word);

/// Which operands of a kernel are A and B.
struct FactorOperands {
  int lhs, rhs;
  static constexpr auto fields() {
    return std::tuple(PlanField{"lhs", &FactorOperands::lhs}, PlanField{"rhs", &FactorOperands::rhs});
  }
  /// The operands for an A that is the view of an argument, and for B's argument.
  static FactorOperands of(const ir::View& lhs, unsigned rhs) {
    return {static_cast<int>(llvm::cast<mlir::BlockArgument>(lhs.base).getArgNumber()),
            static_cast<int>(rhs)};
  }
};

/// A matrix product as one, in a fusion.
Contraction contraction_of(ir::PackedDotOp root);

}  // namespace kiln::codegen
