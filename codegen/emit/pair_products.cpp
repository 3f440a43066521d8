// Emits the arithmetic of paired32, and functions that flush subnormals.
#include "codegen/emit/pair_products.h"

#include "runtime/float_env.h"

namespace kiln::codegen {

using mlir::Value;

Value PairProducts::part(Value words, Part part) {
  // The narrow float is the upper half of f32.
  const auto bits = [&](std::int32_t value) {
    return e.splat(mlir::arith::ConstantOp::create(e.b, e.loc, e.b.getI32IntegerAttr(value)), lanes_);
  };
  const Value wide = part == Part::even
                         ? mlir::arith::ShLIOp::create(e.b, e.loc, words, bits(16)).getResult()
                         : mlir::arith::AndIOp::create(e.b, e.loc, words, bits(-0x10000)).getResult();
  return mlir::arith::BitcastOp::create(e.b, e.loc, e.lanes_of(e.b.getF32Type(), lanes_), wide);
}

Value PairProducts::multiply_add(Value a, Value b, Value sum) {
  if (e.target.has_flushing_instructions) return flushing("llvm.nvvm.fma.rn.ftz.f", {a, b, sum});
  return mlir::LLVM::FMAOp::create(e.b, e.loc, a, b, sum);
}

Value PairProducts::add(Value x, Value y) {
  if (e.target.has_flushing_instructions) return flushing("llvm.nvvm.add.rn.ftz.f", {x, y});
  return mlir::arith::AddFOp::create(e.b, e.loc, x, y);
}

Value PairProducts::flushing(const char* name, mlir::ValueRange operands) {
  return mlir::LLVM::CallIntrinsicOp::create(e.b, e.loc, e.b.getF32Type(), e.b.getStringAttr(name), operands)
      .getResult(0);
}

void FlushingFunction::call(KernelBuilder& e, mlir::ValueRange arguments) {
  if (e.target.has_flushing_instructions) return body_(e, arguments);
  if (!function_) function_ = define(e, arguments);
  mlir::LLVM::CallOp::create(e.b, e.loc, function_, arguments);
}

mlir::LLVM::LLVMFuncOp FlushingFunction::define(KernelBuilder& e, mlir::ValueRange arguments) const {
  // MXCSR, and with the bits FTZ and DAZ.
  constexpr std::int32_t usual_mode = FloatEnv::control, flushing_mode = usual_mode | 0x8040;
  const mlir::OpBuilder::InsertionGuard guard(e.b);
  auto kernel = llvm::cast<mlir::LLVM::LLVMFuncOp>(e.entry->getParentOp());
  auto module = kernel->getParentOfType<mlir::ModuleOp>();
  std::string symbol = fmt::format("{}.{}", kernel.getSymName().str(), name_);
  for (int number = 2; module.lookupSymbol(symbol); ++number)
    symbol = fmt::format("{}.{}{}", kernel.getSymName().str(), name_, number);
  e.b.setInsertionPointToEnd(module.getBody());
  const auto type = mlir::LLVM::LLVMFunctionType::get(mlir::LLVM::LLVMVoidType::get(e.b.getContext()),
                                                      llvm::to_vector(arguments.getTypes()));
  auto function = mlir::LLVM::LLVMFuncOp::create(e.b, e.loc, symbol, type, mlir::LLVM::Linkage::Internal);
  function.setNoInline(true);
  mlir::Block* const block = function.addEntryBlock(e.b);
  e.b.setInsertionPointToStart(block);
  KernelBuilder inner(e.b, e.loc, e.target);
  inner.entry = block;
  const Value mode = inner.stack(DType::i32, 1);
  e.b.setInsertionPointToEnd(block);
  const auto set = [&](std::int32_t bits) {
    inner.store_scalar(mlir::arith::ConstantOp::create(e.b, e.loc, e.b.getI32IntegerAttr(bits)), mode,
                       DType::i32);
    mlir::LLVM::CallIntrinsicOp::create(e.b, e.loc, e.b.getStringAttr("llvm.x86.sse.ldmxcsr"),
                                        mlir::ValueRange{mode});
  };
  set(flushing_mode);
  body_(inner, block->getArguments());
  set(usual_mode);
  mlir::LLVM::ReturnOp::create(e.b, e.loc, mlir::ValueRange{});
  return function;
}

}  // namespace kiln::codegen
