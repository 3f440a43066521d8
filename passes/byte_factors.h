// The factors of contractions of bytes.
#pragma once
#include "ir/dialect.h"

#include <optional>

namespace kiln::passes {

/// The factors of a contraction whose operands are widened from bytes to i32, as a target that multiplies
/// bytes takes them (TargetModel::multiplies_bytes): each sum over k has whole words (ir::bytes_of_word),
/// those of the left factor u8, of the right one i8.
///
/// Bytes i8 of the left factor become u8 by adding 128. The product of these is too large by 128 times the
/// sum of each column of the right factor: `correction`, which is added. Integers wrap, so every step is
/// exact.
struct ByteFactors {
  mlir::Value lhs;  ///< u8; of a dot (batch..., m, k), of a convolution its padded input, channels first
  mlir::Value rhs;  ///< i8; of a dot (batch..., n, k), of a convolution its weights (o, c, kernel...)
  mlir::Value correction;  ///< i32: (batch..., n) or (o); or null

  /// `product` with its correction, whose last axis is the columns.
  mlir::Value corrected(mlir::OpBuilder& builder, mlir::Value product) const;
};

/// Nothing for contractions of other values. New operations are inserted by `builder`.
std::optional<ByteFactors> byte_factors(mlir::OpBuilder& builder, ir::DotOp op);
std::optional<ByteFactors> byte_factors(mlir::OpBuilder& builder, ir::ConvolutionOp op);

}  // namespace kiln::passes
