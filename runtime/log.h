// The log, for Kiln's own code.
#pragma once
#include <kiln/log.h>

#include <fmt/format.h>
#include <string>
#include <string_view>

/// Logging for Kiln's own code; kiln/log.h is the user's side.
namespace kiln {

enum class LogCategory { compile, cache };

/// Whether KILN_LOG has the category: check it before composing a line.
bool log_enabled(LogCategory category);
/// Logs "kiln: compile: ...". Dropped if the category is off. With KILN_LOG=...,json a line is the JSON
/// object
/// {"level": "info", "category": "compile", "text": ...} and the members of the object `fields`.
void log_info(LogCategory category, const std::string& text, const std::string& fields = "{}");
/// Logs "kiln: warning: ...", or {"level": "warning", "text": ...}, once per `cause` and process.
void warn_once(std::string_view cause, const std::string& text);

template <class... A>
void log_line(LogCategory category, fmt::format_string<A...> text, A&&... args) {
  if (log_enabled(category)) log_info(category, fmt::format(text, std::forward<A>(args)...));
}

}  // namespace kiln
