// Runs LLVM's passes and code generators.
#include "codegen/backend/llvm_code.h"

#include "codegen/backend/llvm_targets.h"
#include "runtime/fail.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <map>
#include <memory>

namespace kiln::codegen {
namespace {

std::unique_ptr<llvm::TargetMachine> make_machine(const LlvmTarget& target) {
  register_llvm_targets();
  const llvm::Triple triple(target.triple);
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvm_target) fail_internal("LLVM has no code generator for {}: {}", triple.str(), error);
  llvm::TargetOptions options;
  // A multiplication and an addition stay two roundings; a kernel that wants one has an fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      llvm_target->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                       llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
}

}  // namespace

llvm::TargetMachine& machine_for(const LlvmTarget& target) {
  thread_local std::map<std::string, std::unique_ptr<llvm::TargetMachine>> machines;
  auto& machine = machines[target.triple + "|" + target.cpu + "|" + target.features];
  if (!machine) machine = make_machine(target);
  return *machine;
}

void set_machine(llvm::Module& module, const llvm::TargetMachine& machine) {
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple());
}

void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const std::string& pipeline,
                llvm::function_ref<void(llvm::ModulePassManager&)> add) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(passes, pipeline))
    fail_internal("the LLVM pipeline does not parse: {}", llvm::toString(std::move(error)));
  add(passes);
  passes.run(module, modules);
}

llvm::SmallVector<char, 0> generate(llvm::Module& module, llvm::TargetMachine& machine, bool in_order,
                                    llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  if (in_order) config->disablePass(&llvm::MachineSchedulerID);
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&machine);
  passes.add(config);  // which owns the passes
  passes.add(functions);
  const bool refused = config->addISelPasses();
  config->addMachinePasses();
  config->setInitialized();
  if (refused || machine.addAsmPrinter(passes, stream, nullptr, kind, functions->getMMI().getContext()))
    fail_internal("LLVM cannot write this kind of file");
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return bytes;
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream(text) << module << "\n";
  return text;
}

}  // namespace kiln::codegen
