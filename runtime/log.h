#pragma once
#include <kiln/log.h>

#include <fmt/format.h>
#include <string>
#include <string_view>

/// What Kiln says beside its results; see kiln/log.h for the user's side.
namespace kiln {

enum class LogCategory { compile, cache };

/// Whether KILN_LOG names the category: ask before composing a line.
bool log_enabled(LogCategory category);
/// A line of information, "kiln: compile: ...". Dropped when the category is off.
void log_info(LogCategory category, const std::string& text);
/// "kiln: warning: ...", the first time that `cause` is given in this process.
void warn_once(std::string_view cause, const std::string& text);

template <class... A>
void log_line(LogCategory category, fmt::format_string<A...> text, A&&... args) {
  if (log_enabled(category)) log_info(category, fmt::format(text, std::forward<A>(args)...));
}

}  // namespace kiln
