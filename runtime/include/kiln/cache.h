// The disk cache of compiled kernels.
#pragma once
#include <kiln/export.h>

#include <cstdint>
#include <string>
#include <vector>

/// The disk cache of compiled kernels: KILN_CACHE_DIR, else XDG_CACHE_HOME/kiln, else ~/.cache/kiln.
/// KILN_CACHE=off|ro|rw. KILN_CACHE_MAX_SIZE (default 1G) bounds it; the least recently used files are
/// evicted first. The folder may be removed at any time. Any thread, any number of processes.
namespace kiln::cache {

/// A kernel on disk.
struct Entry {
  std::string key;          ///< 32 hexadecimal digits
  std::string description;  ///< operators of the kernel
  std::string stamp;        ///< versions and target; empty if the file is damaged
  std::uint64_t bytes = 0;  ///< size on disk
  std::int64_t used = 0;    ///< last use, seconds since 1970, accurate to an hour
};

/// The result of verify().
struct Check {
  std::uint64_t entries = 0;          ///< valid entries
  std::vector<std::string> problems;  ///< one line for each damaged file
};

/// Empty without a cache: KILN_CACHE=off, or no home folder.
KILN_API std::string path();
/// Least recently used first.
KILN_API std::vector<Entry> list();
/// Verifies the checksum of every entry. Removes damaged files unless the cache is read-only.
KILN_API Check verify();
/// Evicts until at most `max_bytes` are left. Returns the bytes freed.
KILN_API std::uint64_t prune(std::uint64_t max_bytes);
/// Removes every entry. Returns the bytes freed.
KILN_API std::uint64_t clear();

}  // namespace kiln::cache
