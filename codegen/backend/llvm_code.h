// LLVM IR to a target's code, for the lowerings of all targets.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>

#include <string>
#include <string_view>

namespace kiln::codegen {

/// A target as LLVM names it.
struct LlvmTarget {
  std::string triple, cpu, features;
};

/// This thread's machine of a target, made at first use. Machines are not thread-safe, and cost a millisecond
/// to make.
llvm::TargetMachine& machine_for(const LlvmTarget& target);
/// Makes the module one of the machine's.
void set_machine(llvm::Module& module, const llvm::TargetMachine& machine);

/// Kernels are finished vector code: only addresses are left to simplify. Longer pipelines take ten times as
/// long and gain nothing, since no loop is to be unrolled or vectorised.
inline constexpr std::string_view simplify =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop-mssa(licm),early-cse)";

/// Runs the passes of `pipeline`, in LLVM's notation, then the passes that `add` adds.
void run_passes(
    llvm::Module& module, llvm::TargetMachine& machine, const std::string& pipeline,
    llvm::function_ref<void(llvm::ModulePassManager&)> add = [](llvm::ModulePassManager&) {});

/// LLVM's addPassesToEmitFile, without the scheduler if `in_order`. It changes the module.
llvm::SmallVector<char, 0> generate(llvm::Module& module, llvm::TargetMachine& machine, bool in_order,
                                    llvm::CodeGenFileType kind);

/// The module as LLVM prints it.
std::string text_of(const llvm::Module& module);

}  // namespace kiln::codegen
