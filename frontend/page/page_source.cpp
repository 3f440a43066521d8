// Reads the program's files as far as the page shows them.
#include "frontend/page/page_source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace kiln {
namespace {

constexpr std::size_t max_whole_lines = 1500;  // of a file that is shown as a whole
constexpr std::size_t max_line_bytes = 400;
constexpr std::uintmax_t max_file_bytes = std::uintmax_t{16} << 20;
constexpr unsigned lines_around = 4;

/// A relative name is of the folder in which the compiler ran, which is mostly above the program's.
std::filesystem::path found_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::path(name).is_absolute() || fs::exists(name, error)) return name;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path(); folder.has_relative_path();
       folder = folder.parent_path())
    if (fs::exists(folder / name, error)) return folder / name;
  return name;
}

/// Nothing if it is no text file that can be read.
std::vector<std::string> lines_of_file(const std::string& name) {
  const std::filesystem::path path = found_file(name);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) ||
      std::filesystem::file_size(path, error) > max_file_bytes)
    return {};
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.find('\0') != line.npos) return {};
    if (line.size() > max_line_bytes) line = line.substr(0, max_line_bytes) + " ...";
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The numbers of the lines to show, from 1.
std::set<unsigned> shown_lines(const std::vector<unsigned>& asked, std::size_t all) {
  std::set<unsigned> shown;
  if (all <= max_whole_lines) {
    for (unsigned n = 1; n <= all; ++n) shown.insert(n);
    return shown;
  }
  for (const unsigned line : asked)
    for (unsigned n = line > lines_around ? line - lines_around : 1;
         n <= std::min<std::size_t>(line + lines_around, all); ++n)
      shown.insert(n);
  return shown;
}

}  // namespace

std::size_t PageSources::add(const std::string& file, unsigned line) {
  const auto [at, is_new] = numbers_.try_emplace(file, files_.size());
  if (is_new) files_.push_back({file, {}});
  files_[at->second].lines.push_back(line);
  return at->second;
}

nlohmann::ordered_json PageSources::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const File& file : files_) {
    const std::vector<std::string> text = lines_of_file(file.name);
    const std::set<unsigned> asked(file.lines.begin(), file.lines.end());
    auto lines = nlohmann::ordered_json::array();
    // Lines that the file no longer has, or of a file that is not here, are numbers without text.
    std::set<unsigned> shown = shown_lines(file.lines, text.size());
    shown.insert(asked.begin(), asked.end());
    for (const unsigned n : shown)
      lines.push_back({n, n >= 1 && n <= text.size() ? text[n - 1] : std::string()});
    list.push_back({{"name", file.name}, {"found", !text.empty()}, {"lines", std::move(lines)}});
  }
  return list;
}

}  // namespace kiln
