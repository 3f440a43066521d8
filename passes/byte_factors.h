// The factors of contractions of bytes.
#pragma once
#include "ir/dialect.h"

#include <optional>

namespace kiln::passes {

/// The factors of a contraction whose operands are widened from bytes to i32, for a target that multiplies
/// bytes (TargetModel::multiplies_bytes). The LHS is u8, the RHS i8. Each sum over k has whole
/// words (ir::bytes_of_word).
///
/// An LHS of i8 becomes u8 by adding 128 to each byte. The product is then too large by 128 times the
/// sum of each column of the RHS, so that `correction` is added. Integers wrap: every step is exact.
struct ByteFactors {
  mlir::Value lhs;  ///< u8; of a dot (batch..., m, k), of a convolution its padded input, channels first
  mlir::Value rhs;  ///< i8; of a dot (batch..., n, k), of a convolution its weights (o, c, kernel...)
  mlir::Value correction;  ///< i32: (batch..., n) or (o); or null

  /// `product` with its correction, whose last axis is the columns.
  mlir::Value corrected(mlir::OpBuilder& builder, mlir::Value product) const;
};

/// Replaces a convolution of bytes that has no factors, as few channels of a group are no words, by the same
/// one of f32, which is returned. Applies if each of its sums is an integer below 2^24, so that f32 is exact
/// in any order. Users that convert the sums to f32 read them as they are. Null for others.
ir::ConvolutionOp replace_by_f32(mlir::OpBuilder& builder, ir::ConvolutionOp op);

/// Nothing for contractions of other values. New operations are inserted by `builder`.
std::optional<ByteFactors> byte_factors(mlir::OpBuilder& builder, ir::DotOp op);
std::optional<ByteFactors> byte_factors(mlir::OpBuilder& builder, ir::ConvolutionOp op);

}  // namespace kiln::passes
