// A kernel's LLVM IR to an object for the CPU at hand.
#include "codegen/backend/llvm_code.h"
#include "codegen/cpu/backend.h"
#include "codegen/cpu/one_lane_stores.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace kiln::codegen {
namespace {

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  run_passes(module, machine, std::string(simplify), [](llvm::ModulePassManager& passes) {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(OneLaneStores()));
#ifdef KILN_SANITIZE_ADDRESS
    llvm::AddressSanitizerOptions options;
    options.CompileKernel = false;
    passes.addPass(llvm::AddressSanitizerPass(options, /*UseGlobalGC=*/false));
#endif
  });
}

/// Removes the sanitizer's set-up code, which the surrounding program has run already.
void drop_constructors(llvm::Module& module) {
  if (auto* constructors = module.getGlobalVariable("llvm.global_ctors")) constructors->eraseFromParent();
}

/// Removes lines and unwind tables, which the texts of a report have only with keeps_lines().
void drop_debug_info(llvm::Module& module) {
  llvm::StripDebugInfo(module);
  for (llvm::Function& f : module) f.setUWTableKind(llvm::UWTableKind::None);
}

}  // namespace

llvm::SmallVector<char, 0> CpuBackend::lower(llvm::Module& module, const KernelRequest& request,
                                             const std::string& /*symbol*/, StageTexts* texts) const {
  llvm::TargetMachine& machine = machine_for({llvm::sys::getProcessTriple(), target_.cpu, target_.features});
  set_machine(module, machine);
  std::string features = target_.features;
  if (!request.features.empty()) features += (features.empty() ? "" : ",") + request.features;
  const bool has_debug_info = !module.debug_compile_units().empty();
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", target_.cpu);
    f.addFnAttr("target-features", features);
    if (target_.vector_bytes == 64) f.addFnAttr("prefer-vector-width", "512");
    f.setDoesNotThrow();
    // Backtraces pass through a frame that has an unwind table.
    if (has_debug_info) f.setUWTableKind(llvm::UWTableKind::Async);
#ifdef KILN_SANITIZE_ADDRESS
    f.addFnAttr(llvm::Attribute::SanitizeAddress);
#endif
  }
  optimize(module, machine);
  drop_constructors(module);
  if (texts) {
    // Generating code changes the module, so the text is made from a copy.
    const auto copy = llvm::CloneModule(module);
    if (!texts->keeps_lines()) drop_debug_info(*copy);
    texts->add("llvm", text_of(*copy));
    auto assembly = generate(*copy, machine, request.in_order, llvm::CodeGenFileType::AssemblyFile);
    texts->add("asm", {assembly.data(), assembly.size()});
  }
  return generate(module, machine, request.in_order, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace kiln::codegen
