// Emits the instructions of AMX.
#include "codegen/cpu/contraction/matrix_unit.h"

namespace kiln::codegen::matrix_unit {
namespace {

using mlir::Value;

void call(KernelBuilder& e, const char* name, llvm::ArrayRef<Value> operands) {
  mlir::LLVM::CallIntrinsicOp::create(e.b, e.loc, e.b.getStringAttr(name), operands);
}

/// The number of a register, which is a part of its instruction.
Value number(KernelBuilder& e, int of_register) {
  return mlir::LLVM::ConstantOp::create(e.b, e.loc, e.b.getI8Type(),
                                        e.b.getI8IntegerAttr(static_cast<std::int8_t>(of_register)));
}

}  // namespace

void configure(KernelBuilder& e, llvm::ArrayRef<Shape> shapes) {
  // Palette 1; from byte 16 on the bytes of a row of each register, of 16 bits; from byte 48 on its rows.
  constexpr std::int64_t row_bytes_at = 16, rows_at = 48;
  const Value config = e.stack(DType::i64, 8);
  for (std::int64_t word = 0; word < 8; ++word)
    e.store_scalar(e.index(word == 0), e.element(config, e.index(word), DType::i64), DType::i64);
  const auto set = [&](std::int64_t byte, Value value) {
    const Value narrow = mlir::arith::TruncIOp::create(e.b, e.loc, e.b.getI8Type(), value);
    e.store_scalar(narrow, e.byte_offset(config, e.index(byte)), DType::u8);
  };
  for (auto [i, shape] : llvm::enumerate(shapes)) {
    if (!shape.rows) continue;
    set(row_bytes_at + 2 * static_cast<std::int64_t>(i), shape.row_bytes);
    set(rows_at + static_cast<std::int64_t>(i), shape.rows);
  }
  call(e, "llvm.x86.ldtilecfg", {config});
}

void release(KernelBuilder& e) { call(e, "llvm.x86.tilerelease", {}); }

void clear(KernelBuilder& e, int of_register) { call(e, "llvm.x86.tilezero", {number(e, of_register)}); }

void load(KernelBuilder& e, int to, Value address, Value stride) {
  call(e, "llvm.x86.tileloadd64", {number(e, to), address, stride});
}

void store(KernelBuilder& e, int from, Value address, Value stride) {
  call(e, "llvm.x86.tilestored64", {number(e, from), address, stride});
}

void multiply_add(KernelBuilder& e, MatrixProducts products, int sums, int lhs, int rhs) {
  call(e, products == MatrixProducts::pairs ? "llvm.x86.tdpbf16ps" : "llvm.x86.tdpbusd",
       {number(e, sums), number(e, lhs), number(e, rhs)});
}

}  // namespace kiln::codegen::matrix_unit
