// The stack of call sites of a thread.
#include "frontend/call/call_site.h"

#include "frontend/call/call_context.h"

namespace kiln {
namespace {
const CallSite*& innermost_site() { return CallContext::current().site; }
}  // namespace

CallSite::CallSite(std::optional<std::source_location> where, std::source_location caller, const Block* block)
    : where_(where), caller_(caller), block_(block), outer_(innermost_site()) {
  innermost_site() = this;
}
CallSite::~CallSite() { innermost_site() = outer_; }

std::source_location CallSite::resolve(std::source_location where) {
  const CallSite* const site = innermost_site();
  return site && site->where_ ? *site->where_ : where;
}

std::vector<const Block*> CallSite::blocks() {
  std::vector<const Block*> list;
  for (const CallSite* site = innermost_site(); site; site = site->outer_)
    if (site->block_) list.push_back(site->block_);
  return list;
}

bool CallSite::called_by_program() {
  const CallSite* const site = innermost_site();
  return site && (!site->outer_ || !site->outer_->where_);
}

std::source_location CallSite::caller() {
  const CallSite* const site = innermost_site();
  return site ? site->caller_ : std::source_location();
}

}  // namespace kiln
