#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The bytes of a file. `what` ("params file") is for the error. Memory grows with what is read, not with
/// what is declared. A pipe is read to its end (`<(command)` makes one); other devices are refused.
std::vector<std::byte> read_file(const std::string& path, std::string_view what);

/// Makes `path` hold `content`, whole or not at all: written beside it, flushed to disk, renamed. A symbolic
/// link is followed; a device or pipe is written as it is. Throws kiln::Error; what was there before is then
/// still there.
void write_file(const std::string& path, std::span<const std::byte> content, std::string_view what);
inline void write_file(const std::string& path, std::string_view content, std::string_view what) {
  write_file(path, std::as_bytes(std::span(content.data(), content.size())), what);
}

}  // namespace kiln
