#pragma once
#include <optional>
#include <source_location>
#include <vector>

namespace kiln {

class Block;

/// Inside Kiln's own layers operators belong to the user's line that called the layer. While a CallSite with
/// a location lives, errors and nodes of this thread show that location in place of the operator's own; one
/// without a location gives the operators their own lines back (a user's hybrid_forward called by a container
/// of ours). Scopes nest.
class CallSite {
 public:
  /// `caller`: the line that called the block, whatever operators show. `block`: the one that runs, if any.
  CallSite(std::optional<std::source_location> where, std::source_location caller,
           const Block* block = nullptr);
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  /// `where`, or what the innermost scope puts in its place.
  static std::source_location resolve(std::source_location where);
  /// The blocks that run on this thread, the innermost first.
  static std::vector<const Block*> blocks();
  /// Whether the program, and not one of Kiln's own blocks, called the innermost block.
  static bool called_by_program();
  /// The line that called the innermost block, for errors that no operator makes; unknown outside of calls.
  static std::source_location caller();

 private:
  std::optional<std::source_location> where_;
  std::source_location caller_;
  const Block* block_;
  const CallSite* outer_;
};

}  // namespace kiln
