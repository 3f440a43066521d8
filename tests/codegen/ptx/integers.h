// PTX instructions on integers that LLVM has no instruction for.
#pragma once
#include <llvm/IR/IRBuilder.h>

/// Instructions of PTX on integers, or on bits of floats, that LLVM has none for. Values are integers of the
/// instruction's width.
namespace kiln::ptx {

/// A shift by the width or more gives zeros, or the sign. The amount has 32 bits.
llvm::Value* shift(llvm::IRBuilder<>& b, llvm::StringRef name, bool is_signed, llvm::Value* x,
                   llvm::Value* amount);
/// `length` bits from position `position` on; the lowest eight bits of both numbers count.
llvm::Value* extract_bits(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* position, llvm::Value* length);
/// Each byte of the result is selected, by a digit of the third operand, from the bytes of the first operand
/// followed by the second's. The digit's highest bit repeats the byte's sign.
llvm::Value* permute_bytes(llvm::IRBuilder<>& b, llvm::Value* low, llvm::Value* high, llvm::Value* digits);
/// By a number that is not 0. The least number by -1 wraps around.
llvm::Value* divide(llvm::IRBuilder<>& b, bool is_remainder, bool is_signed, llvm::Value* x, llvm::Value* y);
/// A float as the bits of the nearest one with 10 bits after the point; halves away from zero.
llvm::Value* rounded_to_tf32(llvm::IRBuilder<>& b, llvm::Value* x);

}  // namespace kiln::ptx
