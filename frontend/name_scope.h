#pragma once
#include <map>
#include <string>
#include <string_view>

/// Names of blocks and nodes, numbered as MXNet's NameManager does: per kind ("dense", "relu") within the innermost scope.
/// The outermost scope belongs to the process; a block opens one of its own, with its prefix, around its hybrid_forward
/// while that is being traced, and around its name_scope().
namespace kiln::detail {

/// The name of a node that is being recorded on this thread: the scope's prefix, then `given`, or when that is empty
/// `hint` (the operator as the program spelled it, in lower case) and the next number of that kind.
std::string node_name(std::string_view given, std::string_view hint);

/// A scope of names on this thread, from construction to destruction. Scopes nest.
class NameManager {
 public:
  explicit NameManager(std::string prefix);
  ~NameManager();
  NameManager(const NameManager&) = delete;

 private:
  friend std::string node_name(std::string_view, std::string_view);
  std::string prefix_;
  std::map<std::string, int, std::less<>> counts_;
  NameManager* outer_;
};

}  // namespace kiln::detail
