#pragma once
#include <kiln/error.h>

#include <fmt/format.h>

namespace kiln {

/// Throws a user's error with a formatted message.
template <class... A>
[[noreturn]] void fail(fmt::format_string<A...> text, A&&... args) {
  throw Error(fmt::format(text, std::forward<A>(args)...));
}

/// Throws an internal error: something that no input should be able to cause.
template <class... A>
[[noreturn]] void fail_internal(fmt::format_string<A...> text, A&&... args) {
  throw Error(fmt::format(text, std::forward<A>(args)...), Error::Kind::internal);
}

}  // namespace kiln
