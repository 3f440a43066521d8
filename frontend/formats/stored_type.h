// Element types of files, and their conversion to dtypes.
#pragma once
#include "frontend/formats/bytes.h"
#include "runtime/dtype_table.h"

#include <kiln/io.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// Integers that files have and Kiln has not: int16, uint16, uint32 and uint64. They are read as the next
/// wider integers that hold all of their values, int32 or int64; of uint64 only elements that fit in int64.
namespace kiln {

/// The type of an array's elements in a file.
struct StoredType {
  DType dtype = DType::f32;  ///< of the array that is read
  /// Bytes of an element in the file, and whether it has a sign; of integers that widen.
  std::size_t width = size_of(dtype);
  bool is_signed = true;
  bool widens = false;
};
inline constexpr StoredType stored_int16{DType::i32, 2, true, true},
    stored_uint16{DType::i32, 2, false, true}, stored_uint32{DType::i64, 4, false, true},
    stored_uint64{DType::i64, 8, false, true};

/// A type of Kiln or an integer that widens, with its name in a file format.
template <class Name>
struct NamedType {
  Name name;
  StoredType type;
};
/// The types of a format: the rows of the table by `name_of_row`, then the `widening` ones.
template <class Name, std::size_t n>
constexpr auto types_of_format(Name DTypeRow::*name_of_row, const NamedType<Name> (&widening)[n]) {
  std::array<NamedType<Name>, dtype_table.size() + n> all;
  auto* const next = std::ranges::transform(dtype_table, all.begin(), [&](const DTypeRow& row) {
                       return NamedType<Name>{row.*name_of_row, {row.dtype}};
                     }).out;
  std::ranges::copy(widening, next);
  return all;
}

/// Why an array of a valid file cannot be one of Kiln's.
struct NoDType {
  std::string reason;
};
/// An array of a file.
using StoredArray = std::variant<Tensor, NoDType>;

/// For the message: "Kiln has ..., and reads ... as wider ones".
std::string readable_dtypes();

/// The bytes of the elements in the file; an error if fewer are left, or if no array can be of that size.
std::size_t stored_bytes(const ByteReader& in, const Shape& shape, const StoredType& type);
/// Reads the elements, in C order and little endian.
StoredArray read_stored(ByteReader& in, const Shape& shape, const StoredType& type);
/// The same of elements that are in memory.
StoredArray make_stored(const Shape& shape, const StoredType& type, std::span<const std::byte> elements);

/// Collects the arrays of a file. An array without a dtype is left out with a warning; if no other array is
/// in the file, it is an error.
class StoredArrays {
 public:
  explicit StoredArrays(ByteReader& in) : in_(in) {}
  void add(std::string name, StoredArray array);
  std::vector<NamedArray> take();

 private:
  ByteReader& in_;
  std::vector<NamedArray> arrays_;
  std::size_t left_out_ = 0;
  std::string problems_;  ///< a line for each, of the first of them
};

}  // namespace kiln
