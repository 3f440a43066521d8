#include "codegen/target.h"

#include "runtime/fail.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <unistd.h>

namespace kiln::codegen {
namespace {

bool host_has(std::initializer_list<const char*> features) {
  static const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  for (const char* f : features)
    if (!host.lookup(f)) return false;
  return true;
}

std::int64_t bytes_of_second_cache() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : Target().second_cache;
}

bool has_avx2() { return host_has({"avx2", "fma", "f16c", "bmi2"}); }
bool has_avx512() { return has_avx2() && host_has({"avx512f", "avx512vl", "avx512bw", "avx512dq"}); }

}  // namespace

std::string Target::id() const { return cpu + "/" + features + "/" + std::to_string(vector_bytes); }

Target select_target(Isa request) {
  if (request == Isa::host) request = has_avx512() ? Isa::avx512 : has_avx2() ? Isa::avx2 : Isa::scalar;
  // Levels and not the exact host: an entry of the disk cache serves every machine of the level.
  // "prefer-256-bit" is off, since kernels say their width themselves.
  static const bool asks_ahead = !llvm::sys::getHostCPUName().starts_with("znver");
  static const std::int64_t second_cache = bytes_of_second_cache();
  switch (request) {
    case Isa::avx512:
      if (!has_avx512()) fail("this machine has no AVX-512; use KILN_TARGET_CPU=native");
      return {Isa::avx512, 64, "x86-64-v4", "-prefer-256-bit", asks_ahead, second_cache};
    case Isa::avx2:
      if (!has_avx2()) fail("this machine has no AVX2 with FMA; use KILN_TARGET_CPU=native");
      return {Isa::avx2, 32, "x86-64-v3", "", asks_ahead, second_cache};
    default:
      return {Isa::scalar, 0, "x86-64", "", asks_ahead, second_cache};
  }
}

}  // namespace kiln::codegen
