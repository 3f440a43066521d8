// Emits addresses, loads and stores: the part of KernelBuilder that knows how elements lie in memory.
#include "codegen/emit/kernel_builder.h"
#include "codegen/math/math.h"
#include "codegen/target/tuning.h"
#include "runtime/dtype_table.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>
#include <mlir/IR/Matchers.h>

namespace kiln::codegen {

namespace LLVM = mlir::LLVM;
namespace arith = mlir::arith;

mlir::Value KernelBuilder::element(Value base, Value index, DType d) {
  return LLVM::GEPOp::create(b, loc, ptr(), memory_type(d), base, mlir::ValueRange{index});
}

mlir::Value KernelBuilder::byte_offset(Value base, Value bytes) {
  return LLVM::GEPOp::create(b, loc, ptr(), b.getI8Type(), base, mlir::ValueRange{bytes});
}

mlir::Value KernelBuilder::stack(DType d, std::int64_t elements) {
  const mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return LLVM::AllocaOp::create(b, loc, ptr(), memory_type(d), index(elements), tuning::cache_line_bytes);
}

mlir::Value KernelBuilder::load_argument(mlir::Type type, Value array, std::int64_t i,
                                         const llvm::Twine& name) {
  const mlir::Location named = mlir::NameLoc::get(b.getStringAttr(name), loc);
  return LLVM::LoadOp::create(b, named, type, element(array, index(i), DType::i64), 8, /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/true);
}

mlir::Value KernelBuilder::param(Value params, std::int64_t i, const llvm::Twine& name) {
  return load_argument(i64(), params, i, name);
}

mlir::Value KernelBuilder::buffer(Value buffers, std::int64_t i) {
  return load_argument(ptr(), buffers, i, "operand" + llvm::Twine(i));
}

mlir::Value KernelBuilder::to_register(Value memory, DType d, int lanes) {
  if (d == DType::boolean) {
    mlir::Value zero = splat(arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0)), lanes);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, memory, zero);
  }
  if (is_narrow_float(d)) return load_convert(b, loc, d, memory, target.isa);
  return memory;
}

mlir::Value KernelBuilder::to_memory(Value reg, DType d, int lanes) {
  if (d == DType::boolean) return arith::ExtUIOp::create(b, loc, lanes_of(b.getI8Type(), lanes), reg);
  if (is_narrow_float(d)) return store_convert(b, loc, d, reg, target.isa);
  return reg;
}

mlir::Value KernelBuilder::load_scalar(Value address, DType d) {
  return to_register(LLVM::LoadOp::create(b, loc, memory_type(d), address, alignment(d)), d, 1);
}

void KernelBuilder::store_scalar(Value value, Value address, DType d) {
  LLVM::StoreOp::create(b, loc, to_memory(value, d, 1), address, alignment(d));
}

mlir::Value KernelBuilder::load(Value address, DType d, int lanes, Value mask) {
  if (lanes == 1 && mask) fail_internal("a masked load of one lane");
  if (lanes == 1) return load_scalar(address, d);
  mlir::Type t = lanes_of(memory_type(d), lanes);
  if (!mask) return to_register(LLVM::LoadOp::create(b, loc, t, address, alignment(d)), d, lanes);
  mlir::Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(t));
  return to_register(LLVM::MaskedLoadOp::create(b, loc, t, address, mask, zero,
                                                b.getI32IntegerAttr(static_cast<std::int32_t>(alignment(d)))),
                     d, lanes);
}

mlir::Value KernelBuilder::load_every(Value address, std::int64_t step, DType d, int lanes, Value mask) {
  const std::int64_t end = (lanes - 1) * step + 1;
  Value picked;
  for (std::int64_t i = 0; i < step; ++i) {
    const std::int64_t first = std::min(i * lanes, end - lanes);
    Value of_part;
    if (mask) {  // the elements up to the last set lane
      llvm::SmallVector<std::int32_t> from;
      for (std::int64_t at = first; at < first + lanes; ++at)
        from.push_back(static_cast<std::int32_t>(llvm::divideCeilSigned(at, step)));
      of_part = shuffle(mask, mask, from);
    }
    const Value part = load(element(address, index(first), d), d, lanes, of_part);
    llvm::SmallVector<std::int32_t> from;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t at = lane * step;
      from.push_back(static_cast<std::int32_t>(at < i * lanes ? lane : lanes + at - first));
      if (at >= (i + 1) * lanes) from.back() = 0;  // in a later part
    }
    picked = shuffle(picked ? picked : part, part, from);
  }
  return picked;
}

void KernelBuilder::mix_pairs(llvm::MutableArrayRef<Value> registers, int bit, int apart,
                              llvm::function_ref<int(int lane)> lane_of) {
  const std::int64_t lanes = lanes_in(registers.front());
  llvm::SmallVector<std::int32_t> upper, lower;
  for (int lane = 0; lane < lanes; ++lane) {
    upper.push_back(lane_of(lane));
    lower.push_back(lane_of(lane) + apart);
  }
  for (std::size_t i = 0; i < registers.size(); ++i) {
    if (i & static_cast<std::size_t>(bit)) continue;
    Value &first = registers[i], &second = registers[i + static_cast<std::size_t>(bit)];
    const Value a = first, b_ = second;
    first = shuffle(a, b_, upper);
    second = shuffle(a, b_, lower);
  }
}

void KernelBuilder::exchange_bits_below(int end, llvm::MutableArrayRef<Value> registers) {
  if (end == 1) return;  // maybe of one lane
  const auto lanes = static_cast<int>(lanes_in(registers.front()));
  for (int bit = 1; bit < end; bit *= 2)
    mix_pairs(registers, bit, bit, [&](int lane) { return lane & bit ? lanes + lane - bit : lane; });
}

