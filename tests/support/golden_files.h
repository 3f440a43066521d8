// The reference data in tests/golden.
#pragma once
#include <kiln/kiln.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

/// The reference data in tests/golden.
namespace golden {

inline std::string path(const std::string& name) { return KILN_TEST_DATA "/" + name; }

inline std::string read_text(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + file);
  return text.str();
}

inline void write_text(const std::string& file, std::string_view text) {
  std::ofstream(file, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// The list called `key` in a folder's manifest.
inline nlohmann::json manifest(const std::string& folder, const std::string& key = "cases") {
  return nlohmann::json::parse(read_text(path(folder + "/manifest.json"))).at(key);
}

/// All files of a folder of the data whose name ends so, sorted.
inline std::vector<std::string> files(const std::string& folder, std::string_view ending) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path(folder)))
    if (entry.path().string().ends_with(ending)) found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

/// Whether a number is MXNet's `expected` up to rounding.
inline bool close(double got, double expected, double rtol, double atol) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return got == expected;
  return std::abs(got - expected) <= atol + rtol * std::abs(expected);
}

/// The message of the kiln::Error that `action` throws; fails the caller's test by its emptiness if it throws
/// none.
template <class F>
std::string error_of(F action) {
  try {
    action();
  } catch (const kiln::Error& e) {
    return e.kind() == kiln::Error::Kind::user ? e.what() : std::string("internal error: ") + e.what();
  }
  return {};
}

}  // namespace golden
