#include "frontend/call_site.h"

namespace kiln {
namespace {
thread_local const CallSite* innermost = nullptr;
}

CallSite::CallSite(std::optional<std::source_location> where, std::source_location caller, const Block* block)
    : where_(where), caller_(caller), block_(block), outer_(innermost) {
  innermost = this;
}
CallSite::~CallSite() { innermost = outer_; }

std::source_location CallSite::resolve(std::source_location where) {
  return innermost && innermost->where_ ? *innermost->where_ : where;
}

std::vector<const Block*> CallSite::blocks() {
  std::vector<const Block*> list;
  for (const CallSite* site = innermost; site; site = site->outer_)
    if (site->block_) list.push_back(site->block_);
  return list;
}

bool CallSite::called_by_program() { return innermost && (!innermost->outer_ || !innermost->outer_->where_); }

std::source_location CallSite::caller() { return innermost ? innermost->caller_ : std::source_location(); }

}  // namespace kiln
