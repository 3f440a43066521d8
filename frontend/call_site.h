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
  explicit CallSite(std::optional<std::source_location> where);
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  /// `where`, or what the innermost scope puts in its place.
  static std::source_location resolve(std::source_location where);

 private:
  std::optional<std::source_location> where_;
  const CallSite* outer_;
};

}  // namespace kiln
