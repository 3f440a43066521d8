// Emits products of bytes.
#include "codegen/emit/byte_products.h"

namespace kiln::codegen {
namespace {

using mlir::Value;

/// Words as vectors of narrower integers.
class Words {
 public:
  Words(KernelBuilder& builder, int word_lanes) : e(builder), lanes(word_lanes) {}

  Value constant(std::int64_t value) { return e.number(DType::i32, static_cast<double>(value), lanes); }
  Value shifted_right(Value words, int bits) {
    return mlir::arith::ShRUIOp::create(e.b, e.loc, words, constant(bits));
  }
  Value masked(Value words, std::int64_t mask) {
    return mlir::arith::AndIOp::create(e.b, e.loc, words, constant(mask));
  }
  /// The same bits as integers of `bits` bits.
  Value as(Value words, int bits) { return mlir::LLVM::BitcastOp::create(e.b, e.loc, narrow(bits), words); }
  /// The low byte of each half of the words, or the high one, sign-extended to that half.
  Value signed_bytes(Value words, bool high) {
    const Value eight = mlir::arith::ConstantOp::create(
        e.b, e.loc, mlir::DenseElementsAttr::get(narrow(16), e.b.getI16IntegerAttr(8)));
    Value halves = as(words, 16);
    if (!high) halves = mlir::arith::ShLIOp::create(e.b, e.loc, halves, eight);
    return mlir::arith::ShRSIOp::create(e.b, e.loc, halves, eight);
  }
  Value call(const char* name, mlir::ValueRange operands) {
    return mlir::LLVM::CallIntrinsicOp::create(e.b, e.loc, e.lanes_of(e.b.getI32Type(), lanes),
                                               e.b.getStringAttr(name), operands)
        .getResult(0);
  }

 private:
  mlir::VectorType narrow(int bits) {
    return mlir::VectorType::get({lanes * (32 / bits)}, e.b.getIntegerType(static_cast<unsigned>(bits)));
  }

  KernelBuilder& e;
  int lanes;
};

/// Without vectors: byte by byte.
Value multiply_add_each(KernelBuilder& e, int lanes, Value a, Value b, Value sum) {
  Words words(e, lanes);
  for (int byte = 0; byte < 4; ++byte) {
    const Value factor = words.masked(words.shifted_right(a, 8 * byte), 255);
    const Value left = mlir::arith::ShLIOp::create(e.b, e.loc, b, words.constant(24 - 8 * byte));
    const Value other = mlir::arith::ShRSIOp::create(e.b, e.loc, left, words.constant(24));
    sum = e.add(sum, e.mul(factor, other));
  }
  return sum;
}

}  // namespace

std::string_view word_of(ByteProducts products) { return products == ByteProducts::vnni ? "vnni" : "pairs"; }

ByteProducts byte_products_of(const CpuTarget& target, int lanes) {
  return target.vnni && lanes >= 4 ? ByteProducts::vnni : ByteProducts::pairs;
}

Value multiply_add_bytes(KernelBuilder& e, ByteProducts products, int lanes, Value a, Value b, Value sum) {
  if (lanes < 4) return multiply_add_each(e, lanes, a, b, sum);
  Words words(e, lanes);
  if (products == ByteProducts::vnni) {
    const char* const name = lanes == 16  ? "llvm.x86.avx512.vpdpbusd.512"
                             : lanes == 8 ? "llvm.x86.avx512.vpdpbusd.256"
                                          : "llvm.x86.avx512.vpdpbusd.128";
    return words.call(name, {sum, words.as(a, 8), words.as(b, 8)});
  }
  const char* const name = lanes == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                           : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                        : "llvm.x86.sse2.pmadd.wd";
  constexpr std::int64_t even_bytes = 0x00ff00ff;
  for (const bool high : {false, true}) {
    const Value factors = words.masked(high ? words.shifted_right(a, 8) : a, even_bytes);
    sum = e.add(sum, words.call(name, {words.as(factors, 16), words.signed_bytes(b, high)}));
  }
  return sum;
}

}  // namespace kiln::codegen
