// Element types.
#pragma once
#include <kiln/export.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln {

/// Element types. The values are MXNet's dtype flags in .params files and `__dtype__` attributes.
enum class DType : std::uint8_t {
  /// IEEE 754 binary32, "float32".
  f32 = 0,
  /// IEEE 754 binary64, "float64".
  f64 = 1,
  /// IEEE 754 binary16, "float16".
  f16 = 2,
  /// Unsigned, 8 bits, "uint8".
  u8 = 3,
  /// Signed, 32 bits, "int32".
  i32 = 4,
  /// Signed, 8 bits, "int8".
  i8 = 5,
  /// Signed, 64 bits, "int64".
  i64 = 6,
  /// 0 or 1 in a byte, "bool".
  boolean = 7,
  /// The upper half of a float32, "bfloat16".
  bf16 = 12,
};

/// Bytes of one element. A bool takes one byte that holds 0 or 1.
constexpr std::size_t size_of(DType d) {
  switch (d) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    default:
      return 1;
  }
}

/// Whether the elements are floating-point numbers.
constexpr bool is_floating(DType d) {
  return d == DType::f32 || d == DType::f64 || d == DType::f16 || d == DType::bf16;
}

/// MXNet's name of the type: "float32", "uint8", "bool", ...
KILN_API std::string_view name_of(DType d);
/// The inverse of name_of; nothing for an unknown name.
KILN_API std::optional<DType> dtype_from_name(std::string_view name);
/// The type of a flag in a file; nothing for an unknown flag.
KILN_API std::optional<DType> dtype_from_flag(std::int64_t flag);

/// The element type of a C++ type: dtype_of<float> is DType::f32.
template <class T>
inline constexpr DType dtype_of = [] { static_assert(sizeof(T) == 0, "not an element type of Kiln"); }();
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<long> = sizeof(long) == 8 ? DType::i64 : DType::i32;
template <>
inline constexpr DType dtype_of<long long> = DType::i64;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;

}  // namespace kiln
