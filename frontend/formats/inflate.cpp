// Inflates through zlib.
#include "frontend/formats/inflate.h"

#include <algorithm>
#include <memory>
#define ZLIB_CONST  // zlib does not write to its input
#include <zlib.h>

namespace kiln {

std::vector<std::byte> inflated(const ByteReader& in, std::span<const std::byte> packed, Deflated form,
                                std::uint64_t most) {
  constexpr int gzip_header = 16;  // added to the window's size: zlib reads gzip's header and checksum
  z_stream stream{};
  if (inflateInit2(&stream, form == Deflated::gzip ? MAX_WBITS + gzip_header : -MAX_WBITS) != Z_OK)
    fail_internal("zlib cannot begin to inflate");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, &inflateEnd);
  constexpr std::size_t piece = 1 << 16, max_at_once = 1 << 30;
  std::vector<std::byte> out;
  std::size_t have = 0;
  int state = Z_OK;
  while (state == Z_OK && have < most) {
    if (have == out.size())
      out.resize(static_cast<std::size_t>(std::min<std::uint64_t>(most, std::max(piece, 2 * have))));
    if (stream.avail_in == 0) {
      const std::size_t n = std::min(packed.size(), max_at_once);
      stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
      stream.avail_in = static_cast<uInt>(n);
      packed = packed.subspan(n);
    }
    const std::size_t space = std::min(out.size() - have, max_at_once);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(space);
    state = inflate(&stream, Z_NO_FLUSH);
    have += space - stream.avail_out;
    // A .gz file may have several members, one after another.
    if (state == Z_STREAM_END && form == Deflated::gzip && stream.avail_in + packed.size() > 0)
      state = inflateReset(&stream);
  }
  if (state != Z_STREAM_END && have < most)
    in.error("its deflated bytes are damaged{}{}", stream.msg ? ": " : "", stream.msg ? stream.msg : "");
  out.resize(have);
  return out;
}

}  // namespace kiln
