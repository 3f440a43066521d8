// Appends parameters in the order of their names.
#include "codegen/emit/kernel_params.h"

#include "runtime/fail.h"

#include <optional>

namespace kiln::codegen {

void append_params(std::vector<std::int64_t>& params, llvm::ArrayRef<std::string_view> names,
                   llvm::ArrayRef<std::pair<std::size_t, std::int64_t>> values) {
  llvm::SmallVector<std::optional<std::int64_t>> all(names.size());
  for (auto [index, value] : values) {
    if (all[index]) fail_internal("a kernel's parameter '{}' has two values", names[index]);
    all[index] = value;
  }
  for (auto [name, value] : llvm::zip(names, all)) {
    if (!value) fail_internal("a kernel's parameter '{}' has no value", name);
    params.push_back(*value);
  }
}

}  // namespace kiln::codegen
