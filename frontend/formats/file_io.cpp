// Files: reading, and atomic writing by a rename.
#include "frontend/formats/file_io.h"

#include "runtime/messages.h"
#include "runtime/threads.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kiln {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  bool close() {
    const int fd = release();
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

// Returns the error, or empty.
std::string write_all(int fd, std::span<const std::byte> content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::strerror(errno);
    content = content.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

std::string resolve_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

/// So that a rename outlives a power failure. Some file systems cannot: then it is up to them.
void flush_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.valid()) ::fsync(descriptor.get());
}

}  // namespace

InputFile::InputFile(const std::string& path, std::string_view what)
    : path_(path), what_(what), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  Descriptor opened(fd_);
  if (!opened.valid()) fail(Mistake::no_file, "{}: cannot open the {}: {}", path, what, std::strerror(errno));
  struct stat info {};
  if (::fstat(fd_, &info) != 0) error(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail("{}: is a folder, not a {}", path, what);
  // Some devices are endless.
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) fail("{}: is a device, not a {}", path, what);
  if (S_ISREG(info.st_mode) && info.st_size > 0) size_ = static_cast<std::size_t>(info.st_size);
  opened.release();
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::error(std::string_view problem) const {
  fail("{}: cannot read the {}: {}", path_, what_, problem);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  constexpr std::int64_t grain = std::int64_t{4} << 20;
  constexpr int cut = -1;
  std::atomic<int> problem{0};
  parallel_ranges(static_cast<std::int64_t>(out.size()), grain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end && problem.load(std::memory_order_relaxed) == 0) {
      const ssize_t n = ::pread(fd_, out.data() + begin, static_cast<std::size_t>(end - begin),
                                static_cast<off_t>(offset) + begin);
      if (n > 0) begin += n;
      if (n == 0) problem = cut;
      if (n < 0 && errno != EINTR) problem = errno;
    }
  });
  if (problem == cut) error("it became shorter in the meantime");
  if (problem != 0) error(std::strerror(problem));
}

std::vector<std::byte> InputFile::read_all() const {
  std::vector<std::byte> content;
  // One byte more than the file size, so that the first read detects the end.
  constexpr std::size_t piece = 1 << 16;
  std::size_t room = size_ ? *size_ + 1 : piece;
  std::size_t have = 0;
  for (;;) {
    content.resize(have + room);
    const ssize_t n = ::read(fd_, content.data() + have, room);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error(std::strerror(errno));
    have += static_cast<std::size_t>(n);
    if (n == 0) break;
    room = piece;
  }
  content.resize(have);
  return content;
}

std::vector<std::byte> read_file(const std::string& path, std::string_view what) {
  return InputFile(path, what).read_all();
}

void write_file(const std::string& path, std::span<const std::byte> content, std::string_view what) {
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    fail("{}: cannot write the {}: there is a folder of that name", path, what);
  if (exists && !S_ISREG(info.st_mode)) {
    Descriptor device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    const std::string problem = device.valid() ? write_all(device.get(), content) : std::strerror(errno);
    if (!problem.empty()) fail("{}: cannot write the {}: {}", path, what, problem);
    return;
  }
  static std::atomic<unsigned> counter{0};
  const std::string target = exists ? resolve_links(path) : path;
  const std::string temporary =
      target + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) fail("{}: cannot write the {}: {}", path, what, std::strerror(errno));
  std::string problem = write_all(file.get(), content);
  if (problem.empty() && exists) ::fchmod(file.get(), info.st_mode & 07777);
  if (problem.empty() && (::fsync(file.get()) != 0 || !file.close())) problem = std::strerror(errno);
  if (problem.empty() && ::rename(temporary.c_str(), target.c_str()) != 0) problem = std::strerror(errno);
  if (problem.empty()) return flush_folder_of(target);
  ::unlink(temporary.c_str());
  fail("{}: cannot write the {}: {}", path, what, problem);
}

void append_file(const std::string& path, std::string_view content, std::string_view what) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.valid()) fail("{}: cannot write the {}: {}", path, what, std::strerror(errno));
  std::string problem = write_all(file.get(), std::as_bytes(std::span(content.data(), content.size())));
  if (problem.empty() && !file.close()) problem = std::strerror(errno);
  if (!problem.empty()) fail("{}: cannot write the {}: {}", path, what, problem);
}

}  // namespace kiln
