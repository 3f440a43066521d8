// Conversions between element types.
#pragma once
#include "codegen/math/num.h"
#include "codegen/target/isa.h"
#include "runtime/dtype_table.h"

/// Conversions between Kiln's element types, in their register forms. All are total.
namespace kiln::codegen {

/// The nearest number of a narrow float type (ties to even) to an f32 or f64, as f32.
Num round_to(Num x, DType type, Isa isa);
/// The bits of a value that round_to gave, as i16, and back.
Num narrow_bits(Num x, DType type, Isa isa);
Num from_narrow_bits(Num bits, DType type, Isa isa);

Num cast(Num x, DType from, DType to, Isa isa);

/// Toward zero, through i64 as KilnOps.td says, then the low `width` bits.
Num wrapped_from_float(Num x, int width);

}  // namespace kiln::codegen
