// The lines of the log, for tests.
#pragma once
#include <kiln/log.h>

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// All lines of the log in its lifetime.
struct LogLines {
  std::vector<std::string> all, warnings;
  LogLines() {
    set_log_sink([this](LogLevel level, std::string_view line) {
      (level == LogLevel::warning ? warnings : all).emplace_back(line);
    });
  }
  ~LogLines() { set_log_sink({}); }
  /// The lines with a text.
  std::vector<std::string> with(std::string_view text) const {
    std::vector<std::string> found;
    for (const std::string& line : all)
      if (line.find(text) != std::string::npos) found.push_back(line);
    return found;
  }
};

}  // namespace kiln
