#pragma once
#include "runtime/disk_cache.h"

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
/// Empty `problem` when the file is sound. With `key` null any key will do.
struct Decoded {
  Contents contents;
  std::string problem;
};
Decoded decode(std::span<const std::byte> file, const CacheKey* key);

/// The whole file, if it is a regular file of this user and not absurdly large.
struct Read {
  std::vector<std::byte> bytes;
  std::int64_t modified = 0;
  bool found = false;
  std::string problem;
};
Read read(const std::string& path);
/// Beside and renamed: readers see the old file, none, or the whole new one. Returns an errno, 0 for success.
int write(const std::string& path, std::span<const std::byte> bytes);

}  // namespace kiln::cache_file
