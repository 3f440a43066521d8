// The constants of the zip format.
#pragma once
#include <cstdint>

/// The constants of the zip format. All numbers are little endian.
namespace kiln::zip_format {

inline constexpr std::uint32_t member_magic = 0x04034B50;
inline constexpr std::uint32_t entry_magic = 0x02014B50;    // a member, in the directory
inline constexpr std::uint32_t end_magic = 0x06054B50;      // the end of the directory
inline constexpr std::uint32_t end64_magic = 0x06064B50;    // the same with 64-bit numbers
inline constexpr std::uint32_t locator_magic = 0x07064B50;  // the offset of end64
inline constexpr std::uint64_t end_bytes = 22, locator_bytes = 20;
inline constexpr std::uint64_t longest_comment = 0xFFFF;

// Placeholders for a value in the 64-bit record.
inline constexpr std::uint32_t see_64 = 0xFFFFFFFF;
inline constexpr std::uint16_t extra_64 = 1;  // the extra field with 64-bit values

inline constexpr std::uint16_t stored = 0, deflated = 8;
inline constexpr std::uint16_t flag_encrypted = 1, flag_utf8 = 1 << 11;
inline constexpr std::uint16_t version_64 = 45;  // format version with 64-bit values

}  // namespace kiln::zip_format
