// x86 intrinsics on vectors of any number of registers.
#include "codegen/math/x86.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

int register_bits(Num x) { return x.isa() == Isa::avx512 ? 512 : x.isa() == Isa::avx2 ? 256 : 0; }
bool fills_registers(Num x, int bits) { return bits != 0 && x.lanes() * x.width() % bits == 0; }

mlir::Value constant(Num like, unsigned bits, std::int64_t v) {
  mlir::OpBuilder& b = like.builder();
  return mlir::arith::ConstantOp::create(b, like.loc(), b.getIntegerAttr(b.getIntegerType(bits), v));
}
/// The operand of AVX-512's instructions that says how to round.
mlir::Value as_set(Num like) { return constant(like, 32, 4); }

/// The mask of a register.
mlir::Value all_lanes(Num like) { return constant(like, like.width() == 64 ? 8 : 16, -1); }

/// Applies an intrinsic to each register, with the operands that `operands` makes of two of them. `name`
/// lacks the type.
Num call(llvm::StringRef name, Num a, Num b,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(Num, Num)> operands) {
  const int bits = register_bits(a);
  const auto whole = a.builder().getStringAttr(
      fmt::format("llvm.x86.{}.{}.{}", name.str(), a.width() == 64 ? "pd" : "ps", bits));
  return by_registers(a, b, bits / a.width(), [&](Num a, Num b) {
    return a.make(
        mlir::LLVM::CallIntrinsicOp::create(a.builder(), a.loc(), a.value().getType(), whole, operands(a, b))
            .getResult(0));
  });
}

Num extreme(llvm::StringRef name, Num a, Num b) {
  const bool wide = register_bits(a) == 512;
  return call((wide ? "avx512." : "avx.") + name.str(), a, b, [&](Num a, Num b) {
    llvm::SmallVector<mlir::Value> operands{a, b};
    if (wide) operands.push_back(as_set(a));
    return operands;
  });
}

}  // namespace

bool has_scalef(Num p) { return p.isa() == Isa::avx512 && fills_registers(p, 512); }
Num scalef(Num p, Num n) {
  return call("avx512.mask.scalef", p, n, [](Num p, Num n) -> llvm::SmallVector<mlir::Value> {
    return {p, n, p, all_lanes(p), as_set(p)};
  });
}

bool has_exponents(Num x) { return x.isa() == Isa::avx512 && fills_registers(x, 512); }
Num exponent(Num x) {
  return call("avx512.mask.getexp", x, x, [](Num x, Num) -> llvm::SmallVector<mlir::Value> {
    return {x, x, all_lanes(x), as_set(x)};
  });
}
Num mantissa(Num x) {
  return call("avx512.mask.getmant", x, x, [](Num x, Num) -> llvm::SmallVector<mlir::Value> {
    constexpr std::int64_t three_quarters_on = 3;
    return {x, constant(x, 32, three_quarters_on), x, all_lanes(x), as_set(x)};
  });
}

bool has_log_limits(Num x) { return has_exponents(x); }
Num log_limits(Num log_x, Num x) {
  return call("avx512.mask.fixupimm", log_x, x, [](Num log_x, Num x) -> llvm::SmallVector<mlir::Value> {
    // The class of a quiet NaN, a signalling one, 0, 1, -inf, inf, less than 0, greater: 0 keeps log_x, 2 is
    // the NaN, 3 a NaN, 4 and 5 the infinities.
    constexpr std::int64_t table = 0x03530422;
    const Num tables = bits(x).constant(table);
    return {log_x, x, tables, constant(x, 32, 0), all_lanes(x), as_set(x)};
  });
}

bool has_extremes(Num a) { return fills_registers(a, register_bits(a)); }
Num greater_or_second(Num a, Num b) { return extreme("max", a, b); }
Num less_or_second(Num a, Num b) { return extreme("min", a, b); }

}  // namespace kiln::codegen
