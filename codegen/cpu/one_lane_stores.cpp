// Replaces masked stores of one lane.
#include "codegen/cpu/one_lane_stores.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

namespace kiln::codegen {
namespace {

/// The one lane that a constant mask sets; nothing for any other mask.
std::optional<unsigned> only_lane(llvm::Value* mask) {
  const auto* lanes = llvm::dyn_cast<llvm::Constant>(mask);
  if (!lanes) return std::nullopt;
  std::optional<unsigned> only;
  const unsigned count = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  for (unsigned i = 0; i < count; ++i) {
    const llvm::Constant* lane = lanes->getAggregateElement(i);
    if (!lane || (!lane->isOneValue() && !lane->isZeroValue())) return std::nullopt;
    if (lane->isZeroValue()) continue;
    if (only) return std::nullopt;
    only = i;
  }
  return only;
}

}  // namespace

llvm::PreservedAnalyses OneLaneStores::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      auto* store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
      const std::optional<unsigned> lane = only_lane(store->getArgOperand(2));
      if (!lane) continue;
      llvm::IRBuilder<> b(store);
      llvm::Value* element = b.CreateExtractElement(store->getArgOperand(0), *lane);
      const std::uint64_t offset = *lane * function.getDataLayout().getTypeStoreSize(element->getType());
      llvm::Value* address = b.CreateConstGEP1_64(b.getInt8Ty(), store->getArgOperand(1), offset);
      b.CreateAlignedStore(element, address,
                           llvm::commonAlignment(store->getParamAlign(1).valueOrOne(), offset));
      store->eraseFromParent();
      changed = true;
    }
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace kiln::codegen
