// Numbers, barriers and shuffles of threads, as NVVM intrinsics.
#include "codegen/cuda/team.h"

namespace kiln::codegen {
namespace {

namespace LLVM = mlir::LLVM;
namespace arith = mlir::arith;

constexpr int shared_space = 3;
constexpr std::int32_t whole_warp = -1;

}  // namespace

mlir::Value Team::word(std::int32_t v) {
  return arith::ConstantOp::create(e_.b, e_.loc, e_.b.getI32IntegerAttr(v));
}

mlir::Value Team::intrinsic(mlir::Type result, llvm::StringRef name, mlir::ValueRange arguments) {
  return LLVM::CallIntrinsicOp::create(e_.b, e_.loc, result, e_.b.getStringAttr(name), arguments)
      .getResults();
}

mlir::Value Team::number_below(unsigned count) {
  const mlir::Value thread = intrinsic(e_.b.getI32Type(), "llvm.nvvm.read.ptx.sreg.tid.x");
  const mlir::Value number =
      arith::AndIOp::create(e_.b, e_.loc, thread, word(static_cast<std::int32_t>(count - 1)));
  return arith::ExtUIOp::create(e_.b, e_.loc, e_.i64(), number);
}

void Team::barrier() {
  LLVM::CallIntrinsicOp::create(e_.b, e_.loc, e_.b.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"),
                                mlir::ValueRange{word(0)});
}

mlir::Value Team::from_further(mlir::Value v, int lanes) {
  return shuffle("llvm.nvvm.shfl.sync.down.i32", v, lanes);
}
mlir::Value Team::from_first(mlir::Value v) { return shuffle("llvm.nvvm.shfl.sync.idx.i32", v, 0); }

mlir::Value Team::shuffle_word(llvm::StringRef name, mlir::Value value, int by) {
  return intrinsic(e_.b.getI32Type(), name, {word(whole_warp), value, word(by), word(Team::warp - 1)});
}

mlir::Value Team::shuffle(llvm::StringRef name, mlir::Value v, int by) {
  const mlir::Type type = v.getType(), i32 = e_.b.getI32Type();
  const unsigned bits = type.getIntOrFloatBitWidth();
  if (llvm::isa<mlir::FloatType>(type)) {
    const mlir::Type integer = e_.b.getIntegerType(bits);
    const mlir::Value moved = shuffle(name, arith::BitcastOp::create(e_.b, e_.loc, integer, v), by);
    return arith::BitcastOp::create(e_.b, e_.loc, type, moved);
  }
  if (bits == 32) return shuffle_word(name, v, by);
  if (bits < 32)
    return arith::TruncIOp::create(e_.b, e_.loc, type,
                                   shuffle_word(name, arith::ExtUIOp::create(e_.b, e_.loc, i32, v), by));
  const mlir::Type words = mlir::VectorType::get({2}, i32);
  mlir::Value pair = LLVM::BitcastOp::create(e_.b, e_.loc, words, v);
  for (std::int64_t i = 0; i < 2; ++i)
    pair = LLVM::InsertElementOp::create(e_.b, e_.loc, pair, shuffle_word(name, e_.extract(pair, i), by),
                                         e_.index(i));
  return LLVM::BitcastOp::create(e_.b, e_.loc, type, pair);
}

mlir::Value Team::shared(DType d, std::int64_t elements) {
  auto function = llvm::cast<LLVM::LLVMFuncOp>(e_.entry->getParentOp());
  auto module = function->getParentOfType<mlir::ModuleOp>();
  const auto name =
      fmt::format("{}_shared{}", function.getName().str(), llvm::range_size(module.getOps<LLVM::GlobalOp>()));
  const mlir::OpBuilder::InsertionGuard guard(e_.b);
  e_.b.setInsertionPointToStart(module.getBody());
  const auto array = LLVM::LLVMArrayType::get(e_.memory_type(d), static_cast<unsigned>(elements));
  auto global = LLVM::GlobalOp::create(e_.b, e_.loc, array, /*isConstant=*/false, LLVM::Linkage::Internal,
                                       name, mlir::Attribute(), /*alignment=*/16, shared_space);
  e_.b.createBlock(&global.getInitializerRegion());
  LLVM::ReturnOp::create(e_.b, e_.loc, LLVM::PoisonOp::create(e_.b, e_.loc, array).getResult());
  e_.b.setInsertionPointToStart(e_.entry);
  return LLVM::AddressOfOp::create(e_.b, e_.loc, global);
}

mlir::Value Team::shared_element(mlir::Value array, mlir::Value index, DType d) {
  return LLVM::GEPOp::create(e_.b, e_.loc, array.getType(), e_.memory_type(d), array,
                             mlir::ValueRange{index});
}

GpuLaunch block_per_row(unsigned threads) {
  return {fmt::format("a block of {} per row", threads), threads, threads};
}
GpuLaunch warp_per_row() { return {"a warp per row", Team::warp}; }

}  // namespace kiln::codegen
