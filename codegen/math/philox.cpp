// Philox 4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), one counter a
// lane.
#include "codegen/math/math.h"
#include "codegen/math/num.h"

namespace kiln::codegen {

PhiloxWords emit_philox(mlir::OpBuilder& b, mlir::Location loc, mlir::Value seed, mlir::Value counter,
                        mlir::Value index) {
  constexpr std::int64_t kLow = 0xffffffff;
  Num i(b, loc, index), key(b, loc, seed), call(b, loc, counter);
  // 32-bit words, each in 64 bits so that products are whole.
  Num k0 = key & kLow, k1 = shift_right_logical(key, 32);
  Num x0 = i & kLow, x1 = shift_right_logical(i, 32);
  Num x2 = broadcast(call & kLow, i), x3 = broadcast(shift_right_logical(call, 32), i);
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      k0 = (k0 + 0x9e3779b9) & kLow;
      k1 = (k1 + 0xbb67ae85) & kLow;
    }
    Num p0 = x0 * 0xd2511f53, p1 = x2 * 0xcd9e8d57;
    x0 = shift_right_logical(p1, 32) ^ x1 ^ broadcast(k0, i);
    x1 = p1 & kLow;
    x2 = shift_right_logical(p0, 32) ^ x3 ^ broadcast(k1, i);
    x3 = p0 & kLow;
  }
  return {x0.value(), x1.value(), x2.value(), x3.value()};
}

mlir::Value emit_random(mlir::OpBuilder& b, mlir::Location loc, DType dtype, const PhiloxWords& words,
                        int word) {
  Num x(b, loc, words[static_cast<std::size_t>(word)]);
  if (dtype == DType::f32) {
    Num upper = resize_signed(shift_right_logical(x, 8), 32);  // 24 bits: exact in f32
    return float_from_signed(upper, 32) * 0x1p-24;
  }
  Num next(b, loc, words[static_cast<std::size_t>(word) + 1]);
  if (dtype == DType::i64) return x | (next << 32);
  Num whole = (shift_right_logical(x, 5) << 26) | shift_right_logical(next, 6);  // 53 bits: exact in f64
  return float_from_signed(whole, 64) * 0x1p-53;
}

}  // namespace kiln::codegen
