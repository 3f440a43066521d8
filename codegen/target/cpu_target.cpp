// Chooses the instruction set of a process.
#include "codegen/target/cpu_target.h"

#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/once.h"

#include <kiln/version.h>

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <atomic>
#include <optional>

namespace kiln::codegen {
namespace {

std::optional<Isa> isa_of(std::string_view name) {
  if (name == "native") return Isa::host;
  if (name == "scalar") return Isa::scalar;
  if (name == "avx2") return Isa::avx2;
  if (name == "avx512") return Isa::avx512;
  return {};
}

Isa isa_from_environment() {
  const std::string_view name = env("KILN_TARGET_CPU").value_or("native");
  if (const auto isa = isa_of(name)) return *isa;
  fail("KILN_TARGET_CPU={} is not known; use native, scalar, avx2 or avx512", name);
}

std::atomic<Isa>& chosen() {
  return once<[] { return std::atomic<Isa>(isa_from_environment()); }>();
}

bool host_has(std::initializer_list<const char*> features) {
  const llvm::StringMap<bool>& host = once<[] { return llvm::sys::getHostCPUFeatures(); }>();
  for (const char* f : features)
    if (!host.lookup(f)) return false;
  return true;
}

bool has_avx2() { return host_has({"avx2", "fma", "f16c", "bmi2"}); }
bool has_avx512() { return has_avx2() && host_has({"avx512f", "avx512vl", "avx512bw", "avx512dq"}); }

}  // namespace

Isa process_isa() { return chosen().load(std::memory_order_relaxed); }

CpuTarget select_cpu(Isa request) {
  if (request == Isa::host) request = process_isa();
  if (request == Isa::host) request = has_avx512() ? Isa::avx512 : has_avx2() ? Isa::avx2 : Isa::scalar;
  // Levels and not the exact host: an entry of the disk cache serves every machine of the level.
  // "prefer-256-bit" is off, since kernels say their width themselves.
  const Machine* const tuned_for = &machine();
  switch (request) {
    case Isa::avx512:
      if (!has_avx512()) fail("this machine has no AVX-512; use native");
      return {Isa::avx512, 64, "x86-64-v4", "-prefer-256-bit", tuned_for};
    case Isa::avx2:
      if (!has_avx2()) fail("this machine has no AVX2 with FMA; use native");
      return {Isa::avx2, 32, "x86-64-v3", "", tuned_for};
    default:
      return {Isa::scalar, 0, "x86-64", "", tuned_for};
  }
}

}  // namespace kiln::codegen

namespace kiln {

std::vector<std::string> target_cpus() {
  std::vector<std::string> names{"scalar"};
  if (codegen::has_avx2()) names.push_back("avx2");
  if (codegen::has_avx512()) names.push_back("avx512");
  return names;
}

void set_target_cpu(std::string_view name) {
  const std::optional<Isa> isa = codegen::isa_of(name);
  if (!isa) fail("the instruction set '{}' is not known; use native, scalar, avx2 or avx512", name);
  if (*isa != Isa::host) codegen::select_cpu(*isa);  // throws where the machine lacks it
  codegen::chosen() = *isa;
}

}  // namespace kiln
