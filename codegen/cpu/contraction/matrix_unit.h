// The instructions of the matrix unit, AMX.
#pragma once
#include "codegen/emit/kernel_builder.h"
#include "codegen/target/matrix_unit.h"

namespace kiln::codegen {

/// A multiplication adds to a register of sums the product of a register of A and one of B. Rows of A have
/// words of k. Rows of B are words of k, and have the columns of the sums. Tile registers live from
/// configure() to release().
namespace matrix_unit {

/// A register's rows, and the bytes of a row; null where it is not used.
struct Shape {
  mlir::Value rows, row_bytes;
};
/// All registers are zeros then.
void configure(KernelBuilder& e, llvm::ArrayRef<Shape> shapes);
void release(KernelBuilder& e);
void clear(KernelBuilder& e, int of_register);
/// Rows are `stride` bytes apart.
void load(KernelBuilder& e, int to, mlir::Value address, mlir::Value stride);
void store(KernelBuilder& e, int from, mlir::Value address, mlir::Value stride);
/// sums += lhs * rhs: pairs by paired32.
void multiply_add(KernelBuilder& e, MatrixProducts products, int sums, int lhs, int rhs);

}  // namespace matrix_unit
}  // namespace kiln::codegen
