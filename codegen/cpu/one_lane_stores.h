// A pass of LLVM against a defect of masked stores.
#pragma once
#include <llvm/IR/PassManager.h>

namespace kiln::codegen {

/// Masked stores whose mask is a constant with one lane become scalar stores.
///
/// LLVM 22 does the same while it selects instructions for AVX-512, but if the value was truncated it then
/// stores the element as it was before. A lane of <16 x i32> that goes to memory as i16 thus overwrites the
/// two bytes that follow.
struct OneLaneStores : llvm::PassInfoMixin<OneLaneStores> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace kiln::codegen