llvm::SmallVector<mlir::Value> KernelBuilder::load_transposed(llvm::ArrayRef<Value> addresses, DType d,
                                                              Value mask) {
  const auto lanes = static_cast<int>(addresses.size());
  auto registers = llvm::map_to_vector(addresses, [&](Value address) {
    return address ? load(address, d, lanes, mask) : number(d, 0, lanes);
  });
  exchange_bits_below(lanes, registers);
  return registers;
}

llvm::SmallVector<mlir::Value> KernelBuilder::load_half_transposed(llvm::ArrayRef<Value> addresses, DType d,
                                                                   Value mask) {
  // Bits of the numbers of addresses, elements, registers and lanes. Joining loads of two addresses makes a
  // bit of the addresses the highest lane bit. If it is the highest address bit, only the other bits have to
  // be exchanged. With registers of four blocks of 16 bytes it is the second highest instead: the highest bit
  // is then a register bit, and selecting every second block makes it a lane bit.
  const auto lanes = static_cast<int>(addresses.size()), half = lanes / 2,
             block = std::max(16 / static_cast<int>(size_of(d)), 1);
  const bool of_four = lanes == 4 * block;
  const int pair = of_four ? block : half;
  llvm::SmallVector<Value> registers;
  for (int first = 0; first < lanes; ++first) {
    if (first & pair) continue;
    const auto load_at = [&](int i) { return load(addresses[static_cast<std::size_t>(i)], d, half, mask); };
    const Value low = load_at(first);
    registers.push_back(join({low, load_at(first + pair)}));
  }
  exchange_bits_below(of_four ? block : half, registers);
  if (of_four)
    mix_pairs(registers, block, block, [&](int lane) { return lane / block * 2 * block + lane % block; });
  return registers;
}

void KernelBuilder::store(Value value, Value address, DType d, int lanes, Value mask) {
  if (lanes == 1 && mask) fail_internal("a masked store of one lane");
  if (lanes == 1) return store_scalar(value, address, d);
  Value memory = to_memory(value, d, lanes);
  mlir::DenseElementsAttr lanes_set;
  constexpr std::size_t min_register = 16;
  const bool in_pieces =
      target.isa == Isa::avx2 || static_cast<std::size_t>(lanes) * size_of(d) < min_register;
  if (mask && in_pieces && mlir::matchPattern(mask, mlir::m_Constant(&lanes_set))) {
    // AVX2's masked stores take a dozen cycles on some processors, and do not exist for narrow types and for
    // vectors smaller than a register.
    const auto count = static_cast<int>(llvm::count(lanes_set.getValues<bool>(), true));
    for (int first = 0, size; first < count; first += size) {
      size = static_cast<int>(llvm::bit_floor(static_cast<unsigned>(count - first)));
      LLVM::StoreOp::create(b, loc, sub_vector(memory, first, size),
                            byte_offset(address, index(first * static_cast<std::int64_t>(size_of(d)))),
                            alignment(d));
    }
  } else if (mask)
    LLVM::MaskedStoreOp::create(b, loc, memory, address, mask,
                                b.getI32IntegerAttr(static_cast<std::int32_t>(alignment(d))));
  else
    LLVM::StoreOp::create(b, loc, memory, address, alignment(d));
}

mlir::Value KernelBuilder::number_of_element(Value address, DType d) {
  const Value bits = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), address);
  return div(bits, index(static_cast<std::int64_t>(size_of(d))));
}

mlir::Value KernelBuilder::is_line_aligned(Value address) {
  return less(rem(number_of_element(address, DType::u8), index(tuning::cache_line_bytes)), index(1));
}

void KernelBuilder::store_nontemporal(Value value, Value address, DType d, int lanes) {
  const auto bytes = static_cast<unsigned>(lanes * static_cast<int>(size_of(d)));
  LLVM::StoreOp::create(b, loc, to_memory(value, d, lanes), address,
                        std::min(bytes, static_cast<unsigned>(tuning::cache_line_bytes)),
                        /*isVolatile=*/false,
                        /*isNonTemporal=*/true);
}

void KernelBuilder::fence_nontemporal_stores() {
  LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr("llvm.x86.sse.sfence"), mlir::ValueRange{});
}

mlir::Value KernelBuilder::gather(Value base, Value indices, DType d, int lanes, Value mask) {
  if (lanes == 1) return load_scalar(element(base, indices, d), d);
  mlir::Type t = lanes_of(memory_type(d), lanes), pointers = mlir::VectorType::get({lanes}, ptr());
  Value addresses = LLVM::GEPOp::create(b, loc, pointers, memory_type(d), base, mlir::ValueRange{indices});
  if (!mask) mask = splat(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)), lanes);
  mlir::Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(t));
  return to_register(
      LLVM::masked_gather::create(b, loc, t, addresses, mask, mlir::ValueRange{zero},
                                  b.getI32IntegerAttr(static_cast<std::int32_t>(alignment(d)))),
      d, lanes);
}

void KernelBuilder::scatter(Value value, Value base, Value indices, DType d, int lanes, Value mask) {
  if (lanes == 1) return store_scalar(value, element(base, indices, d), d);
  mlir::Type pointers = mlir::VectorType::get({lanes}, ptr());
  Value addresses = LLVM::GEPOp::create(b, loc, pointers, memory_type(d), base, mlir::ValueRange{indices});
  if (!mask) mask = splat(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)), lanes);
  LLVM::masked_scatter::create(b, loc, to_memory(value, d, lanes), addresses, mask,
                               b.getI32IntegerAttr(static_cast<std::int32_t>(alignment(d))));
}

mlir::Value KernelBuilder::lane_offsets(Value stride, int lanes) {
  return mul(lane_numbers(lanes), splat(stride, lanes));
}

}  // namespace kiln::codegen
