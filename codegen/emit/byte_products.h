// Products of bytes, four at a time.
#pragma once
#include "codegen/emit/kernel_builder.h"

#include <optional>
#include <string_view>

namespace kiln::codegen {

/// How words of four bytes, u8 of A and i8 of B, are multiplied; the sums are of i32 and wrap. Every way
/// gives the same bits: none saturates.
enum class ByteProducts {
  pairs,  ///< as products of 16 bits, the even bytes and the odd ones; in few lanes byte by byte
  vnni    ///< by vpdpbusd
};
std::string_view word_of(ByteProducts products);
/// The way for tiles of `lanes` columns.
ByteProducts byte_products_of(const CpuTarget& target, int lanes);

/// `sum` and, in each lane, the four products of the bytes of a and b, all of `lanes` lanes of i32.
mlir::Value multiply_add_bytes(KernelBuilder& e, ByteProducts products, int lanes, mlir::Value a,
                               mlir::Value b, mlir::Value sum);

}  // namespace kiln::codegen
