#include "frontend/call_site.h"

namespace kiln {
namespace {
thread_local const CallSite* innermost = nullptr;
}

CallSite::CallSite(std::optional<std::source_location> where, std::source_location caller)
    : where_(where), caller_(caller), outer_(innermost) {
  innermost = this;
}
CallSite::~CallSite() { innermost = outer_; }

std::source_location CallSite::resolve(std::source_location where) {
  return innermost && innermost->where_ ? *innermost->where_ : where;
}

std::source_location CallSite::caller() { return innermost ? innermost->caller_ : std::source_location(); }

}  // namespace kiln
