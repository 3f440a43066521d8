// Grains of tasks, and names of kernels.
#include "codegen/emit/launch.h"

#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {

std::int64_t grain_for(std::int64_t extent, std::int64_t cost, std::int64_t multiple) {
  const std::int64_t least = llvm::divideCeilSigned(tuning::min_task_cost, std::max<std::int64_t>(cost, 1)),
                     pieces = std::max<std::int64_t>(extent / least, 1);
  return llvm::alignTo(std::max<std::int64_t>(llvm::divideCeilSigned(extent, pieces), 1), multiple);
}

std::string name_of_location(mlir::Location loc) {
  std::string name;
  auto append = [&](llvm::StringRef part) {
    if (part.empty() || name.size() + part.size() > 80) return;
    if (!name.empty()) name += "+";
    name += part;
  };
  llvm::SmallVector<llvm::StringRef> seen;
  loc->walk([&](mlir::Location inner) {
    if (auto named = llvm::dyn_cast<mlir::NameLoc>(inner);
        named && !llvm::is_contained(seen, named.getName().getValue())) {
      seen.push_back(named.getName().getValue());
      append(named.getName());
    }
    return mlir::WalkResult::advance();
  });
  return name.empty() ? "kernel" : name;
}

}  // namespace kiln::codegen
