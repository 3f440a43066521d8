// The format of a cache file.
#pragma once
#include "runtime/disk_cache.h"

#include <optional>
#include <string>

/// The bytes of one cache file: a header of fixed size, stamp, description, payload.
namespace kiln::cache_file {

struct Contents {
  std::string stamp;
  std::string description;
  std::vector<std::byte> payload;
};

std::vector<std::byte> encode(const CacheKey& key, std::string_view stamp, std::string_view description,
                              std::span<const std::byte> payload);
/// An empty `problem` means that the file is valid. A null `key` accepts any key.
struct Decoded {
  Contents contents;
  std::string problem;
};
Decoded decode(std::span<const std::byte> file, const CacheKey* key);

/// The contents of the file, if it is a regular file of plausible size that only this user, or user
/// `trusted`, can write to.
struct Read {
  std::vector<std::byte> bytes;
  std::int64_t modified = 0;
  bool found = false;
  std::string problem;
};
Read read(const std::string& path, std::optional<unsigned> trusted);
/// Writes a temporary file and renames it: readers see the old file, none, or the complete new one. Returns
/// an errno, 0 for success.
int write(const std::string& path, std::span<const std::byte> bytes);

}  // namespace kiln::cache_file
