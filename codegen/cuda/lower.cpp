// A kernel's LLVM IR to PTX.
#include "codegen/backend/llvm_code.h"
#include "codegen/cuda/backend.h"
#include "codegen/cuda/entry.h"
#include "codegen/cuda/ptx_check.h"
#include "codegen/cuda/read_only.h"
#include "codegen/cuda/toolkit.h"

namespace kiln::codegen {

llvm::SmallVector<char, 0> CudaBackend::lower(llvm::Module& module, const KernelRequest& request,
                                              const std::string& symbol, StageTexts* texts) const {
  llvm::TargetMachine& machine = machine_for({"nvptx64-nvidia-cuda", arch_.name, arch_.ptx});
  set_machine(module, machine);
  add_entry(module, symbol, request.arguments, request.gpu);
  run_passes(module, machine, "always-inline,globaldce," + std::string(simplify));
  mark_read_only(*module.getFunction(symbol), request.arguments);
  if (texts) texts->add("llvm", text_of(module));
  auto ptx = generate(module, machine, request.in_order, llvm::CodeGenFileType::AssemblyFile);
  check_ptx({ptx.data(), ptx.size()}, request.name,
            {.tensor_cores = request.on_tensor_cores, .flushing = request.flushes_subnormals});
  const std::string schedule = "// Schedule: " + request.gpu.schedule + ".\n";
  ptx.insert(ptx.begin(), schedule.begin(), schedule.end());
  if (texts) texts->add("ptx", {ptx.data(), ptx.size()});
  if (texts && texts->wants_sass())
    texts->add("sass", sass_of({ptx.data(), ptx.size()}, arch_.name, request.name));
  return ptx;
}

}  // namespace kiln::codegen
