// Functions that throw kiln::Error.
#pragma once
#include <kiln/error.h>

#include <concepts>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <type_traits>

namespace kiln {

/// A text from a program or file for a message: if longer than 400 bytes, its middle is replaced by its size.
std::string shortened(std::string_view text);

/// An argument of a message.
template <class T>
decltype(auto) shown(const T& argument) {
  if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>)
    return shortened(argument);
  else
    return (argument);
}

/// `text` with its arguments. String arguments may have any length and are shortened. A `const char*` is not:
/// it is a literal of Kiln or an already composed message.
template <class... A>
std::string compose(fmt::format_string<A...> text, A&&... args) {
  const auto format = [&](const auto&... values) {
    return fmt::vformat(text, fmt::make_format_args(values...));
  };
  return format(shown(args)...);
}

/// Throws a user's error with a composed message.
template <class... A>
[[noreturn]] void fail(fmt::format_string<A...> text, A&&... args) {
  throw Error(compose(text, std::forward<A>(args)...));
}

/// Throws an internal error: a defect of Kiln, which no input should be able to cause.
template <class... A>
[[noreturn]] void fail_internal(fmt::format_string<A...> text, A&&... args) {
  throw Error(compose(text, std::forward<A>(args)...), Error::Kind::internal);
}

}  // namespace kiln
