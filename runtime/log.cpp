// The log's categories and receivers.
#include "runtime/log.h"

#include "runtime/env.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
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

/// The bit of KILN_LOG=json; the bits of the categories precede it.
constexpr unsigned json_bit = 1u << categories.size();

/// One bit per category in KILN_LOG, and json_bit.
unsigned read_categories() {
  unsigned mask = 0;
  for (const std::string_view word : env_words("KILN_LOG")) {
    bool known = word == "all" || word == "json";
    if (word == "all") mask |= json_bit - 1;
    if (word == "json") mask |= json_bit;
    for (std::size_t i = 0; i < categories.size(); ++i)
      if (word == categories[i]) {
        mask |= 1u << i;
        known = true;
      }
    if (!known)
      warn_once(
          "KILN_LOG",
          fmt::format("KILN_LOG: no category is called \"{}\"; there are compile, cache and all, and json",
                      word));
  }
  return mask;
}

bool logs_json() { return (once<read_categories>() & json_bit) != 0; }

using LogJson = nlohmann::ordered_json;
std::string one_line(const LogJson& object) {
  return object.dump(-1, ' ', false, LogJson::error_handler_t::replace);
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

void log_info(LogCategory category, const std::string& text, const std::string& fields) {
  if (!log_enabled(category)) return;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::string_view name = categories[static_cast<std::size_t>(category)];
  if (!logs_json()) return say(s, LogLevel::info, fmt::format("kiln: {}: {}", name, text));
  LogJson line = {{"level", "info"}, {"category", name}, {"text", text}};
  line.update(LogJson::parse(fields));
  say(s, LogLevel::info, one_line(line));
}

void warn_once(std::string_view cause, const std::string& text) {
  // The warning about KILN_LOG itself comes while the variable is read.
  const bool json = cause != "KILN_LOG" && logs_json();
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!s.said.emplace(cause).second) return;
  say(s, LogLevel::warning,
      json ? one_line({{"level", "warning"}, {"text", text}}) : fmt::format("kiln: warning: {}", text));
}

}  // namespace kiln
