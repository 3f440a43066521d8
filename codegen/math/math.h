// The arithmetic of pointwise primitives.
#pragma once
#include "codegen/target/isa.h"
#include "ir/primitives.h"

#include <mlir/IR/Builders.h>
#include <mlir/IR/Location.h>
#include <mlir/IR/Value.h>

#include <array>

/// The arithmetic of pointwise primitives on values in registers: scalars, or vectors of any number of lanes,
/// with the semantics of ir/KilnOps.td. Every lane gets the bits that a scalar would, on every target.
///
/// Registers hold narrow floats as f32 (whose value the narrow type has: each operation rounds its result),
/// bool as i1, uint8 as i8. A wider Isa only allows shorter code for the same bits; Isa::scalar is right
/// everywhere.
namespace kiln::codegen {

mlir::Value emit_unary(mlir::OpBuilder&, mlir::Location, ir::Unary op, DType dtype, mlir::Value x,
                       Isa isa = Isa::scalar);
mlir::Value emit_binary(mlir::OpBuilder&, mlir::Location, ir::Binary op, DType dtype, mlir::Value a,
                        mlir::Value b, Isa isa = Isa::scalar);
mlir::Value emit_fma(mlir::OpBuilder&, mlir::Location, DType dtype, mlir::Value a, mlir::Value b,
                     mlir::Value c, Isa isa = Isa::scalar);
/// Number of argument registers to interleave. A function is one long chain of dependent operations; this
/// number of chains hides its latency, and their intermediate values mostly fit in registers. 0: any number.
int registers_at_once(ir::Unary op, DType dtype);
int registers_at_once(ir::Binary op);
/// `dtype` is the operands'; the result is i1.
mlir::Value emit_compare(mlir::OpBuilder&, mlir::Location, ir::Compare op, DType dtype, mlir::Value a,
                         mlir::Value b);
mlir::Value emit_select(mlir::OpBuilder&, mlir::Location, mlir::Value condition, mlir::Value a,
                        mlir::Value b);
mlir::Value emit_cast(mlir::OpBuilder&, mlir::Location, DType from, DType to, mlir::Value x, Isa isa);

/// Words 0 to 3 of Philox, each in an i64. seed and counter are i64 scalars, index an i64 or a vector of
/// them.
using PhiloxWords = std::array<mlir::Value, 4>;
PhiloxWords emit_philox(mlir::OpBuilder&, mlir::Location, mlir::Value seed, mlir::Value counter,
                        mlir::Value index);
/// A random number of dtype f32, f64 or i64 from `word` and, if that is too short, the next one, as
/// kiln.random_uniform says.
mlir::Value emit_random(mlir::OpBuilder&, mlir::Location, DType dtype, const PhiloxWords& words, int word);

/// The nearest number of a narrow float type, still as f32; f64 operands are rounded once. Other types: x.
mlir::Value round_to(mlir::OpBuilder&, mlir::Location, DType dtype, mlir::Value x, Isa isa = Isa::scalar);
/// From and to the form in memory: bits for narrow floats, i8 for bool. Other types: unchanged. A bool is
/// any byte that is not 0.
mlir::Value load_convert(mlir::OpBuilder&, mlir::Location, DType dtype, mlir::Value memory, Isa isa);
mlir::Value store_convert(mlir::OpBuilder&, mlir::Location, DType dtype, mlir::Value value, Isa isa);

}  // namespace kiln::codegen
