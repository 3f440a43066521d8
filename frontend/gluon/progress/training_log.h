// The CSV log of a training run.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kiln {

/// The place of a row in the log. The epoch's row follows the rows of its batches.
struct LogPlace {
  std::int64_t epoch = 0;
  bool of_epoch = false;
  std::int64_t batch = 0;
  auto operator<=>(const LogPlace&) const = default;
};

/// A cell: an integer, a number, or a word.
using LogValue = std::variant<std::int64_t, double, std::string>;
using LogRow = std::vector<std::pair<std::string, LogValue>>;

/// The column of the time since the beginning of the run, in seconds.
inline constexpr const char* seconds_column = "seconds";

/// A file of rows with named cells, which grows by a row at a time: CSV, or JSON lines. Begins with `event`,
/// `epoch` and `batch`.
class TrainingLog {
 public:
  /// Throws for another ending of the name than .csv and .jsonl.
  explicit TrainingLog(const std::string& path);

  /// Drops the rows of an earlier run that are not before `place`, and a last line that was not written to
  /// its end. Returns the `seconds` of the last row that stays, 0 if there is none. Throws for a file that is
  /// no such log, leaving it as it is.
  double continue_at(const LogPlace& place);
  /// Throws if the file cannot be written. If a row of CSV has other cells than the preceding rows, the
  /// header is written again, with a column more.
  void append(const LogPlace& place, const LogRow& cells);

 private:
  enum class Form { csv, json_lines };

  std::vector<std::string> rows_before(const LogPlace& place);
  LogPlace place_of(const std::string& line, std::size_t number) const;
  double seconds_of(const std::string& line) const;
  std::string line_of(const LogRow& row);
  std::string csv_line(const LogRow& row);
  void rewrite(const std::vector<std::string>& lines) const;

  std::string path_;
  Form form_;
  std::vector<std::string> columns_;  // of CSV; empty until there is a header
};

}  // namespace kiln
