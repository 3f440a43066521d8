#pragma once
#include "frontend/formats/bytes.h"

#include <vector>

/// Zip archives, as far as .npz files are made of them: members that are stored or deflated, with the 64-bit
/// forms of sizes and places. (PKWARE's APPNOTE.TXT 6.3 describes the format.)
namespace kiln {

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;  ///< bytes in the archive
  std::uint64_t size = 0;    ///< bytes of the content
  std::uint64_t offset = 0;  ///< of the member's own header
};

/// The directory at the end of the archive. Throws, naming the file, for anything that is no archive, for one
/// of several parts, and where the members together claim more bytes than the archive has.
std::vector<ZipMember> read_zip_directory(ByteReader& in);
/// The content of a member, checked against its checksum. Memory grows with what is unpacked, not with what
/// is declared. `room` keeps the content where it had to be unpacked.
std::span<const std::byte> read_zip_member(ByteReader& in, const ZipMember& member,
                                           std::vector<std::byte>& room);

/// Makes an archive: members one after the other, then the directory.
class ZipWriter {
 public:
  /// `parts` is the content, in pieces so that it need not be copied together.
  void add(const std::string& name, std::span<const std::span<const std::byte>> parts, bool compress);
  std::string finish();

 private:
  std::string out_;
  std::string directory_;
  std::uint64_t members_ = 0;
};

}  // namespace kiln
