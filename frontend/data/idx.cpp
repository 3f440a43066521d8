// IDX files: two zero bytes, the type, the number of axes, their extents, the elements; all big endian.
#include "frontend/call/line.h"
#include "frontend/formats/bytes.h"
#include "frontend/formats/file_io.h"
#include "frontend/formats/inflate.h"
#include "runtime/dtype_table.h"

#include <kiln/vision_data.h>

#include <algorithm>
#include <optional>

namespace kiln::data::vision {
namespace {

std::optional<DType> dtype_of_code(unsigned code) {
  const auto* const row = std::ranges::find(dtype_table, static_cast<int>(code), &DTypeRow::idx);
  return code == 0 || row == dtype_table.end() ? std::nullopt : std::optional(row->dtype);
}

std::uint32_t big_endian(ByteReader& in, std::string_view what) {
  return __builtin_bswap32(in.number<std::uint32_t>(what));
}

struct IdxHeader {
  DType dtype;
  Shape shape;
  std::uint64_t bytes;  ///< of the file
};
constexpr std::uint64_t longest_header = 4 + 4 * Shape::max_rank;

IdxHeader read_header(ByteReader& in) {
  const std::uint32_t magic = big_endian(in, "the header");
  const std::optional<DType> dtype = dtype_of_code(magic >> 8);
  const std::uint32_t rank = magic & 0xFF;
  if (!dtype)
    in.error(
        "its first bytes are {:#010x}: an IDX file begins with 00 00, then 08, 09, 0c, 0d or 0e for uint8, "
        "int8, "
        "int32, float32 or float64",
        magic);
  if (rank > Shape::max_rank) in.error("byte 3: {} axes, at most {} are possible", rank, Shape::max_rank);
  IdxHeader header{*dtype, {}, 0};
  for (std::uint32_t i = 0; i < rank; ++i) header.shape.push_back(big_endian(in, "the extents"));
  std::uint64_t bytes = size_of(*dtype);
  for (const std::int64_t d : header.shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(d), &bytes) || bytes >> 62 != 0)
      in.error("its shape {} has too many elements", header.shape.str());
  header.bytes = in.at() + bytes;
  return header;
}

/// The content: of a packed file no more than its header declares, and one byte.
std::vector<std::byte> unpacked(std::vector<std::byte> file, const std::string& path) {
  if (file.size() < 2 || file[0] != std::byte{0x1F} || file[1] != std::byte{0x8B}) return file;
  const ByteReader in(file, path);
  const std::vector<std::byte> begin = inflated(in, file, Deflated::gzip, longest_header);
  ByteReader header(begin, path);
  return inflated(in, file, Deflated::gzip, read_header(header).bytes + 1);
}

Tensor read_idx(const std::string& path) {
  const std::vector<std::byte> file = unpacked(read_file(path, "IDX file"), path);
  ByteReader in(file, path);
  const IdxHeader header = read_header(in);
  const std::span<const std::byte> elements = in.elements(header.shape, header.dtype);
  if (in.left() != 0)
    in.error("there are more bytes behind byte {}, where its {} of shape {} end", in.at(),
             name_of(header.dtype), header.shape.str());
  if (size_of(header.dtype) == 1) return make_array(header.shape, header.dtype, elements);
  std::vector<std::byte> turned(elements.begin(), elements.end());
  for (std::size_t i = 0; i < turned.size(); i += size_of(header.dtype))
    std::reverse(turned.begin() + static_cast<std::ptrdiff_t>(i),
                 turned.begin() + static_cast<std::ptrdiff_t>(i + size_of(header.dtype)));
  return make_array(header.shape, header.dtype, turned);
}

}  // namespace

Tensor load_idx(const std::string& path, std::source_location where) {
  return at_line(where, [&] { return read_idx(path); });
}

}  // namespace kiln::data::vision
