#include "frontend/name_scope.h"

#include <mutex>
#include <utility>

namespace kiln::detail {

namespace {

thread_local NameManager* innermost = nullptr;

std::string numbered(std::map<std::string, int, std::less<>>& counts, std::string_view hint) {
  auto it = counts.find(hint);
  if (it == counts.end()) it = counts.emplace(std::string(hint), 0).first;
  return it->first + std::to_string(it->second++);
}

/// The process's own scope, which threads share: no two blocks of a program get one name.
std::string process_wide(std::string_view hint) {
  static std::mutex mutex;
  static std::map<std::string, int, std::less<>> counts;
  std::lock_guard lock(mutex);
  return numbered(counts, hint);
}

}  // namespace

NameManager::NameManager(std::string prefix) : prefix_(std::move(prefix)), outer_(std::exchange(innermost, this)) {}

NameManager::~NameManager() { innermost = outer_; }

std::string node_name(std::string_view given, std::string_view hint) {
  NameManager* scope = innermost;
  if (!scope) return given.empty() ? process_wide(hint) : std::string(given);
  std::string name = scope->prefix_;
  name += given.empty() ? numbered(scope->counts_, hint) : std::string(given);
  return name;
}

}  // namespace kiln::detail
