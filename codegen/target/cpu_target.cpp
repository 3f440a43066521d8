// Chooses the instruction set of a process.
#include "codegen/target/cpu_target.h"

#include "codegen/target/matrix_unit.h"
#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/once.h"

#include <kiln/version.h>

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <iterator>
#include <optional>
#include <utility>

namespace kiln::codegen {
bool host_has(std::initializer_list<const char*> features) {
  const llvm::StringMap<bool>& host = once<[] { return llvm::sys::getHostCPUFeatures(); }>();
  for (const char* f : features)
    if (!host.lookup(f)) return false;
  return true;
}

namespace {

constexpr std::pair<std::string_view, CpuRequest> requests[] = {
    {"native", {}},
    {"scalar", {Isa::scalar}},
    {"avx2", {Isa::avx2}},
    {"avx2-vnni", {Isa::avx2, /*vnni=*/true}},
    {"avx512", {Isa::avx512}},
    {"avx512-vnni", {Isa::avx512, /*vnni=*/true}},
    {"avx512-amx", {Isa::avx512, /*vnni=*/true, /*amx=*/true}},
};
constexpr std::string_view known_names = "native, scalar, avx2, avx2-vnni, avx512, avx512-vnni or avx512-amx";

std::optional<CpuRequest> request_of(std::string_view name) {
  for (const auto& [known, request] : requests)
    if (known == name) return request;
  return {};
}

CpuRequest request_from_environment() {
  const std::string_view name = env("KILN_TARGET_CPU").value_or("native");
  if (const auto request = request_of(name)) return *request;
  fail("KILN_TARGET_CPU={} is not known; use {}", name, known_names);
}

/// The number of a request in the table, from 1 on.
std::uint8_t key_of(const CpuRequest& request) {
  for (std::size_t i = 0; i < std::size(requests); ++i)
    if (requests[i].second == request) return static_cast<std::uint8_t>(i + 1);
  fail_internal("an instruction set is not in the table");
}
CpuRequest process_cpu() { return requests[process_cpu_key() - 1].second; }

bool has_avx2() { return host_has({"avx2", "fma", "f16c", "bmi2"}); }
bool has_avx512() { return has_avx2() && host_has({"avx512f", "avx512vl", "avx512bw", "avx512dq"}); }
bool has_vnni(Isa isa) {
  return isa == Isa::avx512 ? host_has({"avx512vnni"}) : isa == Isa::avx2 && host_has({"avxvnni"});
}

/// Every processor with AMX has VNNI.
bool has_amx(Isa isa) { return isa == Isa::avx512 && has_vnni(isa) && has_matrix_unit(); }

/// The instructions of a request, as far as this machine has them.
CpuRequest resolved(CpuRequest request) {
  if (request.isa != Isa::host) return request;
  const Isa isa = has_avx512() ? Isa::avx512 : has_avx2() ? Isa::avx2 : Isa::scalar;
  return {isa, has_vnni(isa), has_amx(isa)};
}

CpuTarget target_of(const CpuRequest& request) {
  // Levels and not the exact host: an entry of the disk cache serves every machine of the level.
  // "prefer-256-bit" is off, since kernels say their width themselves.
  const Machine* const tuned_for = &machine();
  if (request.vnni && !has_vnni(request.isa))
    fail("this machine has no {}; use native", request.isa == Isa::avx512 ? "AVX512_VNNI" : "AVX_VNNI");
  if (request.amx && !has_amx(request.isa))
    fail("this machine has no AMX, or the system does not grant it; use native");
  switch (request.isa) {
    case Isa::avx512:
      if (!has_avx512()) fail("this machine has no AVX-512; use native");
      return {Isa::avx512, 64, "x86-64-v4", "-prefer-256-bit", tuned_for, request.vnni, request.amx};
    case Isa::avx2:
      if (!has_avx2()) fail("this machine has no AVX2 with FMA; use native");
      return {Isa::avx2, 32, "x86-64-v3", "", tuned_for, request.vnni};
    default:
      return {Isa::scalar, 0, "x86-64", "", tuned_for};
  }
}

}  // namespace

std::string_view CpuTarget::name() const { return requests[key_of({isa, vnni, amx}) - 1].first; }

constinit std::atomic<std::uint8_t> detail::cpu_key = 0;

std::uint8_t detail::first_cpu_key() {
  std::uint8_t none = 0;
  const std::uint8_t key = key_of(request_from_environment());
  // Another thread may have set one.
  return cpu_key.compare_exchange_strong(none, key, std::memory_order_relaxed) ? key : none;
}

CpuTarget select_cpu(Isa request) {
  return target_of(resolved(request == Isa::host ? process_cpu() : CpuRequest{request}));
}

}  // namespace kiln::codegen

namespace kiln {

std::vector<std::string> target_cpus() {
  std::vector<std::string> names{"scalar"};
  for (const auto& [name, request] : codegen::requests) {
    const bool has_isa =
        request.isa == Isa::avx512 ? codegen::has_avx512() : request.isa == Isa::avx2 && codegen::has_avx2();
    if (has_isa && (!request.vnni || codegen::has_vnni(request.isa)) &&
        (!request.amx || codegen::has_amx(request.isa)))
      names.emplace_back(name);
  }
  return names;
}

void set_target_cpu(std::string_view name) {
  const std::optional<codegen::CpuRequest> request = codegen::request_of(name);
  if (!request) fail("the instruction set '{}' is not known; use {}", name, codegen::known_names);
  codegen::target_of(codegen::resolved(*request));  // throws where the machine lacks it
  codegen::detail::cpu_key.store(codegen::key_of(*request), std::memory_order_relaxed);
}

}  // namespace kiln
