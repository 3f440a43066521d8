// Builds the entry of a GPU kernel.
#include "codegen/cuda/entry.h"

#include "runtime/cuda/entry_arguments.h"
#include "runtime/fail.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Builds the entry, which calls the body for iterations [begin, end).
class Entry {
 public:
  Entry(llvm::Module& module, llvm::Function& body, const KernelArguments& arguments, const GpuLaunch& launch)
      : context_(module.getContext()),
        b_(context_),
        arguments_(arguments),
        launch_(launch),
        body_(body),
        i64_(b_.getInt64Ty()),
        buffers_type_(llvm::ArrayType::get(b_.getPtrTy(), arguments.operands)),
        // PTX has no parameter of no bytes.
        params_type_(llvm::ArrayType::get(i64_, std::max<std::size_t>(arguments.params, 1))),
        by_value_(nvidia::takes_arrays_by_value(arguments.operands, arguments.params)) {}

  void build(llvm::Module& module, const std::string& symbol) {
    llvm::SmallVector<llvm::Type*> types(by_value_ ? 2 : 1, b_.getPtrTy());
    types.push_back(i64_);
    if (arguments_.has_scratch) types.push_back(i64_);
    entry_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, /*isVarArg=*/false),
                                    llvm::GlobalValue::ExternalLinkage, symbol, module);
    entry_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    entry_->addFnAttr("nvvm.maxntid", std::to_string(launch_.block_threads));
    entry_->setDoesNotThrow();
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", entry_));
    auto [buffers, params] = arrays();
    const unsigned scalars = by_value_ ? 2 : 1;
    llvm::Value* const iteration = b_.CreateLShr(thread(), llvm::Log2_32(launch_.threads));
    llvm::BasicBlock* const run = llvm::BasicBlock::Create(context_, "run", entry_);
    llvm::BasicBlock* const done = llvm::BasicBlock::Create(context_, "done", entry_);
    b_.CreateCondBr(b_.CreateICmpSLT(iteration, entry_->getArg(scalars)), run, done);
    b_.SetInsertPoint(run);
    if (arguments_.has_scratch)
      buffers = with_own_scratch(buffers, b_.CreateMul(iteration, entry_->getArg(scalars + 1)));
    b_.CreateCall(&body_, {buffers, params, iteration, b_.CreateAdd(iteration, b_.getInt64(1))});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

 private:
  std::pair<llvm::Value*, llvm::Value*> arrays() {
    if (!by_value_)
      return {entry_->getArg(0),
              b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), entry_->getArg(0), arguments_.operands)};
    for (const auto& [number, type] : {std::pair(0U, buffers_type_), {1U, params_type_}}) {
      entry_->addParamAttr(number, llvm::Attribute::getWithByValType(context_, type));
      entry_->addParamAttr(number, llvm::Attribute::getWithAlignment(context_, llvm::Align(8)));
    }
    return {entry_->getArg(0), entry_->getArg(1)};
  }

  /// The number of this thread in the grid.
  llvm::Value* thread() {
    const auto special = [&](llvm::Intrinsic::ID id) {
      return b_.CreateZExt(b_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Value*>()), i64_);
    };
    return b_.CreateAdd(b_.CreateMul(special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x),
                                     special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x)),
                        special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
  }

  /// A copy of the operands whose last is this thread's scratch memory.
  llvm::Value* with_own_scratch(llvm::Value* buffers, llvm::Value* offset) {
    llvm::Value* const copy = b_.CreateAlloca(buffers_type_);
    b_.CreateMemCpy(copy, llvm::Align(8), buffers, llvm::Align(8), 8 * arguments_.operands);
    llvm::Value* const last = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), copy, arguments_.operands - 1);
    llvm::Value* const own = b_.CreateGEP(b_.getInt8Ty(), b_.CreateLoad(b_.getPtrTy(), last), offset);
    b_.CreateStore(own, last);
    b_.CreateStore(b_.getInt64(0), own);
    return copy;
  }

  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  const KernelArguments& arguments_;
  const GpuLaunch& launch_;
  llvm::Function& body_;
  llvm::Type* i64_;
  llvm::ArrayType *buffers_type_, *params_type_;
  bool by_value_;
  llvm::Function* entry_ = nullptr;
};

}  // namespace

void add_entry(llvm::Module& module, const std::string& symbol, const KernelArguments& arguments,
               const GpuLaunch& launch) {
  llvm::Function* const body = module.getFunction(symbol);
  if (!body) fail_internal("there is no function '{}' to make a kernel of", symbol);
  body->setName(symbol + "_iteration");
  body->setLinkage(llvm::GlobalValue::InternalLinkage);
  body->addFnAttr(llvm::Attribute::AlwaysInline);
  Entry(module, *body, arguments, launch).build(module, symbol);
}

}  // namespace kiln::codegen
