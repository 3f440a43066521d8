// Reads zip archives.
#include "frontend/formats/inflate.h"
#include "frontend/formats/zip.h"
#include "frontend/formats/zip_format.h"

#include <algorithm>
#define ZLIB_CONST  // zlib does not write to its input
#include <zlib.h>

namespace kiln {
namespace {

using namespace zip_format;

/// Moves `in` to the end record of the directory, which is followed only by its comment.
void seek_end(ByteReader& in) {
  const std::uint64_t size = in.size();
  for (std::uint64_t back = end_bytes; back <= std::min(size, end_bytes + longest_comment); ++back) {
    in.seek(size - back, "the end");
    if (in.number<std::uint32_t>("the end") != end_magic) continue;
    in.seek(size - back + end_bytes - 2, "the comment's length");
    if (in.number<std::uint16_t>("the comment's length") != back - end_bytes) continue;
    return in.seek(size - back, "the end");
  }
  in.error("it has no directory of members: this is no zip archive (.npz), or it is cut short");
}

struct Directory {
  std::uint64_t members, bytes, offset;
};

// The 32-bit and 64-bit end records differ only in the width of their fields.
template <class Count, class Place>
Directory read_counts(ByteReader& in) {
  const auto here = in.number<Count>("the number of members");
  const auto all = in.number<Count>("the number of members");
  if (here != all) in.error("it is one part of a multi-part archive");
  const auto bytes = in.number<Place>("the directory's length");
  const auto offset = in.number<Place>("the directory's place");
  return {all, bytes, offset};
}

Directory read_end(ByteReader& in) {
  seek_end(in);
  const std::size_t end = in.at();
  if (end >= locator_bytes) {
    in.seek(end - locator_bytes, "the locator");
    if (in.number<std::uint32_t>("the locator") == locator_magic) {
      in.number<std::uint32_t>("the locator");
      in.seek(in.number<std::uint64_t>("the locator"), "the directory's end");
      if (in.number<std::uint32_t>("the directory's end") != end64_magic)
        in.error("its locator does not lead to the directory's end");
      in.take(8 + 2 + 2 + 4 + 4, "the directory's end");  // length, versions, parts
      return read_counts<std::uint64_t, std::uint64_t>(in);
    }
  }
  in.seek(end + 8, "the directory's end");
  return read_counts<std::uint16_t, std::uint32_t>(in);
}

/// The extra field has, in this order, the numbers (of three) that did not fit in 32 bits.
void read_extra_64(ByteReader extra, ZipMember& m) {
  while (extra.left() >= 4) {
    const auto kind = extra.number<std::uint16_t>("an extra field");
    const auto length = extra.number<std::uint16_t>("an extra field");
    if (kind != extra_64) {
      extra.take(length, "an extra field");
      continue;
    }
    for (std::uint64_t* number : {&m.size, &m.packed, &m.offset})
      if (*number == see_64) *number = extra.number<std::uint64_t>("a 64-bit size");
    return;
  }
}

ZipMember read_entry(ByteReader& in) {
  if (in.number<std::uint32_t>("the directory") != entry_magic)
    in.error("its directory is damaged at byte {}", in.at() - 4);
  in.take(2 + 2, "the directory");  // versions
  const auto flags = in.number<std::uint16_t>("the directory");
  ZipMember m;
  m.method = in.number<std::uint16_t>("the directory");
  in.take(2 + 2, "the directory");  // time
  m.crc = in.number<std::uint32_t>("the directory");
  m.packed = in.number<std::uint32_t>("the directory");
  m.size = in.number<std::uint32_t>("the directory");
  const auto name = in.number<std::uint16_t>("the directory");
  const auto extra = in.number<std::uint16_t>("the directory");
  const auto comment = in.number<std::uint16_t>("the directory");
  in.take(2 + 2 + 4, "the directory");  // part, attributes
  m.offset = in.number<std::uint32_t>("the directory");
  m.name = in.text(name, "a member's name");
  read_extra_64(ByteReader(in.take(extra, "the directory"), in.file()), m);
  in.take(comment, "the directory");
  if ((flags & flag_encrypted) != 0) in.error("the member '{}' is encrypted", m.name);
  if (m.method != stored && m.method != deflated)
    in.error("the member '{}' is packed by method {}; stored (0) and deflated (8) ones are read", m.name,
             m.method);
  if (m.method == stored && m.size != m.packed)
    in.error("the member '{}' is stored uncompressed, but {} bytes are declared to take {}", m.name, m.size,
             m.packed);
  return m;
}

}  // namespace

std::vector<ZipMember> read_zip_directory(ByteReader& in) {
  const Directory directory = read_end(in);
  in.seek(directory.offset, "the directory");
  constexpr std::uint64_t smallest_entry = 46;
  if (directory.members > in.left() / smallest_entry)
    in.error("it declares {} members, but only {} bytes follow", directory.members, in.left());
  std::vector<ZipMember> members;
  std::uint64_t packed = 0;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    members.push_back(read_entry(in));
    // Overlapping members would let a small file inflate the same bytes repeatedly.
    if (__builtin_add_overflow(packed, members.back().packed, &packed) || packed > in.size())
      in.error("its members take more bytes than the {} of the file", in.size());
  }
  return members;
}

std::span<const std::byte> read_zip_member(ByteReader& in, const ZipMember& m, std::vector<std::byte>& room) {
  in.seek(m.offset, "it");
  if (in.number<std::uint32_t>("its header") != member_magic)
    in.error("no member begins at byte {}", m.offset);
  in.take(2 + 2 + 2 + 2 + 2 + 4 + 4 + 4, "its header");  // repeats the directory's entry
  const auto name = in.number<std::uint16_t>("its header");
  const auto extra = in.number<std::uint16_t>("its header");
  if (in.text(name, "its name") != m.name) in.error("the name in its header differs from the directory's");
  in.take(extra, "its header");
  std::span<const std::byte> content = in.take(m.packed, "its content");
  if (m.method == deflated) {
    if (m.size == ~std::uint64_t{0})
      in.error("the directory is damaged: it declares {} unpacked bytes", m.size);
    room = inflated(in, content, Deflated::raw, m.size + 1);  // one byte more, to detect surplus data
    if (room.size() > m.size) in.error("it unpacks to more than the {} bytes declared", m.size);
    if (room.size() != m.size) in.error("it unpacks to {} bytes, {} were declared", room.size(), m.size);
    content = room;
  }
  const auto* const data = reinterpret_cast<const Bytef*>(content.data());
  if (crc32_z(crc32_z(0, nullptr, 0), data, content.size()) != m.crc)
    in.error("its checksum does not match its content: the file is damaged");
  return content;
}

}  // namespace kiln
