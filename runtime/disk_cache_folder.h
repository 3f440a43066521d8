// The folder of the disk cache.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The cache's folder: FOLDER/ab/<32 hexadecimal digits>.kernel, "ab" being the first two of the digits.
namespace kiln::cache_folder {

/// Creates the folder (private, parents too) and checks that it is safe to load code from: only this user, or
/// user `trusted`, can write to it. Returns the problem; empty if there is none.
std::string prepare(const std::string& folder, bool may_create, std::optional<unsigned> trusted);

struct File {
  std::string path;
  std::string key;  ///< the digits
  std::uint64_t bytes = 0;
  std::int64_t used_ns = 0;  ///< modification time
};
/// All entries, least recently used first. Removes temporary files of writers that died.
std::vector<File> scan(const std::string& folder);

inline constexpr const char* suffix = ".kernel";

}  // namespace kiln::cache_folder
