// The program's line for operators inside of Kiln's layers.
#pragma once
#include <optional>
#include <source_location>
#include <vector>

namespace kiln {

class Block;

/// Attributes operators inside Kiln's own layers to the user's line that called the layer. During the
/// lifetime of a CallSite with a location, errors and nodes of this thread have that location. A CallSite
/// without one restores the operators' own lines (a user's hybrid_forward called by a container of the
/// library). Scopes nest.
class CallSite {
 public:
  /// `caller`: the line that called the block. `block`: the running block, if any.
  CallSite(std::optional<std::source_location> where, std::source_location caller,
           const Block* block = nullptr);
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  /// The location of the innermost scope, else `where`.
  static std::source_location resolve(std::source_location where);
  /// The running blocks of this thread, innermost first.
  static std::vector<const Block*> blocks();
  /// Whether the program, not a block of the library, called the innermost block.
  static bool called_by_program();
  /// The line that called the innermost block, for errors without an operator; unknown outside of calls.
  static std::source_location caller();

 private:
  std::optional<std::source_location> where_;
  std::source_location caller_;
  const Block* block_;
  const CallSite* outer_;
};

}  // namespace kiln
