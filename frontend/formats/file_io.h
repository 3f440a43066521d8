// Files that are read at any place and written atomically.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// A file that is open for reading. `what` ("params file") is for errors, which are thrown by all of its
/// functions. Devices other than pipes are errors.
class InputFile {
 public:
  InputFile(const std::string& path, std::string_view what);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  /// Nothing if only reading tells: of a pipe, and of the files that a system makes when they are read.
  std::optional<std::size_t> size() const { return size_; }
  /// Fills `out` with the bytes from `offset` on, on all threads. A file that another program has cut in the
  /// meantime is an error; reading, unlike a mapping, has one to report.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The bytes to the end. Allocates in proportion to them.
  std::vector<std::byte> read_all() const;

 private:
  [[noreturn]] void error(std::string_view problem) const;

  std::string path_, what_;
  int fd_;
  std::optional<std::size_t> size_;
};

/// The bytes of a file. `what` ("params file") is for the error. A pipe, as from `<(command)`, is read to its
/// end; other devices are errors. Allocates in proportion to the bytes read.
std::vector<std::byte> read_file(const std::string& path, std::string_view what);

/// Writes `content` atomically: to a temporary file, flushed to disk, then renamed. Follows a symbolic link;
/// writes to a device or pipe directly. Throws kiln::Error and leaves the old file unchanged.
void write_file(const std::string& path, std::span<const std::byte> content, std::string_view what);
inline void write_file(const std::string& path, std::string_view content, std::string_view what) {
  write_file(path, std::as_bytes(std::span(content.data(), content.size())), what);
}

/// Adds `content` to the end of a file, which is made if it is not there.
void append_file(const std::string& path, std::string_view content, std::string_view what);

}  // namespace kiln
