// The states of handles: a handle that was moved from has none.
#pragma once
#include <source_location>
#include <string_view>

namespace kiln::detail {

/// Throws: the object of this kind ("Trainer") was moved from.
[[noreturn]] void fail_moved_from(std::string_view kind, std::source_location where = {});

/// The state that a smart pointer of a handle owns. Throws, with the program's line, for a handle that was
/// moved from.
template <class Pointer>
auto& live_state(const Pointer& state, std::string_view kind, std::source_location where = {}) {
  if (!state) [[unlikely]]
    fail_moved_from(kind, where);
  return *state;
}

}  // namespace kiln::detail
