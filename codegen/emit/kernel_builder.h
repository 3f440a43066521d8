// The builder of kernels' code.
#pragma once
#include "codegen/target/cpu_target.h"
#include "codegen/target/tuning.h"
#include "runtime/plan.h"
#include "runtime/tensor_type.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinOps.h>

#include <fmt/format.h>
#include <functional>
#include <string>
#include <vector>

namespace kiln::codegen {

/// The arguments of a kernel (runtime's KernelFn): arrays of pointers and of i64, and the range of its
/// outermost loop.
struct KernelArgs {
  mlir::Value buffers, params, begin, end;
};

/// Builds the code of one kernel: a thin layer over OpBuilder whose terms are lanes, pointers and masks.
/// Variables of this type are called `e`.
///
/// Indices are i64 and addresses LLVM pointers: extents and strides are parameters, so a memref would carry
/// nothing but descriptors. A value of `lanes` lanes is a vector<lanes x T>, or a plain T when lanes is 1.
class KernelBuilder {
 public:
  using Value = mlir::Value;

  KernelBuilder(mlir::OpBuilder& builder, mlir::Location loc, const CpuTarget& target)
      : b(builder), loc(loc), target(target) {}
  /// The same kernel, for code with another location.
  KernelBuilder(const KernelBuilder& e, mlir::Location loc)
      : b(e.b), loc(loc), target(e.target), entry(e.entry) {}

  mlir::OpBuilder& b;
  mlir::Location loc;
  const CpuTarget& target;
  mlir::Block* entry = nullptr;  ///< of the function, once there is one
  /// Per operand: byte distance to the same element in the next row block; if set, loading an element also
  /// prefetches it there (row_fusion.cpp).
  llvm::SmallDenseMap<int, Value> next_block_distance;

