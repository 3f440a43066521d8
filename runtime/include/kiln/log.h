// The user's side of the log.
#pragma once
#include <kiln/export.h>

#include <functional>
#include <string_view>

namespace kiln {

/// The importance of a log line.
enum class LogLevel {
  info,     ///< of a category that KILN_LOG names
  warning,  ///< of a cause that is told once in a process
};

/// Receives every log line, without a newline. Calls come from any thread, one at a time. Must not throw and
/// must not call Kiln.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Replaces stderr; an empty sink restores it. By default only warnings are logged, each cause once per
/// process. KILN_LOG=compile,cache adds information of these categories ("all" for every one). With the word
/// "json" each line is a JSON object.
KILN_API void set_log_sink(LogSink sink);

}  // namespace kiln
