// The scopes of node names.
#include "frontend/trace/naming.h"

#include "frontend/tensor/text.h"

#include <memory>

namespace kiln {
namespace {

thread_local NameScope* innermost_names = nullptr;

// The counters of a thread outside of all scopes. Created on first use; not in the stack of scopes.
NameScope& base_scope() {
  thread_local std::unique_ptr<NameScope> base = [] {
    NameScope* outer = innermost_names;
    auto scope = std::make_unique<NameScope>("");
    innermost_names = outer;
    return scope;
  }();
  return *base;
}

}  // namespace

NameScope::NameScope(std::string prefix) : prefix_(std::move(prefix)), outer_(innermost_names) {
  innermost_names = this;
}
NameScope::~NameScope() {
  if (innermost_names == this) innermost_names = outer_;
}

std::string NameScope::node_name(std::string_view given, std::string_view hint) {
  return (innermost_names ? *innermost_names : base_scope()).name(given, hint);
}

const std::string& NameScope::current_prefix() {
  return (innermost_names ? *innermost_names : base_scope()).prefix_;
}

std::string NameScope::outer_prefix() {
  return innermost_names && innermost_names->outer_ ? innermost_names->outer_->prefix_ : std::string();
}

std::string NameScope::name(std::string_view given, std::string_view hint) {
  if (!given.empty()) return prefix_ + std::string(given);
  std::string base = name_hint(hint);
  const int number = counters_[base]++;
  return prefix_ + base + std::to_string(number);
}

std::string name_hint(std::string_view op_name) {
  for (std::string_view prefix : {"_contrib_", "_linalg_", "_npi_", "_npx_", "_np_", "_sparse_", "_image_"}) {
    if (op_name.starts_with(prefix)) {
      op_name.remove_prefix(prefix.size());
      break;
    }
  }
  return detail::lower(std::string(op_name));
}

}  // namespace kiln
