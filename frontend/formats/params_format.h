#pragma once
#include <cstdint>

/// The words of an NDArray list. All numbers in it are little endian.
namespace kiln::params_format {

inline constexpr std::uint64_t list_magic = 0x112;
inline constexpr std::uint32_t magic_v1 = 0xF993FAC8;  // no storage type
inline constexpr std::uint32_t magic_v2 = 0xF993FAC9;
inline constexpr std::uint32_t magic_v3 = 0xF993FACA;  // numpy mode: rank 0 is a scalar
// Any other word in its place is the number of axes of the oldest form.

inline constexpr int none_rank_v3 = -1;
/// More axes than this mean that the bytes are no array.
inline constexpr std::int64_t absurd_rank = 32;
inline constexpr std::int32_t device_cpu = 1;

}  // namespace kiln::params_format
