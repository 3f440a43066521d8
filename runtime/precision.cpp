// Precisions by name, and their scopes.
#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/once.h"
#include "runtime/precision_on.h"

#include <kiln/precision.h>

#include <utility>

namespace kiln {
namespace {

constexpr std::pair<std::string_view, Precision> names[] = {{"fast", Precision::fast},
                                                            {"exact", Precision::exact},
                                                            {"tf32", Precision::tf32},
                                                            {"bf16", Precision::bf16}};

thread_local std::optional<Precision> innermost;

Precision from_environment() {
  const std::string_view name = env("KILN_PRECISION").value_or("fast");
  if (const auto precision = precision_of(name)) return *precision;
  fail("KILN_PRECISION={} is not known; use fast, exact, tf32 or bf16", name);
}

}  // namespace

std::optional<Precision> precision_of(std::string_view name) {
  for (const auto& [known, precision] : names)
    if (name == known) return precision;
  return {};
}

std::string_view name_of(Precision precision) {
  for (const auto& [name, known] : names)
    if (precision == known) return name;
  fail_internal("a precision without a name");
}

constinit std::atomic<detail::RoundsOperands> detail::rounds_operands = RoundsOperands::not_known;

Precision detail::precision_of_scope_on(Device device) {
  const Precision precision = PrecisionScope::current();
  if (!device.is_cpu() || precision == Precision::bf16) return precision;
  // Outside of scopes it is the process's default. A scope of another thread may have said `maybe` before.
  RoundsOperands unknown = RoundsOperands::not_known;
  if (!innermost)
    rounds_operands.compare_exchange_strong(unknown, RoundsOperands::never, std::memory_order_relaxed);
  return Precision::exact;
}

PrecisionScope::PrecisionScope(Precision precision) : outer_(innermost) {
  if (precision == Precision::bf16)
    detail::rounds_operands.store(detail::RoundsOperands::maybe, std::memory_order_relaxed);
  innermost = precision;
}
PrecisionScope::~PrecisionScope() { innermost = outer_; }

Precision PrecisionScope::current() {
  if (innermost) return *innermost;
  return once<from_environment>();
}

}  // namespace kiln
