#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

namespace kiln {

/// Names of nodes, as MXNet's NameManager and Prefix give them: a scope has a prefix and counts anew. A node
/// that was given a name gets prefix + name; another prefix + hint + number. A thread without a scope counts
/// for itself, without a prefix. Scopes nest and belong to their thread; only the innermost one names.
class NameScope {
 public:
  explicit NameScope(std::string prefix);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

  /// The name of a node. `hint` is the operator's name as the program spelled it; case does not matter.
  static std::string node_name(std::string_view given, std::string_view hint);
  /// The innermost scope's prefix.
  static const std::string& current_prefix();
  /// The prefix of the scope around that one; empty where there is none.
  static std::string outer_prefix();

 private:
  std::string name(std::string_view given, std::string_view hint);

  std::string prefix_;
  std::unordered_map<std::string, int> counters_;
  NameScope* outer_;
};

/// An operator's name in lower case, without the prefix that MXNet's modules cut off (`_contrib_`, `_npi_`,
/// ...).
std::string name_hint(std::string_view op_name);

}  // namespace kiln
