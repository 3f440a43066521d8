// The table of element types: size, arithmetic, ranks and names, a row each.
#pragma once
#include <kiln/dtype.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// All other code asks the table, so that a new dtype is an enumerator in kiln/dtype.h and a row here
/// (README.md names the exceptions).
namespace kiln {

enum class DTypeKind : std::uint8_t { boolean, unsigned_integer, signed_integer, floating };

/// A binary format of IEEE 754: a sign, the exponent, then the significand without its leading bit.
struct FloatFormat {
  int digits = 0;        ///< bits of the significand, the leading one included
  int min_exponent = 0;  ///< of normal numbers
  int max_exponent = 0;

  constexpr int fraction_bits() const { return digits - 1; }
  /// The bits of infinity. Greater ones are NaNs.
  constexpr std::uint64_t infinity() const {
    return static_cast<std::uint64_t>(max_exponent - min_exponent + 2) << fraction_bits();
  }
  /// The greatest finite number.
  double greatest() const { return std::ldexp(2 - std::ldexp(1.0, 1 - digits), max_exponent); }
  bool operator==(const FloatFormat&) const = default;
};

/// A type in a .npy file.
struct NpyNames {
  std::string_view written;     ///< by NumPy
  std::string_view characters;  ///< other codes, which may follow a byte order too
  std::string_view names;       ///< of numpy.dtype, between spaces
};

struct DTypeRow {
  DType dtype;
  std::string_view enumerator;
  std::string_view name;  ///< MXNet's
  DTypeKind kind;
  std::size_t bytes;
  /// Of arithmetic: registers hold it. Each operation rounds its result to `dtype`.
  DType wide;
  /// Two dtypes promote to that of higher rank; two of one rank to `above`.
  int rank;
  DType above;
  FloatFormat format;
  std::string_view safetensors;
  NpyNames npy;
  int idx;  ///< the code in IDX files; 0: they have none
};

// NumPy has no bfloat16. The package ml_dtypes, which adds it, writes it to files as opaque two-byte
// elements.
inline constexpr std::array<DTypeRow, 9> dtype_table = [] {
  using enum DType;
  using Kind = DTypeKind;
  // clang-format off
  return std::array<DTypeRow, 9>{{
      // In C++ and in MXNet; kind, bytes, wide, rank, above; format; names in files.
      {f16, "f16", "float16", Kind::floating, 2, f32, 4, f32, {11, -14, 15},
       "F16", {"<f2", "e", " float16 half "}, 0},
      {bf16, "bf16", "bfloat16", Kind::floating, 2, f32, 4, f32, {8, -126, 127},
       "BF16", {"<V2", "", ""}, 0},
      {f32, "f32", "float32", Kind::floating, 4, f32, 5, f32, {24, -126, 127},
       "F32", {"<f4", "f", " float32 single "}, 0x0D},
      {f64, "f64", "float64", Kind::floating, 8, f64, 6, f64, {53, -1022, 1023},
       "F64", {"<f8", "d", " float64 double float "}, 0x0E},
      {i8, "i8", "int8", Kind::signed_integer, 1, i8, 1, i32, {},
       "I8", {"|i1", "b", " int8 byte "}, 0x09},
      {u8, "u8", "uint8", Kind::unsigned_integer, 1, u8, 1, i32, {},
       "U8", {"|u1", "B", " uint8 ubyte "}, 0x08},
      {i32, "i32", "int32", Kind::signed_integer, 4, i32, 2, i32, {},
       "I32", {"<i4", "i", " int32 intc "}, 0x0C},
      {i64, "i64", "int64", Kind::signed_integer, 8, i64, 3, i64, {},
       "I64", {"<i8", "lqp", " int64 int int_ intp long longlong "}, 0},
      {boolean, "boolean", "bool", Kind::boolean, 1, boolean, 0, boolean, {},
       "BOOL", {"|b1", "?", " bool bool_ "}, 0},
  }};
  // clang-format on
}();

constexpr const DTypeRow& row_of(DType d) {
  constexpr auto index = [] {
    std::array<std::uint8_t, 256> index{};
    for (std::size_t i = 0; i < dtype_table.size(); ++i)
      index[static_cast<std::size_t>(dtype_table[i].dtype)] = static_cast<std::uint8_t>(i);
    return index;
  }();
  return dtype_table[index[static_cast<std::size_t>(d)]];
}

/// The type of arithmetic: f32 for narrower floats.
constexpr DType wide_dtype(DType d) { return row_of(d).wide; }
/// A float that is computed in a wider type.
constexpr bool is_narrow_float(DType d) { return wide_dtype(d) != d; }
/// Compares and widens without a sign: unsigned integers, and bool.
constexpr bool is_unsigned_integer(DType d) {
  return row_of(d).kind == DTypeKind::unsigned_integer || row_of(d).kind == DTypeKind::boolean;
}
constexpr bool is_integer(DType d) {
  return row_of(d).kind == DTypeKind::unsigned_integer || row_of(d).kind == DTypeKind::signed_integer;
}

/// The least and greatest number of an integer type.
struct IntegerRange {
  std::int64_t least, greatest;
};
constexpr IntegerRange range_of_integer(DType d) {
  const DTypeRow& row = row_of(d);
  const int bits = static_cast<int>(row.bytes) * 8;
  if (row.kind == DTypeKind::unsigned_integer)
    return {0, static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits))};
  const auto greatest = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
  return {-greatest - 1, greatest};
}

/// The dtype that holds elements of both: numpy's promotion, but that a float wins over any integer.
constexpr DType promoted(DType a, DType b) {
  if (a == b) return a;
  const DTypeRow &x = row_of(a), &y = row_of(b);
  return x.rank == y.rank ? x.above : x.rank > y.rank ? a : b;
}

}  // namespace kiln
