#include "runtime/env.h"

#include "runtime/log.h"

namespace kiln {

std::size_t count_from_env(const char* name, std::size_t otherwise) {
  const auto text = env(name);
  if (!text) return otherwise;
  if (const auto count = parse_size(*text); count && *count >= 1) return *count;
  warn_once(name,
            fmt::format("{} is \"{}\", not a number from 1 on; {} is used instead", name, *text, otherwise));
  return otherwise;
}

}  // namespace kiln
