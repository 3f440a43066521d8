#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

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