  // Types.
  mlir::Type i64() { return b.getI64Type(); }
  mlir::Type ptr() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  mlir::Type lanes_of(mlir::Type t, int lanes) { return lanes == 1 ? t : mlir::VectorType::get({lanes}, t); }
  /// The type of an element in memory: narrow floats as their bits, bool as i8, others as themselves.
  mlir::Type memory_type(DType d);
  /// The type of an element in a register: narrow floats as f32, bool as i1, others as in memory.
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
  /// `x` is an i64 that is not 0.
  Value trailing_zeros(Value x) {
    return mlir::LLVM::CountTrailingZerosOp::create(b, loc, i64(), x, /*is_zero_poison=*/true);
  }
  Value less(Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::slt, x, y);
  }
  Value equal(Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::eq, x, y);
  }
  /// Where the whole steps of a loop from `from` end, at `to` or before it.
  Value whole_steps(Value from, Value to, Value step) {
    return add(from, mul(div(sub(to, from), step), step));
  }
  /// The index along each axis of element `number` of a box, in C order.
  llvm::SmallVector<Value> coordinates(Value number, mlir::ValueRange extents);

  // Lanes.
  Value splat(Value scalar, int lanes);
  /// 0, 1, ..., lanes - 1 as i64.
  Value lane_numbers(int lanes);
  Value extract(Value vector, std::int64_t lane);
  /// Lanes [first, first + count) of a vector.
  Value sub_vector(Value vector, int first, int count);
  /// Selects lanes of the concatenation of two vectors.
  Value shuffle(Value a, Value b, llvm::ArrayRef<std::int32_t> lanes);
  /// The concatenation of vectors of one size.
  Value join(llvm::ArrayRef<Value> parts);
  /// `count` lanes; lane l is lane_of(l) of the vector.
  Value select_lanes(Value vector, int count, llvm::function_ref<int(int lane)> lane_of);
  /// Whether lane l is below `count`.
  Value mask_below(Value count, int lanes);
  Value mask_below(int count, int lanes);
  Value mask_of(llvm::ArrayRef<bool> lanes);
  /// mask_below() of `parts` consecutive registers, which have 64 lanes together; `count` is below 64.
  llvm::SmallVector<Value> masks_below(Value count, int lanes, int parts);
  Value select(Value mask, Value x, Value y) { return mlir::arith::SelectOp::create(b, loc, mask, x, y); }
  /// The constant v in the register type of the dtype, in every lane.
  Value number(DType d, double v, int lanes);

  // Memory. A null `mask` means all lanes.
  Value element(Value base, Value index, DType d);
  Value byte_offset(Value base, Value bytes);
  /// Parameter i; `name` names the value in dumps. Families use KernelParams.
  Value param(Value params, std::int64_t i, const llvm::Twine& name);
  Value buffer(Value buffers, std::int64_t i);
  Value load_scalar(Value address, DType d);
  void store_scalar(Value value, Value address, DType d);
  /// `lanes` consecutive elements; masked lanes are zero.
  Value load(Value address, DType d, int lanes, Value mask = {});
  void store(Value value, Value address, DType d, int lanes, Value mask = {});
  /// Elements a few apart: loads everything from the first to the last, register by register, and selects the
  /// lanes.
  Value load_every(Value address, std::int64_t step, DType d, int lanes, Value mask = {});
  /// Loads n consecutive elements at each of n addresses, and transposes them; n is a power of two. Lane j of
  /// result i is element i at address j, or 0 if that address is null. `mask` is over the elements of an
  /// address.
  llvm::SmallVector<Value> load_transposed(llvm::ArrayRef<Value> addresses, DType d, Value mask = {});
  /// The first n / 2 elements, n at least 4, no address null. It takes fewer shuffles than half of the other,
  /// because units that do not shuffle insert halves of registers from memory. But it takes twice as many
  /// loads, which limit copies from beyond L1.
  llvm::SmallVector<Value> load_half_transposed(llvm::ArrayRef<Value> addresses, DType d, Value mask = {});
  /// Memory on the stack, aligned to a cache line, until the kernel returns. It is allocated in the entry
  /// block: once, even if the code is in a loop.
  Value stack(DType d, std::int64_t elements);
  /// The index of an element if all memory is one array.
  Value number_of_element(Value address, DType d);
  Value is_line_aligned(Value address);
  /// A non-temporal store: lines are not read into the caches first. The first address of a row is
  /// line-aligned; fence_nontemporal_stores() follows the last, before another thread may read.
  void store_nontemporal(Value value, Value address, DType d, int lanes);
  void fence_nontemporal_stores();
  /// Elements at a vector of element indices.
  Value gather(Value base, Value indices, DType d, int lanes, Value mask = {});
  void scatter(Value value, Value base, Value indices, DType d, int lanes, Value mask = {});
  /// stride * lane number, the indices of a gather or scatter.
  Value lane_offsets(Value stride, int lanes);

  /// The cache that a software prefetch reads into, as llvm.prefetch's locality.
  enum class Cache { l2 = 2, l1 = 3 };
  /// Software prefetch; the address need not be valid.
  void prefetch(Value address, Cache into = Cache::l1) {
    mlir::LLVM::Prefetch::create(b, loc, address, /*write=*/0, static_cast<unsigned>(into), /*data=*/1);
  }
  void prefetch(Value address, std::int64_t bytes, Cache into = Cache::l1) {
    for (std::int64_t line = 0; line < bytes; line += tuning::cache_line_bytes)
      prefetch(byte_offset(address, index(line)), into);
  }
  /// Prefetches for a later load: the same bytes in the operand's next row block if it has one, else
  /// `address + distance`. A distance of 0 does nothing.
  void prefetch_next(int operand, Value address, std::int64_t bytes, std::int64_t distance) {
    const Value next_block = next_block_distance.lookup(operand);
    if (next_block || distance > 0)
      prefetch(byte_offset(address, next_block ? next_block : index(distance)), bytes);
  }

  // Structure.
  using LoopBody = std::function<void(Value)>;
  void loop(Value from, Value to, Value step, const LoopBody& body);
  using CarriedBody = std::function<llvm::SmallVector<Value>(Value, mlir::ValueRange)>;
  mlir::ValueRange loop(Value from, Value to, Value step, mlir::ValueRange initial, const CarriedBody& body);
  /// `body` at every register of `count` elements, by the number of its first; the last may be masked.
  void each_register(Value count, int lanes, llvm::function_ref<void(Value first, Value mask)> body);
  void when(Value condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});

 private:
  static std::int64_t lanes_in(Value vector) {
    return llvm::cast<mlir::VectorType>(vector.getType()).getNumElements();
  }
  /// An invariant load: no kernel writes into its arrays of buffers and parameters, which LLVM cannot know.
  Value load_argument(mlir::Type type, Value array, std::int64_t i, const llvm::Twine& name);
  /// Replaces each pair of registers whose numbers differ in `bit` by two selections from the pair's
  /// concatenated lanes. Lane l of the first is lane_of(l), of the second lane_of(l) + `apart`.
  void mix_pairs(llvm::MutableArrayRef<Value> registers, int bit, int apart,
                 llvm::function_ref<int(int lane)> lane_of);
  /// Transposes in registers: exchanges the bits below `end` of register numbers with the same bits of lane
  /// numbers. For each bit, two registers that differ in it exchange their off-diagonal blocks. Within 16
  /// bytes these are unpack instructions.
  void exchange_bits_below(int end, llvm::MutableArrayRef<Value> registers);
  Value to_register(Value memory, DType d, int lanes);
  Value to_memory(Value reg, DType d, int lanes);
  unsigned alignment(DType d) { return static_cast<unsigned>(size_of(d)); }
};

/// The arguments that each launch of a kernel passes to it.
struct KernelArguments {
  std::size_t operands = 0;  ///< with scratch memory, which is the last
  std::size_t params = 0;
  bool has_scratch = false;
  /// By operand except the scratch memory: the number of its memory. Operands of one number may overlap; no
  /// two others do.
  std::vector<int> memory = {};
};

/// A kernel that can be emitted. `key` contains everything that the code depends on: equal keys, equal code.
struct KernelRequest {
  std::string name;  ///< for people: the operators; made a valid symbol by the compiler
  std::string key;
  mlir::Location location;
  std::function<void(KernelBuilder&, const KernelArgs&)> emit;
  /// Instructions stay in the order in which they are emitted, so that the chains of several registers
  /// interleave. LLVM's scheduler would reorder them register by register to lower register pressure, and
  /// expose the latency of each chain.
  bool in_order = false;
  KernelArguments arguments = {};  ///< set when the launch is known; follows from the key
  GpuLaunch gpu = {"a thread per iteration (fallback)"};  ///< follows from the key
  bool on_tensor_cores = false;  ///< whether it may have instructions of tensor cores; follows from the key
  bool flushes_subnormals = false;  ///< whether it computes by paired32; follows from the key
  /// Between kernels of a row fusion on a GPU: emits a wait for all threads of the iteration.
  std::function<void(KernelBuilder&)> barrier = {};
  std::string features = {};  ///< of LLVM, beyond the target's; follow from the key
  std::string words = {};     ///< its computation, as words_of() gives it; for its name
};

}  // namespace kiln::codegen
