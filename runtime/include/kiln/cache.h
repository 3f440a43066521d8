#pragma once
#include <kiln/export.h>

#include <cstdint>
#include <string>
#include <vector>

/// The folder where compiled kernels stay between processes: KILN_CACHE_DIR, else XDG_CACHE_HOME/kiln, else
/// ~/.cache/kiln. KILN_CACHE=off|ro|rw; KILN_CACHE_MAX_SIZE (default 1G) bounds it, what was not used for
/// longest goes first. It may be removed at any time; only time is lost. Any thread, any number of processes.
namespace kiln::cache {

struct Entry {
  std::string key;          ///< 32 hexadecimal digits
  std::string description;  ///< which operators
  std::string stamp;        ///< what it was compiled with and for; empty when the file is damaged
  std::uint64_t bytes = 0;  ///< on disk
  std::int64_t used = 0;    ///< last use, seconds since 1970, true to the hour
};

struct Check {
  std::uint64_t entries = 0;          ///< sound ones
  std::vector<std::string> problems;  ///< one line for each damaged file
};

/// Empty when there is no cache: KILN_CACHE=off, or no home folder.
KILN_API std::string path();
/// Least recently used first.
KILN_API std::vector<Entry> list();
/// Reads every entry and compares checksums. Damaged files are removed, unless the cache is read-only.
KILN_API Check verify();
/// Evicts until at most `max_bytes` are left. Returns the bytes freed.
KILN_API std::uint64_t prune(std::uint64_t max_bytes);
/// Removes every entry. Returns the bytes freed.
KILN_API std::uint64_t clear();

}  // namespace kiln::cache
