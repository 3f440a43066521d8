// Compares the texts of kernels with equal keys.
#include "codegen/driver/key_check.h"

#include "codegen/driver/lower.h"
#include "runtime/env.h"
#include "runtime/fail.h"

#include <llvm/ADT/StringRef.h>

#include <map>
#include <mutex>

namespace kiln::codegen {
namespace {

/// The text of the first kernel of each key.
struct Texts {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> by_key;
};
Texts& texts() {
  static auto& t = *new Texts;
  return t;
}

}  // namespace

bool checks_kernels() {
  static const bool on = env_is_on("KILN_CHECK_KERNELS");
  return on;
}

void check_key(mlir::MLIRContext& context, const KernelRequest& request, const CpuTarget& target,
               const CacheKey& key) {
  const std::string text = kernel_text(context, request, target);
  llvm::StringRef first, now = text;
  {
    std::lock_guard lock(texts().mutex);
    first = texts().by_key.try_emplace({key.hi, key.lo}, text).first->second;  // stays where it is
  }
  if (first == now) return;
  std::pair<llvm::StringRef, llvm::StringRef> a = first.split('\n'), b = now.split('\n');
  int line = 1;
  for (; a.first == b.first && !(a.second.empty() && b.second.empty()); ++line) {
    a = a.second.split('\n');
    b = b.second.split('\n');
  }
  fail_internal(
      "two kernels of one key differ. Line {} of the first is '{}', of '{}' it is '{}'; the key is {}", line,
      a.first.trim().str(), request.name, b.first.trim().str(), request.key);
}

}  // namespace kiln::codegen
