#pragma once
#include "codegen/driver/target.h"
#include "runtime/tensor_type.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinOps.h>

#include <fmt/format.h>
#include <functional>

namespace kiln::codegen {

/// Of all caches.
inline constexpr std::int64_t cache_line_bytes = 64;
/// An array of more is not in a core's own caches any more when it is read again.
inline constexpr std::int64_t private_cache_bytes = 512 * 1024;

/// Builds the code of one kernel: a thin layer over OpBuilder that speaks of lanes, pointers and masks.
///
/// A kernel is `llvm.func @name(buffers, params, begin, end)` (runtime's KernelFn). Indices are i64 and
/// addresses LLVM pointers: extents and strides are arguments, so a memref would carry nothing but
/// descriptors. A value of `lanes` lanes is a vector<lanes x T>, or a plain T when lanes is 1.
class KernelBuilder {
 public:
  using Value = mlir::Value;

  KernelBuilder(mlir::OpBuilder& builder, mlir::Location loc, const Target& target)
      : b(builder), loc(loc), target(target) {}
  /// The same kernel's, where code of another location begins.
  KernelBuilder(const KernelBuilder& e, mlir::Location loc)
      : b(e.b), loc(loc), target(e.target), entry(e.entry) {}

  mlir::OpBuilder& b;
  mlir::Location loc;
  const Target& target;
  mlir::Block* entry = nullptr;  ///< of the function, once there is one
  /// By operand: how many bytes behind an element its like in the rows that come next lies. That is asked for
  /// as the element is read (strips.cpp).
  llvm::SmallDenseMap<int, Value> next_block_distance;

  // Types.
  mlir::Type i64() { return b.getI64Type(); }
  mlir::Type ptr() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  mlir::Type lanes_of(mlir::Type t, int lanes) { return lanes == 1 ? t : mlir::VectorType::get({lanes}, t); }
  /// How an element lies in memory: floats as themselves but f16 and bf16 as their bits, bool as a byte.
  mlir::Type memory_type(DType d);
  /// How it is held in registers: f16 and bf16 as f32, bool as i1, uint8 as i8.
  mlir::Type register_type(DType d);

