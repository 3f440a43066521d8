// Finds the operands that a kernel writes, and marks loads of others.
#include "codegen/cuda/read_only.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <optional>

namespace kiln::codegen {
namespace {

/// The memory that addresses are in. The entry takes the operands' addresses as an array, its first argument.
class Memory {
 public:
  Memory(const llvm::Function& kernel, const KernelArguments& arguments)
      : addresses_(kernel.getArg(0)), arguments_(arguments) {}

  static constexpr int own = -1;  // the stack, shared memory, arguments
  /// Empty if it is not known.
  std::optional<llvm::SmallVector<int>> of(const llvm::Value* address) const {
    llvm::SmallVector<const llvm::Value*> objects;
    llvm::getUnderlyingObjects(address, objects, nullptr, /*MaxLookup=*/0);
    llvm::SmallVector<int> memory;
    for (const llvm::Value* object : objects) {
      const std::optional<int> one = of_object(object);
      if (!one) return std::nullopt;
      memory.push_back(*one);
    }
    return memory;
  }

 private:
  std::optional<int> of_object(const llvm::Value* object) const {
    if (llvm::isa<llvm::AllocaInst, llvm::GlobalVariable>(object) || object == addresses_) return own;
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object); argument && argument->hasByValAttr())
      return own;
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(object);
    if (!load) return std::nullopt;
    const llvm::DataLayout& layout = load->getModule()->getDataLayout();
    llvm::APInt offset(64, 0);
    const llvm::Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
        layout, offset, /*AllowNonInbounds=*/true);
    const std::size_t operand = offset.getZExtValue() / 8;
    // Scratch memory, which has no number, follows the others.
    if (base != addresses_ || operand >= arguments_.memory.size()) return std::nullopt;
    return arguments_.memory[operand];
  }

  const llvm::Argument* addresses_;
  const KernelArguments& arguments_;
};

}  // namespace

void mark_read_only(llvm::Function& kernel, const KernelArguments& arguments) {
  const Memory memory(kernel, arguments);
  llvm::DenseSet<int> written;
  for (const llvm::Instruction& i : llvm::instructions(kernel)) {
    const llvm::Value* address = nullptr;
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) address = store->getPointerOperand();
    if (const auto* fill = llvm::dyn_cast<llvm::MemIntrinsic>(&i)) address = fill->getRawDest();
    if (!address) continue;  // barriers, for instance, which write nothing themselves
    const auto places = memory.of(address);
    if (!places) return;
    written.insert_range(*places);
  }
  for (llvm::Instruction& i : llvm::instructions(kernel)) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
    if (!load) continue;
    const auto places = memory.of(load->getPointerOperand());
    if (places && llvm::none_of(*places, [&](int m) { return m == Memory::own || written.contains(m); }))
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(kernel.getContext(), {}));
  }
}

}  // namespace kiln::codegen
