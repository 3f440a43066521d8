// PTX instructions on integers that LLVM has no instruction for.
#include "integers.h"

namespace kiln::ptx {

using llvm::Value;

Value* shift(llvm::IRBuilder<>& b, llvm::StringRef name, bool is_signed, Value* x, Value* amount) {
  auto* const type = x->getType();
  Value* const most = b.getInt32(type->getIntegerBitWidth() - 1);
  Value* const beyond = b.CreateICmpUGT(amount, most);
  Value* const clamped = b.CreateZExtOrTrunc(b.CreateSelect(beyond, most, amount), type);
  if (name == "shr" && is_signed) return b.CreateAShr(x, clamped);
  Value* const shifted = name == "shl" ? b.CreateShl(x, clamped) : b.CreateLShr(x, clamped);
  return b.CreateSelect(beyond, llvm::ConstantInt::get(type, 0), shifted);
}

Value* extract_bits(llvm::IRBuilder<>& b, Value* x, Value* position, Value* length) {
  const unsigned bits = x->getType()->getIntegerBitWidth();
  auto* const wide = b.getIntNTy(2 * bits);
  const auto low_byte = [&](Value* i) {
    Value* const v = b.CreateAnd(i, b.getInt32(255));
    Value* const most = b.getInt32(bits);
    return b.CreateZExt(b.CreateSelect(b.CreateICmpUGT(v, most), most, v), wide);
  };
  Value* const shifted = b.CreateLShr(b.CreateZExt(x, wide), low_byte(position));
  Value* const one = llvm::ConstantInt::get(wide, 1);
  Value* const mask = b.CreateSub(b.CreateShl(one, low_byte(length)), one);
  return b.CreateTrunc(b.CreateAnd(shifted, mask), x->getType());
}

Value* permute_bytes(llvm::IRBuilder<>& b, Value* low, Value* high, Value* digits) {
  auto* const i64 = b.getInt64Ty();
  Value* const bytes = b.CreateOr(b.CreateZExt(low, i64), b.CreateShl(b.CreateZExt(high, i64), 32));
  Value* result = b.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    Value* const digit = b.CreateLShr(digits, 4 * i);
    Value* const at = b.CreateZExt(b.CreateMul(b.CreateAnd(digit, b.getInt32(7)), b.getInt32(8)), i64);
    Value* const byte = b.CreateTrunc(b.CreateLShr(bytes, at), b.getInt8Ty());
    Value* const signs = b.CreateICmpNE(b.CreateAnd(digit, b.getInt32(8)), b.getInt32(0));
    Value* const chosen = b.CreateSelect(signs, b.CreateAShr(byte, 7), byte);
    result = b.CreateOr(result, b.CreateShl(b.CreateZExt(chosen, b.getInt32Ty()), 8 * i));
  }
  return result;
}

Value* divide(llvm::IRBuilder<>& b, bool is_remainder, bool is_signed, Value* x, Value* y) {
  if (!is_signed) return is_remainder ? b.CreateURem(x, y) : b.CreateUDiv(x, y);
  auto* const type = x->getType();
  Value* const is_minus_one = b.CreateICmpEQ(y, llvm::ConstantInt::getAllOnesValue(type));
  Value* const by = b.CreateSelect(is_minus_one, llvm::ConstantInt::get(type, 1), y);
  if (is_remainder) return b.CreateSRem(x, by);
  Value* const quotient = b.CreateSDiv(x, by);
  return b.CreateSelect(is_minus_one, b.CreateNeg(quotient), quotient);
}

Value* rounded_to_tf32(llvm::IRBuilder<>& b, Value* x) {
  Value* const bits = b.CreateBitCast(x, b.getInt32Ty());
  Value* const nearest = b.CreateAnd(b.CreateAdd(bits, b.getInt32(0x1000)), b.getInt32(~0x1fffU));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt32(0x7fffe000), nearest);
}

}  // namespace kiln::ptx