  // Index arithmetic.
  Value index(std::int64_t v) { return mlir::arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v)); }
  Value add(Value x, Value y) { return mlir::arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulIOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivUIOp::create(b, loc, x, y); }
  Value rem(Value x, Value y) { return mlir::arith::RemUIOp::create(b, loc, x, y); }
  Value min(Value x, Value y) { return mlir::arith::MinSIOp::create(b, loc, x, y); }
  Value max(Value x, Value y) { return mlir::arith::MaxSIOp::create(b, loc, x, y); }
  Value less(Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::slt, x, y);
  }
  /// The index along each axis of the element of that number in a box, in C order.
  llvm::SmallVector<Value> coordinates(Value number, mlir::ValueRange extents);

  // Lanes.
  Value splat(Value scalar, int lanes);
  /// 0, 1, ..., lanes - 1 as i64.
  Value lane_numbers(int lanes);
  Value extract(Value vector, std::int64_t lane);
  /// Lanes [first, first + count) of a vector.
  Value sub_vector(Value vector, int first, int count);
  /// Lanes of two vectors, those of the second numbered behind those of the first.
  Value shuffle(Value a, Value b, llvm::ArrayRef<std::int32_t> lanes);
  /// The lanes of vectors of one size, one after the other.
  Value join(llvm::ArrayRef<Value> parts);
  /// The lanes 0, step, 2 * step, ... of a vector.
  Value every(Value vector, int step);
  /// Each lane so many times.
  Value repeat(Value vector, int times);
  /// Of n registers of n lanes, a power of two: lane j of the register i is lane i of the register j.
  llvm::SmallVector<Value> transpose(llvm::SmallVector<Value> registers);
  /// Whether lane l is below `count`.
  Value mask_below(Value count, int lanes);
  Value mask_below(int count, int lanes);
  Value select(Value mask, Value x, Value y) { return mlir::arith::SelectOp::create(b, loc, mask, x, y); }
  /// The number in the register type of the dtype, in every lane.
  Value number(DType d, double v, int lanes);

  // Memory. Addresses are of elements; `mask` may be null (all lanes).
  Value element(Value base, Value index, DType d);
  Value byte_offset(Value base, Value bytes);
  Value param(Value params, std::int64_t i);
  Value buffer(Value buffers, std::int64_t i);
  Value load_scalar(Value address, DType d);
  void store_scalar(Value value, Value address, DType d);
  /// `lanes` neighbouring elements; masked lanes are zero.
  Value load(Value address, DType d, int lanes, Value mask = {});
  void store(Value value, Value address, DType d, int lanes, Value mask = {});
  /// Elements a few apart: what is between the first and the last is loaded, too, register by register, and
  /// lanes are picked.
  Value load_every(Value address, std::int64_t step, DType d, int lanes, Value mask = {});
  /// On the stack, from a line's beginning, until the kernel returns: one place even where the code is in a
  /// loop.
  Value stack(DType d, std::int64_t elements);
  Value is_line_aligned(Value address);
  /// Past the caches, so that lines are not read in first. The first such address of a row begins a line;
  /// streamed() comes after the last, before another thread may look.
  void store_nontemporal(Value value, Value address, DType d, int lanes);
  void fence_nontemporal_stores();
  /// Elements `stride` apart, or at a vector of element indices.
  Value gather(Value base, Value indices, DType d, int lanes, Value mask = {});
  void scatter(Value value, Value base, Value indices, DType d, int lanes, Value mask = {});
  /// stride times lane number, for gather and scatter.
  Value lane_offsets(Value stride, int lanes);

  /// Into the first cache; any address will do.
  void prefetch(Value address) {
    mlir::LLVM::Prefetch::create(b, loc, address, /*write=*/0, /*locality=*/3, /*data=*/1);
  }
  void prefetch(Value address, std::int64_t bytes) {
    for (std::int64_t line = 0; line < bytes; line += cache_line_bytes)
      prefetch(byte_offset(address, index(line)));
  }
  /// What is to be read some time after the operand's `bytes` at `address`: their like in its next rows or,
  /// if it has none, what lies `distance` bytes behind them (0: nothing).
  void prefetch_next(int operand, Value address, std::int64_t bytes, std::int64_t distance) {
    const Value rows = next_block_distance.lookup(operand);
    if (rows || distance > 0) prefetch(byte_offset(address, rows ? rows : index(distance)), bytes);
  }

  // Structure.
  using LoopBody = std::function<void(Value)>;
  void loop(Value from, Value to, Value step, const LoopBody& body);
  using CarriedBody = std::function<llvm::SmallVector<Value>(Value, mlir::ValueRange)>;
  mlir::ValueRange loop(Value from, Value to, Value step, mlir::ValueRange initial, const CarriedBody& body);
  void when(Value condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});

 private:
  /// No kernel writes into its lists of operands and parameters, which LLVM cannot know.
  Value load_argument(mlir::Type type, Value list, std::int64_t i);
  Value to_register(Value memory, DType d, int lanes);
  Value to_memory(Value reg, DType d, int lanes);
  unsigned alignment(DType d) { return static_cast<unsigned>(size_of(d)); }
};

/// A kernel before it is code. `key` says all that the code depends on; equal keys mean equal code.
struct KernelRequest {
  std::string name;  ///< for people; made a valid symbol by the compiler
  std::string key;
  mlir::Location location;
  std::function<void(KernelBuilder&, mlir::Value buffers, mlir::Value params, mlir::Value begin,
                     mlir::Value end)>
      emit;
  /// Instructions stay in the order in which they are emitted: what is worked on at once, a vector of several
  /// registers, goes side by side. LLVM's scheduler takes one register after the other to have fewer in use,
  /// and each of a function's operations then waits for the last.
  bool in_order = false;
};

}  // namespace kiln::codegen
