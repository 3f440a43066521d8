// Writes zip archives.
#include "frontend/formats/zip.h"
#include "frontend/formats/zip_format.h"

#include <algorithm>
#include <memory>
#define ZLIB_CONST  // zlib does not write to its input
#include <zlib.h>

namespace kiln {
namespace {

using namespace zip_format;

constexpr std::uint16_t midnight = 0, new_year_1980 = 1 << 5 | 1;  // constant, so that files are reproducible

using Parts = std::span<const std::span<const std::byte>>;

/// Appends the parts, deflated at zlib's default level.
void append_deflated(std::string& out, Parts parts) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    fail_internal("zlib cannot begin to deflate");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, &deflateEnd);
  std::vector<std::byte> buffer(1 << 16);
  const auto run = [&](int flush) {
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      deflate(&stream, flush);
      append_bytes(out, std::span(buffer).first(buffer.size() - stream.avail_out));
    } while (stream.avail_out == 0);
  };
  for (std::span<const std::byte> part : parts) {
    while (!part.empty()) {
      const std::size_t n = std::min<std::size_t>(part.size(), 1 << 30);
      stream.next_in = reinterpret_cast<const Bytef*>(part.data());
      stream.avail_in = static_cast<uInt>(n);
      part = part.subspan(n);
      run(Z_NO_FLUSH);
    }
  }
  run(Z_FINISH);
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// The common fields of a member's header and its entry in the directory. Sizes are always in the 64-bit
/// form: one code path.
void append_common(std::string& out, const ZipMember& m, std::uint16_t extra) {
  append_number<std::uint16_t>(out, version_64);
  append_number<std::uint16_t>(out, is_ascii(m.name) ? 0 : flag_utf8);
  append_number<std::uint16_t>(out, m.method);
  append_number<std::uint16_t>(out, midnight);
  append_number<std::uint16_t>(out, new_year_1980);
  append_number<std::uint32_t>(out, m.crc);
  append_number<std::uint32_t>(out, see_64);
  append_number<std::uint32_t>(out, see_64);
  append_number<std::uint16_t>(out, static_cast<std::uint16_t>(m.name.size()));
  append_number<std::uint16_t>(out, extra);
}

void append_sizes_64(std::string& out, const ZipMember& m, std::uint16_t bytes) {
  append_number<std::uint16_t>(out, extra_64);
  append_number<std::uint16_t>(out, bytes);
  append_number<std::uint64_t>(out, m.size);
  append_number<std::uint64_t>(out, m.packed);
}

}  // namespace

void ZipWriter::add(const std::string& name, Parts parts, bool compress) {
  if (name.size() > 0xFFFF) fail("a name of {} bytes is longer than a zip archive can hold", name.size());
  ZipMember m{.name = name, .method = compress ? deflated : stored, .offset = out_.size()};
  uLong crc = crc32_z(0, nullptr, 0);
  for (const auto part : parts) {
    if (part.empty()) continue;  // crc32_z() restarts for a null pointer
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
    m.size += part.size();
  }
  m.crc = static_cast<std::uint32_t>(crc);
  constexpr std::uint16_t sizes = 2 * 8, all = 3 * 8, field = 4;
  // The size is known only after compression: the header is written first and patched.
  append_number<std::uint32_t>(out_, member_magic);
  append_common(out_, m, field + sizes);
  out_ += name;
  const std::size_t sizes_at = out_.size();
  append_sizes_64(out_, m, sizes);
  const std::size_t content_at = out_.size();
  if (compress)
    append_deflated(out_, parts);
  else
    for (const auto part : parts) append_bytes(out_, part);
  m.packed = out_.size() - content_at;
  std::string filled_in;
  append_sizes_64(filled_in, m, sizes);
  out_.replace(sizes_at, filled_in.size(), filled_in);

  append_number<std::uint32_t>(directory_, entry_magic);
  append_number<std::uint16_t>(directory_, version_64);
  append_common(directory_, m, field + all);
  directory_.append(2 + 2 + 2 + 4, '\0');  // comment, part, attributes
  append_number<std::uint32_t>(directory_, see_64);
  directory_ += name;
  append_sizes_64(directory_, m, all);
  append_number<std::uint64_t>(directory_, m.offset);
  ++members_;
}

std::string ZipWriter::finish() {
  const std::uint64_t directory_at = out_.size();
  out_ += directory_;
  const std::uint64_t end_at = out_.size();
  append_number<std::uint32_t>(out_, end64_magic);
  append_number<std::uint64_t>(out_, 2 + 2 + 4 + 4 + 4 * 8);  // bytes that follow
  append_number<std::uint16_t>(out_, version_64);
  append_number<std::uint16_t>(out_, version_64);
  out_.append(4 + 4, '\0');  // parts
  append_number<std::uint64_t>(out_, members_);
  append_number<std::uint64_t>(out_, members_);
  append_number<std::uint64_t>(out_, directory_.size());
  append_number<std::uint64_t>(out_, directory_at);
  append_number<std::uint32_t>(out_, locator_magic);
  append_number<std::uint32_t>(out_, 0);
  append_number<std::uint64_t>(out_, end_at);
  append_number<std::uint32_t>(out_, 1);  // parts in all
  append_number<std::uint32_t>(out_, end_magic);
  out_.append(2 + 2, '\0');
  out_.append(2 + 2 + 4 + 4, '\xFF');  // see end64
  append_number<std::uint16_t>(out_, 0);
  return std::move(out_);
}

}  // namespace kiln
