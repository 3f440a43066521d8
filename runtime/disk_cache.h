// Compiled kernels on disk.
#pragma once
#include <kiln/cache.h>
#include <kiln/export.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Compiled kernels on disk, found by a hash of their definition. Files are private to the user and are
/// written atomically (temporary file, rename). Before use, size, key, stamp and checksum are verified; a
/// mismatch is a miss. No function here throws because of the state of the disk.
namespace kiln {

/// 128 bits of XXH3.
struct CacheKey {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  bool operator==(const CacheKey&) const = default;
  KILN_API std::string hex() const;
};
KILN_API CacheKey cache_key(std::string_view contents);

struct DiskCacheOptions {
  enum class Mode { off, read_only, read_write };
  std::string folder;  ///< empty: off
  Mode mode = Mode::read_write;
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
  std::optional<unsigned> trusted_owner = {};  ///< a user who may own the folder, beside this one

  /// KILN_CACHE_DIR, else XDG_CACHE_HOME/kiln, else ~/.cache/kiln; KILN_CACHE=off|ro|rw; KILN_CACHE_MAX_SIZE.
  KILN_API static DiskCacheOptions from_environment();
};

/// Thread rule: any thread, any number of processes. If two store the same key, both succeed and one file
/// remains.
class KILN_API DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options);

  /// The bytes stored under `key`, if they are intact and their stamp equals `stamp`. The stamp holds the
  /// conditions under which the bytes are valid: versions of Kiln and LLVM, CPU features. A hit updates the
  /// time of last use (to the hour) for eviction.
  std::optional<std::vector<std::byte>> load(const CacheKey& key, std::string_view stamp);
  /// Whether there is an entry, intact or not.
  bool contains(const CacheKey& key);
  /// Stores the bytes; no effect if that is not possible. `description` is shown by `kiln cache ls`. May
  /// evict the least recently used entries.
  void store(const CacheKey& key, std::string_view stamp, std::span<const std::byte> bytes,
             std::string_view description);

  bool enabled();  ///< the folder exists, or can be made, and is safe to use
  const std::string& path() const { return options_.folder; }
  std::vector<cache::Entry> list();  ///< least recently used first
  cache::Check verify();  ///< reads every entry; damaged ones are removed unless the cache is read-only
  /// Evicts until at most that many bytes are left. Returns the bytes freed.
  std::uint64_t prune(std::uint64_t max_bytes);

 private:
  enum class State { unknown, usable, unusable };

  std::string file_of(const CacheKey& key) const;
  std::uint64_t evict(std::uint64_t above, std::uint64_t down_to);

  DiskCacheOptions options_;
  std::atomic<State> state_{State::unknown};
  std::atomic<std::uint64_t> stored_since_scan_{0};
};

/// The cache of the process, with the options of the environment at the first call.
DiskCache& disk_cache();

/// The kernels that were compiled when Kiln was built (tools/precompile), which nobody writes: the folder
/// kiln-kernels beside the library, of the library's owner. KILN_PRECOMPILED is another folder, or `off`.
DiskCache& precompiled_kernels();

}  // namespace kiln
