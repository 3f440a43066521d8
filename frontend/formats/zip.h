// Zip archives of .npz files.
#pragma once
#include "frontend/formats/bytes.h"

#include <vector>

/// The subset of zip archives used by .npz files: stored or deflated members, with 64-bit sizes and offsets.
/// (Format: PKWARE's APPNOTE.TXT 6.3.)
namespace kiln {

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;  ///< bytes in the archive
  std::uint64_t size = 0;    ///< bytes of the content
  std::uint64_t offset = 0;  ///< of the member's local header
};

/// The directory at the end of the archive. Throws, naming the file, if it is no archive or one of several
/// parts, and if the members' packed sizes exceed the archive.
std::vector<ZipMember> read_zip_directory(ByteReader& in);
/// The content of a member, verified by its checksum. Allocates in proportion to the unpacked bytes, not to
/// the declared size. `room` owns the content if it was deflated.
std::span<const std::byte> read_zip_member(ByteReader& in, const ZipMember& member,
                                           std::vector<std::byte>& room);

/// Writes an archive: the members in order, then the directory.
class ZipWriter {
 public:
  /// `parts` is the content in pieces, which avoids a copy.
  void add(const std::string& name, std::span<const std::span<const std::byte>> parts, bool compress);
  std::string finish();

 private:
  std::string out_;
  std::string directory_;
  std::uint64_t members_ = 0;
};

}  // namespace kiln
