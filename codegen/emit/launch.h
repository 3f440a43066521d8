// The launch of a kernel: a request for its code, and the parameters of one operation.
#pragma once
#include "codegen/emit/kernel_builder.h"

#include <memory>

namespace kiln::codegen {

/// A kernel with its parameters for given shapes; schedule.cpp adds the operands' buffers. Operands are
/// numbered: the fusion's arguments, then its results, then the random state if it is used.
struct Launch {
  KernelRequest request;
  std::vector<std::int64_t> params;
  std::int64_t extent = 1;
  std::int64_t grain = 1;
  bool uses_random = false;
  /// Bytes of scratch memory per thread (Step::scratch_bytes): the last operand.
  std::int64_t scratch_bytes = 0;
  /// A table of i64, one more operand after the random state; empty: none.
  std::vector<std::int64_t> table;
  /// The same results by a slower kernel with the same operands, which other sizes share; or null.
  std::shared_ptr<Launch> generic = {};
};

/// A copy from one strided view to another: operand 0 to operand 1. Strides and offsets are in elements.
struct StridedBox {
  llvm::SmallVector<std::int64_t, 6> shape;
  llvm::SmallVector<std::int64_t, 6> from_strides, to_strides;
  std::int64_t from_offset = 0, to_offset = 0;
};

/// Names of the operators in a location, joined: "fc1+relu".
std::string name_of_location(mlir::Location loc);

/// The computation of an operation in words: "dot_add_max" of a fusion of a contraction with its epilogue. At
/// most max_words_length characters; views count only if there is nothing else.
std::string words_of(mlir::Operation* op);
inline constexpr std::size_t max_words_length = 40;

/// The grain of a loop: equally large tasks of at least that cost. An iteration costs `cost` of the cheapest
/// element operations; tasks begin at multiples of `multiple`.
std::int64_t grain_for(std::int64_t extent, std::int64_t cost, std::int64_t multiple = 1);

}  // namespace kiln::codegen
