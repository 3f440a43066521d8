#pragma once
#include <kiln/export.h>

#include <functional>
#include <string_view>

namespace kiln {

enum class LogLevel { info, warning };

/// Receives every line Kiln has to say, without a newline. Called from any thread, one call at a time; must
/// not throw and must not call Kiln.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Replaces stderr. An empty sink brings stderr back. Without KILN_LOG only warnings come, each cause once
/// per process; KILN_LOG=compile,cache adds lines of information about these categories ("all" for every
/// one).
KILN_API void set_log_sink(LogSink sink);

}  // namespace kiln
