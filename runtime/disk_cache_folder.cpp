// Creates, checks and lists the cache's folder.
#include "runtime/disk_cache_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace kiln::cache_folder {
namespace {

constexpr std::time_t leftover_age = 3600;  // seconds after which a temporary file has no writer any more

struct CloseDir {
  void operator()(DIR* d) const { ::closedir(d); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

bool make_folders(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT) return false;
  const auto slash = folder.rfind('/');
  if (slash == std::string::npos || slash == 0 || !make_folders(folder.substr(0, slash))) return false;
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

bool is_hex(std::string_view s) { return s.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

void scan_one(const std::string& folder, std::vector<File>& files) {
  const Dir dir(::opendir(folder.c_str()));
  if (dir == nullptr) return;
  while (const dirent* e = ::readdir(dir.get())) {
    const std::string_view name = e->d_name;
    const bool entry =
        name.size() == 32 + std::strlen(suffix) && name.ends_with(suffix) && is_hex(name.substr(0, 32));
    const bool leftover =
        name.size() > 32 && is_hex(name.substr(0, 32)) && name.find(".tmp-") != std::string_view::npos;
    if (!entry && !leftover) continue;
    struct stat s {};
    if (::fstatat(::dirfd(dir.get()), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (entry) {
      files.push_back({.path = fmt::format("{}/{}", folder, name),
                       .key = std::string(name.substr(0, 32)),
                       .bytes = static_cast<std::uint64_t>(s.st_size),
                       .used_ns = s.st_mtim.tv_sec * std::int64_t{1'000'000'000} + s.st_mtim.tv_nsec});
    } else if (std::time(nullptr) - s.st_mtime > leftover_age) {
      ::unlinkat(::dirfd(dir.get()), e->d_name, 0);
    }
  }
}

}  // namespace

std::string prepare(const std::string& folder, bool may_create, std::optional<unsigned> trusted) {
  if (may_create && !make_folders(folder)) return fmt::format("it cannot be made ({})", std::strerror(errno));
  struct stat s {};
  if (::stat(folder.c_str(), &s) != 0) return fmt::format("it cannot be read ({})", std::strerror(errno));
  if (!S_ISDIR(s.st_mode)) return "it is not a folder";
  if (s.st_uid != ::geteuid() && s.st_uid != trusted)
    return "it belongs to another user, who could put code into it";
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "other users may write to it and could put code into it; chmod 700 it";
  return {};
}

std::vector<File> scan(const std::string& folder) {
  std::vector<File> files;
  const Dir dir(::opendir(folder.c_str()));
  if (dir == nullptr) return files;
  while (const dirent* e = ::readdir(dir.get())) {
    const std::string_view name = e->d_name;
    if (name.size() == 2 && is_hex(name)) scan_one(fmt::format("{}/{}", folder, name), files);
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.key < b.key;
  });
  return files;
}

}  // namespace kiln::cache_folder
