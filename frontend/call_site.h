#pragma once
#include <optional>
#include <source_location>

namespace kiln {

/// Inside Kiln's own layers operators belong to the user's line that called the layer. While a CallSite with
/// a location lives, errors and nodes of this thread show that location in place of the operator's own; one
/// without a location gives the operators their own lines back (a user's hybrid_forward called by a container
/// of ours). Scopes nest.
class CallSite {
 public:
  /// `caller`: the line that called the block, whatever operators show.
  CallSite(std::optional<std::source_location> where, std::source_location caller);
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  /// `where`, or what the innermost scope puts in its place.
  static std::source_location resolve(std::source_location where);
  /// The line that called the innermost block, for errors that no operator makes; unknown outside of calls.
  static std::source_location caller();

 private:
  std::optional<std::source_location> where_;
  std::source_location caller_;
  const CallSite* outer_;
};

}  // namespace kiln
