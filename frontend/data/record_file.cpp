// Reads records, whole or in windows, from an open file.
#include "frontend/data/record_file.h"

#include "runtime/fail.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kiln::recordio {

static_assert(std::endian::native == std::endian::little, "RecordIO is little endian");

RecordFile::RecordFile(const std::string& path, std::string_view what)
    : path_(path), what_(what), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail("{}: cannot open the {}: {}", path_, what_, std::strerror(errno));
  struct stat info {};
  const bool known = ::fstat(descriptor_, &info) == 0;
  if (!known || !S_ISREG(info.st_mode)) {
    ::close(descriptor_);
    fail("{}: is not a {}: it must be a regular file", path_, what_);
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

RecordFile::~RecordFile() { ::close(descriptor_); }

void RecordFile::read(std::uint64_t at, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t n = ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("{}: cannot read the {}: {}", path_, what_, std::strerror(errno));
    if (n == 0) fail("{}: the {} became shorter while it was read: it ends at byte {}", path_, what_, at);
    to = to.subspan(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
}

std::span<const std::byte> RecordWindow::bytes(std::uint64_t at, std::size_t n) {
  if (at > file_.size() || n > file_.size() - at)
    fail(
        "{}: the file ends inside the record part at byte {}: {} bytes are needed, {} are left; it is cut "
        "short "
        "or damaged",
        file_.path(), at, n, file_.size() - std::min(at, file_.size()));
  if (at < begin_ || at + n > begin_ + buffer_.size()) {
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(std::max(n, ahead_), file_.size() - at)));
    begin_ = at;
    file_.read(at, buffer_);
  }
  return std::span(buffer_).subspan(static_cast<std::size_t>(at - begin_), n);
}

std::string RecordWindow::record(std::uint64_t& at) {
  std::string out;
  for (bool begun = false;; begun = true) {
    std::uint32_t header[2];
    std::memcpy(header, bytes(at, header_bytes).data(), header_bytes);
    if (header[0] != magic)
      fail("{}: no record begins at byte {}: the number there is {:#x}, and records begin with {:#x}",
           file_.path(), at, header[0], magic);
    const std::uint32_t part = header[1] >> length_bits;
    const std::uint32_t length = header[1] & ((1u << length_bits) - 1);
    if (begun ? part != middle && part != last : part != whole && part != first)
      fail("{}: the record part at byte {} is of kind {}, which cannot be {}: the file is damaged",
           file_.path(), at, part, begun ? "inside a record" : "the beginning of a record");
    if (begun) out.append(reinterpret_cast<const char*>(&magic), sizeof magic);
    const std::span<const std::byte> content = bytes(at + header_bytes, padded_length(length)).first(length);
    out.append(reinterpret_cast<const char*>(content.data()), content.size());
    at += header_bytes + padded_length(length);
    if (part == whole || part == last) return out;
  }
}

void append_record(std::string& out, std::string_view record) {
  if (record.size() >> length_bits != 0)
    fail("a record has {} bytes: RecordIO takes less than {}", record.size(), 1u << length_bits);
  const auto append_part = [&](Part part, std::string_view bytes) {
    const std::uint32_t header[] = {
        magic, static_cast<std::uint32_t>(part) << length_bits | static_cast<std::uint32_t>(bytes.size())};
    out.append(reinterpret_cast<const char*>(header), sizeof header);
    out.append(bytes);
    out.append(padded_length(bytes.size()) - bytes.size(), '\0');
  };
  std::size_t begin = 0;  // of the part
  for (std::size_t i = 0; i + sizeof magic <= record.size(); i += sizeof magic) {
    if (std::memcmp(record.data() + i, &magic, sizeof magic) != 0) continue;
    append_part(begin == 0 ? first : middle, record.substr(begin, i - begin));
    begin = i + sizeof magic;
  }
  append_part(begin == 0 ? whole : last, record.substr(begin));
}

}  // namespace kiln::recordio
