// Reads, truncates and appends to the CSV log of a run.
#include "frontend/gluon/progress/training_log.h"

#include "frontend/formats/file_io.h"
#include "runtime/fail.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <sys/stat.h>

namespace kiln {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view batch_event = "batch", epoch_event = "epoch";

LogRow with_place(const LogPlace& place, const LogRow& cells) {
  LogRow row = {{"event", std::string(place.of_epoch ? epoch_event : batch_event)},
                {"epoch", place.epoch},
                {"batch", place.batch}};
  row.insert(row.end(), cells.begin(), cells.end());
  return row;
}

/// A cell of CSV, in quotes if it must be (RFC 4180).
std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string joined(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_quoted(cells[i]);
  return line;
}

/// The cells of a line of CSV; a quoted cell may have no line break.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool in_quotes = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_quotes && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      in_quotes = !in_quotes;
    } else if (c == ',' && !in_quotes) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return {};
  return value;
}

std::optional<LogPlace> place_of_cells(std::string_view event, std::optional<std::int64_t> epoch,
                                       std::optional<std::int64_t> batch) {
  if (!epoch || !batch || (event != batch_event && event != epoch_event)) return {};
  return LogPlace{*epoch, event == epoch_event, *batch};
}

std::optional<LogPlace> place_in_json(const std::string& line) {
  const OrderedJson json = OrderedJson::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return {};
  const auto integer = [&](const char* name) -> std::optional<std::int64_t> {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_integer()) return {};
    return found->get<std::int64_t>();
  };
  const auto event = json.find("event");
  if (event == json.end() || !event->is_string()) return {};
  return place_of_cells(event->get<std::string>(), integer("epoch"), integer("batch"));
}

}  // namespace

TrainingLog::TrainingLog(const std::string& path) : path_(path) {
  if (path.ends_with(".csv"))
    form_ = Form::csv;
  else if (path.ends_with(".jsonl"))
    form_ = Form::json_lines;
  else
    fail("{}: the log of a training run is a .csv or .jsonl file", path);
}

LogPlace TrainingLog::place_of(const std::string& line, std::size_t number) const {
  std::optional<LogPlace> place;
  if (form_ == Form::json_lines) {
    place = place_in_json(line);
  } else if (const std::vector<std::string> cells = cells_of(line); cells.size() >= 3) {
    place = place_of_cells(cells[0], integer_of(cells[1]), integer_of(cells[2]));
  }
  if (!place) fail("{}, line {}: this is no row of a training log: choose another file", path_, number);
  return *place;
}

std::vector<std::string> TrainingLog::rows_before(const LogPlace& place) {
  columns_.clear();
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0) return {};
  const std::vector<std::byte> bytes = read_file(path_, "log");
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> rows;
  for (std::size_t number = 1; text.find('\n') != text.npos; ++number) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(line.size() + 1);
    if (form_ == Form::csv && number == 1) {
      columns_ = cells_of(line);
      if (columns_.size() < 3 || columns_[0] != "event" || columns_[1] != "epoch" || columns_[2] != "batch")
        fail(
            "{}: this is no training log, whose first line begins with event,epoch,batch: choose another "
            "file",
            path_);
      continue;
    }
    if (place_of(line, number) < place) rows.push_back(std::move(line));
  }
  return rows;
}

double TrainingLog::seconds_of(const std::string& line) const {
  double seconds = 0;
  if (form_ == Form::json_lines) {
    const OrderedJson json = OrderedJson::parse(line);  // place_of() has read it
    if (const auto found = json.find(seconds_column); found != json.end() && found->is_number())
      seconds = found->get<double>();
  } else {
    const std::vector<std::string> cells = cells_of(line);
    const auto column = std::find(columns_.begin(), columns_.end(), seconds_column);
    const auto at = static_cast<std::size_t>(column - columns_.begin());
    if (at < cells.size()) std::from_chars(cells[at].data(), cells[at].data() + cells[at].size(), seconds);
  }
  return std::isfinite(seconds) ? std::max(seconds, 0.0) : 0.0;
}

double TrainingLog::continue_at(const LogPlace& place) {
  const std::vector<std::string> rows = rows_before(place);
  const double seconds = rows.empty() ? 0 : seconds_of(rows.back());
  if (rows.empty()) columns_.clear();
  rewrite(rows);
  return seconds;
}

void TrainingLog::rewrite(const std::vector<std::string>& lines) const {
  std::string text;
  if (!columns_.empty()) text = joined(columns_) + "\n";
  for (const std::string& l : lines) text += l + "\n";
  write_file(path_, text, "log");
}

std::string TrainingLog::csv_line(const LogRow& row) {
  bool wider = false;
  const bool headed = !columns_.empty();
  for (const auto& [name, _] : row) {
    if (std::find(columns_.begin(), columns_.end(), name) != columns_.end()) continue;
    columns_.push_back(name);
    wider = true;
  }
  std::string line;
  if (wider && headed) {
    const std::vector<std::string> columns = columns_;
    const std::vector<std::string> rows = rows_before({.epoch = std::int64_t{1} << 62});
    columns_ = columns;
    rewrite(rows);
  } else if (wider) {
    line = joined(columns_) + "\n";
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i != 0) line += ',';
    const auto cell =
        std::find_if(row.begin(), row.end(), [&](const auto& c) { return c.first == columns_[i]; });
    if (cell == row.end()) continue;
    line += std::visit([](const auto& v) { return csv_quoted(fmt::format("{}", v)); }, cell->second);
  }
  return line;
}

std::string TrainingLog::line_of(const LogRow& row) {
  if (form_ == Form::csv) return csv_line(row);
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, value] : row) std::visit([&, &key = name](const auto& v) { json[key] = v; }, value);
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);  // NaN and infinities are null
}

void TrainingLog::append(const LogPlace& place, const LogRow& cells) {
  append_file(path_, line_of(with_place(place, cells)) + "\n", "log");
}

}  // namespace kiln
