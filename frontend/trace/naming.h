// Names of nodes.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

namespace kiln {

/// Node names, as by MXNet's NameManager and Prefix. A scope has a prefix and its own counters. A named node
/// gets prefix + name, others prefix + hint + number. Without a scope, counters are per thread and the prefix
/// is empty. Scopes nest, per thread; the innermost one applies.
class NameScope {
 public:
  explicit NameScope(std::string prefix);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

  /// The name of a node. `hint` is the operator's name in the program; case-insensitive.
  static std::string node_name(std::string_view given, std::string_view hint);
  /// The innermost scope's prefix.
  static const std::string& current_prefix();
  /// The prefix of the enclosing scope; empty if there is none.
  static std::string outer_prefix();

 private:
  std::string name(std::string_view given, std::string_view hint);

  std::string prefix_;
  std::unordered_map<std::string, int> counters_;
  NameScope* outer_;
};

/// An operator's name in lower case, without the prefix of MXNet's modules (`_contrib_`, `_npi_`, ...).
std::string name_hint(std::string_view op_name);

}  // namespace kiln
