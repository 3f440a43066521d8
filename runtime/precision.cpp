// Precisions by name, and their scopes.
#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/once.h"

#include <kiln/precision.h>

#include <utility>

namespace kiln {
namespace {

constexpr std::pair<std::string_view, Precision> names[] = {
    {"fast", Precision::fast}, {"exact", Precision::exact}, {"tf32", Precision::tf32}};

thread_local std::optional<Precision> innermost;

Precision from_environment() {
  const std::string_view name = env("KILN_PRECISION").value_or("fast");
  if (const auto precision = precision_of(name)) return *precision;
  fail("KILN_PRECISION={} is not known; use fast, exact or tf32", name);
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

PrecisionScope::PrecisionScope(Precision precision) : outer_(innermost) { innermost = precision; }
PrecisionScope::~PrecisionScope() { innermost = outer_; }

Precision PrecisionScope::current() {
  if (innermost) return *innermost;
  return once<from_environment>();
}

}  // namespace kiln
