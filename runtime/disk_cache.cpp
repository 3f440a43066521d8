// Looks up, stores and evicts kernels on disk.
#include "runtime/disk_cache.h"

#include "runtime/disk_cache_entry.h"
#include "runtime/disk_cache_folder.h"
#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/log.h"
#include "runtime/once.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kiln {
namespace {

using Mode = DiskCacheOptions::Mode;

constexpr std::int64_t touch_after = 3600;  // seconds: the precision of an entry's last use

std::optional<CacheKey> key_from_hex(std::string_view hex) {
  CacheKey k;
  const auto part = [&](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (hex.size() != 32 || !part(hex.substr(0, 16), k.hi) || !part(hex.substr(16), k.lo)) return {};
  return k;
}

}  // namespace

DiskCacheOptions DiskCacheOptions::from_environment() {
  DiskCacheOptions o;
  if (const auto mode = env("KILN_CACHE")) {
    if (*mode == "off" || *mode == "0")
      o.mode = Mode::off;
    else if (*mode == "ro")
      o.mode = Mode::read_only;
    else if (*mode != "rw")
      warn_once("KILN_CACHE",
                fmt::format("KILN_CACHE is \"{}\"; it may be off, ro or rw. Taken as rw.", *mode));
  }
  if (const auto text = env("KILN_CACHE_MAX_SIZE")) {
    if (const auto size = parse_size(*text))
      o.max_bytes = *size;
    else
      warn_once(
          "KILN_CACHE_MAX_SIZE",
          fmt::format("KILN_CACHE_MAX_SIZE is \"{}\", not a size such as 500M; 1G is used instead", *text));
  }
  // A relative XDG path is invalid by that specification; a relative KILN_CACHE_DIR is the user's wish.
  if (const auto dir = env("KILN_CACHE_DIR"))
    o.folder = *dir;
  else if (const auto xdg = env("XDG_CACHE_HOME"); xdg && xdg->front() == '/')
    o.folder = fmt::format("{}/kiln", *xdg);
  else if (const auto home = env("HOME"); home && home->front() == '/')
    o.folder = fmt::format("{}/.cache/kiln", *home);
  if (o.mode == Mode::off) o.folder.clear();
  return o;
}

DiskCache::DiskCache(DiskCacheOptions options) : options_(std::move(options)) {
  while (options_.folder.size() > 1 && options_.folder.back() == '/') options_.folder.pop_back();
  if (options_.folder.empty() || options_.mode == Mode::off) state_ = State::unusable;
}

bool DiskCache::enabled() {
  if (const State s = state_.load(std::memory_order_acquire); s != State::unknown) return s == State::usable;
  const bool may_create = options_.mode == Mode::read_write;
  std::string problem = cache_folder::prepare(options_.folder, may_create, options_.trusted_owner);
  if (!problem.empty() && (may_create || ::access(options_.folder.c_str(), F_OK) == 0))
    warn_once("cache folder " + options_.folder,  // there are two: Kiln's own kernels, and the user's
              fmt::format("the folder of compiled kernels {} is not used: {}", options_.folder, problem));
  state_.store(problem.empty() ? State::usable : State::unusable, std::memory_order_release);
  return problem.empty();
}

std::string DiskCache::file_of(const CacheKey& key) const {
  const std::string hex = key.hex();
  return fmt::format("{}/{}/{}{}", options_.folder, std::string_view(hex).substr(0, 2), hex,
                     cache_folder::suffix);
}

bool DiskCache::contains(const CacheKey& key) {
  return enabled() && ::access(file_of(key).c_str(), R_OK) == 0;
}

std::optional<std::vector<std::byte>> DiskCache::load(const CacheKey& key, std::string_view stamp) {
  if (!enabled()) return {};
  const std::string path = file_of(key);
  cache_file::Read file = cache_file::read(path, options_.trusted_owner);
  if (!file.found) {
    log_line(LogCategory::cache, "miss {}", key.hex());
    return {};
  }
  std::string problem = file.problem;
  if (problem.empty()) {
    cache_file::Decoded d = cache_file::decode(file.bytes, &key);
    problem = d.problem;
    if (problem.empty() && d.contents.stamp != stamp)
      problem = compose("it was compiled by another version or for another target ({})", d.contents.stamp);
    if (problem.empty()) {
      if (options_.mode == Mode::read_write && std::time(nullptr) - file.modified > touch_after)
        ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      log_line(LogCategory::cache, "hit {} {}", key.hex(), d.contents.description);
      return std::move(d.contents.payload);
    }
  }
  warn_once("cache entry in " + options_.folder,
            fmt::format("the cached kernel {} is not used: {}. It is compiled again.", path, problem));
  log_line(LogCategory::cache, "bad {}: {}", key.hex(), problem);
  if (options_.mode == Mode::read_write) ::unlink(path.c_str());
  return {};
}

void DiskCache::store(const CacheKey& key, std::string_view stamp, std::span<const std::byte> bytes,
                      std::string_view description) {
  if (options_.mode != Mode::read_write || !enabled()) return;
  const auto file = cache_file::encode(key, stamp, description, bytes);
  if (file.size() > options_.max_bytes) return;
  const std::string path = file_of(key);
  int error = cache_file::write(path, file);
  if (error == ENOENT) {  // the folder of the key's first two digits is missing
    ::mkdir(path.substr(0, path.rfind('/')).c_str(), 0700);
    error = cache_file::write(path, file);
  }
  if (error == EROFS || error == EACCES || error == EPERM) {
    // The cache is read-only, for example filled by an administrator: loading from it still works.
    log_line(LogCategory::cache, "not stored, {} is read-only", options_.folder);
    return;
  }
  if (error != 0) {
    warn_once("cache store",
              fmt::format("a compiled kernel could not be stored in {}: {}", path, std::strerror(error)));
    return;
  }
  log_line(LogCategory::cache, "store {} {} bytes {}", key.hex(), file.size(), description);
  // Eviction lists all files, which takes time. It runs after a sixteenth of the limit was stored, and for
  // every sixteenth key, so that many short processes together stay within the limit.
  const std::uint64_t since = stored_since_scan_.fetch_add(file.size()) + file.size();
  if (since > options_.max_bytes / 16 || key.lo % 16 == 0) {
    stored_since_scan_ = 0;
    evict(options_.max_bytes, options_.max_bytes - options_.max_bytes / 8);
  }
}

std::vector<cache::Entry> DiskCache::list() {
  std::vector<cache::Entry> entries;
  if (!enabled()) return entries;
  for (const cache_folder::File& f : cache_folder::scan(options_.folder)) {
    cache::Entry e{.key = f.key, .bytes = f.bytes, .used = f.used_ns / 1'000'000'000};
    const cache_file::Decoded d =
        cache_file::decode(cache_file::read(f.path, options_.trusted_owner).bytes, nullptr);
    e.description = d.problem.empty() ? d.contents.description : "damaged: " + d.problem;
    e.stamp = d.contents.stamp;
    entries.push_back(std::move(e));
  }
  return entries;
}

cache::Check DiskCache::verify() {
  cache::Check check;
  if (!enabled()) return check;
  for (const cache_folder::File& f : cache_folder::scan(options_.folder)) {
    const cache_file::Read file = cache_file::read(f.path, options_.trusted_owner);
    if (!file.found) continue;  // evicted meanwhile
    const auto key = key_from_hex(f.key);
    std::string problem = file.problem;
    if (problem.empty()) problem = cache_file::decode(file.bytes, key ? &*key : nullptr).problem;
    if (problem.empty()) {
      ++check.entries;
      continue;
    }
    check.problems.push_back(fmt::format("{}: {}", f.path, problem));
    if (options_.mode == Mode::read_write) ::unlink(f.path.c_str());
  }
  return check;
}

std::uint64_t DiskCache::prune(std::uint64_t max_bytes) {
  if (options_.mode != Mode::read_write || !enabled()) return 0;
  return evict(max_bytes, max_bytes);
}

std::uint64_t DiskCache::evict(std::uint64_t above, std::uint64_t down_to) {
  const auto files = cache_folder::scan(options_.folder);
  std::uint64_t total = 0, freed = 0;
  for (const auto& f : files) total += f.bytes;
  if (total <= above) return 0;
  for (const auto& f : files) {
    if (total - freed <= down_to) break;
    if (::unlink(f.path.c_str()) != 0 && errno != ENOENT) continue;
    freed += f.bytes;
    log_line(LogCategory::cache, "evict {}", f.key);
  }
  return freed;
}

DiskCache& disk_cache() {
  return once<[] { return DiskCache(DiskCacheOptions::from_environment()); }>();
}

namespace {

DiskCacheOptions precompiled_options() {
  DiskCacheOptions o{.mode = Mode::read_only};
  if (const auto folder = env("KILN_PRECOMPILED")) {
    if (*folder != "off") o.folder = *folder;
    return o;
  }
  Dl_info library{};
  struct stat s {};
  if (::dladdr(reinterpret_cast<const void*>(&precompiled_options), &library) == 0 ||
      ::stat(library.dli_fname, &s) != 0)
    return o;
  const std::string_view file = library.dli_fname;
  const auto slash = file.rfind('/');
  o.folder = fmt::format("{}kiln-kernels", slash == file.npos ? "" : file.substr(0, slash + 1));
  o.trusted_owner = s.st_uid;
  return o;
}

}  // namespace

DiskCache& precompiled_kernels() {
  return once<[] { return DiskCache(precompiled_options()); }>();
}

namespace cache {

std::string path() { return disk_cache().path(); }
std::vector<Entry> list() { return disk_cache().list(); }
Check verify() { return disk_cache().verify(); }
std::uint64_t prune(std::uint64_t max_bytes) { return disk_cache().prune(max_bytes); }
std::uint64_t clear() { return disk_cache().prune(0); }

}  // namespace cache
}  // namespace kiln
