// Appends lines to the map of this process.
#include "codegen/driver/perf_map.h"

#include "runtime/fork_gate.h"
#include "runtime/log.h"
#include "runtime/once.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace kiln::codegen {
namespace {

/// The open map. After fork() a child has a map of its own.
struct PerfMap {
  Mutex mutex;
  pid_t pid = 0;
  int file = -1;
};
PerfMap& perf_map() {
  return once<[] { return PerfMap(); }>();
}

/// Opens the map of a process. The folder is everybody's: a file of somebody else, or a link, is refused.
int open_map(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return -1;
  struct stat about {};
  if (::fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid() &&
      about.st_nlink == 1)
    return file;
  ::close(file);
  errno = EPERM;
  return -1;
}

}  // namespace

void add_to_perf_map(std::string_view name, const void* code, std::size_t bytes) {
  PerfMap& map = perf_map();
  const std::lock_guard lock(map.mutex);
  const pid_t pid = ::getpid();
  const std::string path = fmt::format("/tmp/perf-{}.map", pid);
  if (map.pid != pid) {
    if (map.file >= 0) ::close(map.file);
    map.file = open_map(path);
    map.pid = pid;
    if (map.file < 0)
      warn_once(path, fmt::format("{} cannot be written: {}; perf shows no names of kernels", path,
                                  std::strerror(errno)));
  }
  if (map.file < 0) return;
  // One write for a line, so that lines of other writers do not mix with it.
  const std::string line = fmt::format("{:x} {:x} {}\n", reinterpret_cast<std::uintptr_t>(code), bytes, name);
  if (::write(map.file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    warn_once(path, fmt::format("{} cannot be written; perf shows no names of some kernels", path));
}

}  // namespace kiln::codegen
