// Writes and verifies the bytes of a cache file.
#include "runtime/disk_cache_entry.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kiln {

CacheKey cache_key(std::string_view contents) {
  const XXH128_hash_t h = XXH3_128bits(contents.data(), contents.size());
  return {h.high64, h.low64};
}

std::string CacheKey::hex() const { return fmt::format("{:016x}{:016x}", hi, lo); }

namespace cache_file {
namespace {

constexpr char magic[8] = {'K', 'I', 'L', 'N', 'O', 'B', 'J', '1'};
constexpr std::size_t largest_file = std::size_t{256} << 20;

struct Header {
  char magic[8];
  std::uint64_t key_hi, key_lo;
  std::uint64_t stamp_bytes, description_bytes, payload_bytes;
  std::uint64_t checksum_hi, checksum_lo;  // of the whole file with these two zero
};
static_assert(sizeof(Header) == 64);

XXH128_hash_t checksum(Header header, std::span<const std::byte> rest) {
  header.checksum_hi = header.checksum_lo = 0;
  const XXH128_hash_t h = XXH3_128bits(&header, sizeof header);
  return XXH3_128bits_withSeed(rest.data(), rest.size(), h.low64 ^ h.high64);
}

/// Closes the file descriptor on destruction.
struct File {
  int fd;
  ~File() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::vector<std::byte> encode(const CacheKey& key, std::string_view stamp, std::string_view description,
                              std::span<const std::byte> payload) {
  Header h{};
  std::memcpy(h.magic, magic, sizeof magic);
  h.key_hi = key.hi;
  h.key_lo = key.lo;
  h.stamp_bytes = stamp.size();
  h.description_bytes = description.size();
  h.payload_bytes = payload.size();
  std::vector<std::byte> file(sizeof h);
  const auto append = [&](const void* data, std::size_t n) {
    const auto* p = static_cast<const std::byte*>(data);
    file.insert(file.end(), p, p + n);
  };
  file.reserve(sizeof h + stamp.size() + description.size() + payload.size());
  append(stamp.data(), stamp.size());
  append(description.data(), description.size());
  append(payload.data(), payload.size());
  const XXH128_hash_t sum = checksum(h, std::span(file).subspan(sizeof h));
  h.checksum_hi = sum.high64;
  h.checksum_lo = sum.low64;
  std::memcpy(file.data(), &h, sizeof h);
  return file;
}

Decoded decode(std::span<const std::byte> file, const CacheKey* key) {
  Decoded d;
  const auto bad = [&](std::string what) {
    d.problem = std::move(what);
    return d;
  };
  Header h;
  if (file.size() < sizeof h) return bad("it is too short");
  std::memcpy(&h, file.data(), sizeof h);
  if (std::memcmp(h.magic, magic, sizeof magic) != 0) return bad("it is not a kernel of this format");
  const std::span<const std::byte> rest = file.subspan(sizeof h);
  // Each length is checked against the remaining bytes before the next is read: no sum can overflow.
  if (h.stamp_bytes > rest.size() || h.description_bytes > rest.size() - h.stamp_bytes ||
      h.payload_bytes != rest.size() - h.stamp_bytes - h.description_bytes)
    return bad("its length is wrong: it was cut off, or written over");
  const XXH128_hash_t sum = checksum(h, rest);
  if (sum.high64 != h.checksum_hi || sum.low64 != h.checksum_lo) return bad("its checksum is wrong");
  if (key != nullptr && (h.key_hi != key->hi || h.key_lo != key->lo)) return bad("it is another kernel's");
  const auto* text = reinterpret_cast<const char*>(rest.data());
  d.contents.stamp.assign(text, h.stamp_bytes);
  d.contents.description.assign(text + h.stamp_bytes, h.description_bytes);
  const auto payload = rest.subspan(h.stamp_bytes + h.description_bytes);
  d.contents.payload.assign(payload.begin(), payload.end());
  return d;
}

Read read(const std::string& path, std::optional<unsigned> trusted) {
  Read r;
  // With O_NONBLOCK, opening a pipe of that name does not block.
  const File f{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (f.fd < 0) {
    r.found = errno != ENOENT && errno != ENOTDIR;
    if (r.found) r.problem = fmt::format("it cannot be opened ({})", std::strerror(errno));
    return r;
  }
  r.found = true;
  struct stat s {};
  if (::fstat(f.fd, &s) != 0 || !S_ISREG(s.st_mode)) {
    r.problem = "it is not a regular file";
  } else if ((s.st_uid != ::geteuid() && s.st_uid != trusted) || (s.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    r.problem = "others may write it";
  } else if (static_cast<std::uint64_t>(s.st_size) > largest_file) {
    r.problem = "it is too large";
  }
  if (!r.problem.empty()) return r;
  r.modified = s.st_mtime;
  r.bytes.resize(static_cast<std::size_t>(s.st_size));
  std::size_t have = 0;
  while (have < r.bytes.size()) {
    const ssize_t n = ::read(f.fd, r.bytes.data() + have, r.bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  r.bytes.resize(have);
  return r;
}

int write(const std::string& path, std::span<const std::byte> bytes) {
  static std::atomic<unsigned> counter{0};
  const std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter.fetch_add(1));
  int error = 0;
  {
    const File f{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (f.fd < 0) return errno;
    std::size_t done = 0;
    while (done < bytes.size() && error == 0) {
      const ssize_t n = ::write(f.fd, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno != EINTR) error = errno;
      if (n > 0) done += static_cast<std::size_t>(n);
    }
  }
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  return error;
}

}  // namespace cache_file
}  // namespace kiln
