// The constants of MXNet's .params format.
#pragma once
#include <cstdint>

/// The magic numbers of an NDArray list. All numbers are little endian.
namespace kiln::params_format {

inline constexpr std::uint64_t list_magic = 0x112;
inline constexpr std::uint32_t magic_v1 = 0xF993FAC8;  // no storage type
inline constexpr std::uint32_t magic_v2 = 0xF993FAC9;
inline constexpr std::uint32_t magic_v3 = 0xF993FACA;  // numpy mode: rank 0 is a scalar
// V0 has the number of axes in this place.

inline constexpr int none_rank_v3 = -1;
/// A larger number of axes means that the bytes are no array.
inline constexpr std::int64_t absurd_rank = 32;
inline constexpr std::int32_t device_cpu = 1;

}  // namespace kiln::params_format
