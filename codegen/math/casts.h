#pragma once
#include "codegen/math/num.h"
#include "codegen/target/isa.h"

#include <kiln/dtype.h>

/// Conversions between Kiln's element types, in their register forms. All are total.
namespace kiln::codegen {

/// The nearest f16 or bf16 (ties to even) of an f32 or f64, as f32.
Num round_to(Num x, DType type, Isa isa);
/// The bits of a value that round_to gave, as i16, and back.
Num half_bits(Num x, Isa isa);
Num half_from_bits(Num bits, Isa isa);
Num bfloat_bits(Num x);
Num bfloat_from_bits(Num bits);

/// uint8 and bool.
inline bool is_unsigned_integer(DType t) { return t == DType::u8 || t == DType::boolean; }

Num cast(Num x, DType from, DType to, Isa isa);

/// Toward zero, through i64 as KilnOps.td says, then the low `width` bits.
Num wrapped_from_float(Num x, int width);

}  // namespace kiln::codegen
