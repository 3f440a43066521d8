// The log's categories and receivers.
#include "runtime/log.h"

#include "runtime/env.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <set>

namespace kiln {
namespace {

constexpr std::array<std::string_view, 2> categories{"compile", "cache"};

struct State {
  Mutex mutex;
  LogSink sink;
  std::set<std::string, std::less<>> said;
};
/// Never destroyed: destructors of static objects may still log.
State& state() {
  return once<[] { return State(); }>();
}

void say(State& s, LogLevel level, const std::string& line) {
  if (s.sink)
    s.sink(level, line);
  else
    std::fprintf(stderr, "%s\n", line.c_str());
}

/// One bit per category in KILN_LOG.
unsigned read_categories() {
  unsigned mask = 0;
  for (const std::string_view word : env_words("KILN_LOG")) {
    bool known = word == "all";
    if (known) mask = ~0u;
    for (std::size_t i = 0; i < categories.size(); ++i)
      if (word == categories[i]) {
        mask |= 1u << i;
        known = true;
      }
    if (!known)
      warn_once(
          "KILN_LOG",
          fmt::format("KILN_LOG: no category is called \"{}\"; there are compile, cache and all", word));
  }
  return mask;
}

}  // namespace

void set_log_sink(LogSink sink) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.sink = std::move(sink);
}

bool log_enabled(LogCategory category) {
  return (once<read_categories>() >> static_cast<unsigned>(category) & 1) != 0;
}

void log_info(LogCategory category, const std::string& text) {
  if (!log_enabled(category)) return;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  say(s, LogLevel::info, fmt::format("kiln: {}: {}", categories[static_cast<std::size_t>(category)], text));
}

void warn_once(std::string_view cause, const std::string& text) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!s.said.emplace(cause).second) return;
  say(s, LogLevel::warning, fmt::format("kiln: warning: {}", text));
}

}  // namespace kiln
