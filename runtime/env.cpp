// Numbers and lists in environment variables.
#include "runtime/env.h"

#include "runtime/log.h"

#include <algorithm>

namespace kiln {

std::vector<std::string_view> env_words(const char* name) {
  std::vector<std::string_view> words;
  std::string_view rest = env(name).value_or("");
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

bool env_is_on(const char* name) {
  const auto text = env(name);
  if (!text || text == "0" || text == "off") return false;
  const bool on = text == "1" || text == "on";
  if (!on) warn_once(name, fmt::format("{} is \"{}\", neither 1 nor 0; 0 is used", name, *text));
  return on;
}

std::size_t count_from_env(const char* name, std::size_t fallback) {
  const auto text = env(name);
  if (!text) return fallback;
  if (const auto count = parse_size(*text); count && *count >= 1) return *count;
  warn_once(name,
            fmt::format("{} is \"{}\", not a number from 1 on; {} is used instead", name, *text, fallback));
  return fallback;
}

}  // namespace kiln
