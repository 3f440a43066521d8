// The matrix unit of x86 processors: AMX.
#pragma once
#include <kiln/export.h>

#include <cstdint>

namespace kiln::codegen {

/// The matrix unit: eight tile registers of up to 16 rows of 16 words, which are four bytes each.
namespace matrix_unit {
inline constexpr int registers = 8, rows = 16;
inline constexpr std::int64_t words = 16;
}  // namespace matrix_unit

/// Whether kernels may use AMX's tiles. The machine has them for bf16 and for bytes, the system grants them
/// to this process, and products by them have the bits of plain instructions. Asked once per process.
bool has_matrix_unit();

/// Products of the matrix unit: of pairs of bf16, or of four u8 by four i8.
enum class MatrixProducts { pairs, bytes };
/// Multiply-adds of one instruction, on whole registers.
constexpr std::int64_t multiply_adds_of_matrix_unit(MatrixProducts products) {
  return matrix_unit::rows * matrix_unit::words * matrix_unit::words *
         (products == MatrixProducts::pairs ? 2 : 4);
}
/// Executes `count` instructions on zeros, a multiple of four, in four chains. There must be a matrix unit.
void run_matrix_unit(MatrixProducts products, std::int64_t count);

namespace detail {
/// For tests that execute AMX's instructions in software: has_matrix_unit() asks neither the machine nor the
/// system, and multiplies as ever. To be called before its first call.
KILN_API void assume_matrix_unit();
}  // namespace detail

}  // namespace kiln::codegen
