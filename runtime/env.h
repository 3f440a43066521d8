// Environment variables.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

namespace kiln {

/// The value of an environment variable; nothing if it is unset or empty.
inline std::optional<std::string_view> env(const char* name) {
  const char* v = std::getenv(name);
  if (v == nullptr || *v == '\0') return {};
  return std::string_view(v);
}

/// The words of a list with commas in a variable, without empty ones.
std::vector<std::string_view> env_words(const char* name);

/// Whether an environment variable is "1" or "on". Warns once of a value that is neither of these nor "0" or
/// "off".
bool env_is_on(const char* name);

/// A count or a size: "4", "64M", "1G" (1024-based). Nothing for any other text.
inline std::optional<std::size_t> parse_size(std::string_view text) {
  std::size_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
    if (__builtin_mul_overflow(value, std::size_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<std::size_t>(text[i] - '0'), &value))
      return {};
  if (i == 0) return {};
  std::size_t unit = 1;
  if (i < text.size()) {
    switch (text[i] | 0x20) {
      case 'k':
        unit = std::size_t{1} << 10;
        break;
      case 'm':
        unit = std::size_t{1} << 20;
        break;
      case 'g':
        unit = std::size_t{1} << 30;
        break;
      default:
        return {};
    }
    ++i;
    if (i < text.size() && (text[i] | 0x20) == 'b') ++i;
    if (i != text.size()) return {};
  }
  if (__builtin_mul_overflow(value, unit, &value)) return {};
  return value;
}

/// The count in a variable, at least 1. `fallback` if it is unset or, with a warning, if its value is no such
/// count.
std::size_t count_from_env(const char* name, std::size_t fallback);

}  // namespace kiln
