// Numbers in environment variables.
#include "runtime/env.h"

#include "runtime/log.h"

namespace kiln {

std::size_t count_from_env(const char* name, std::size_t fallback) {
  const auto text = env(name);
  if (!text) return fallback;
  if (const auto count = parse_size(*text); count && *count >= 1) return *count;
  warn_once(name,
            fmt::format("{} is \"{}\", not a number from 1 on; {} is used instead", name, *text, fallback));
  return fallback;
}

}  // namespace kiln
