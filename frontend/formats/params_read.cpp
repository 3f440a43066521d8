// Reads MXNet's .params.
#include "frontend/formats/array_formats.h"
#include "frontend/formats/bytes.h"
#include "frontend/formats/params_format.h"

namespace kiln {
namespace {

using namespace params_format;

struct ArrayHeader {
  std::uint32_t magic = 0;
  bool old() const { return magic != magic_v1 && magic != magic_v2 && magic != magic_v3; }
};

std::int64_t read_dimension(ByteReader& in, const ArrayHeader& header) {
  if (header.old()) return in.number<std::uint32_t>("a dimension");
  return in.number<std::int64_t>("a dimension");
}

/// Nothing for an array without a value.
std::optional<Shape> read_shape(ByteReader& in, const ArrayHeader& header) {
  const std::int64_t rank =
      header.old() ? std::int64_t{header.magic} : std::int64_t{in.number<std::int32_t>("the number of axes")};
  const bool none = header.magic == magic_v3 ? rank == none_rank_v3 : rank == 0;
  if (none) return std::nullopt;
  if (rank < 0 || rank > absurd_rank)
    in.error("it declares {} axes: this is no array, or the file is damaged", rank);
  if (rank > Shape::max_rank)
    in.error("it has {} axes; Kiln's arrays have at most {}", rank, Shape::max_rank);
  Shape shape;
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t dim = read_dimension(in, header);
    if (dim < 0) in.error("axis {} has the extent {}", i, dim);
    shape.push_back(dim);
  }
  return shape;
}

/// Undefined if the file has no value for it.
Tensor read_array(ByteReader& in) {
  ArrayHeader header{in.number<std::uint32_t>("the array's magic number")};
  if (header.magic == magic_v2 || header.magic == magic_v3) {
    const auto storage = in.number<std::int32_t>("the storage type");
    if (storage == 1 || storage == 2) {
      in.error(
          "it is sparse ({}), which Kiln does not read; convert it in MXNet with .tostype('default') and "
          "save again",
          storage == 1 ? "row_sparse" : "csr");
    }
    if (storage != 0) in.error("it has the unknown storage type {}", storage);
  }
  const std::optional<Shape> shape = read_shape(in, header);
  if (!shape) return {};
  in.number<std::int32_t>("the device");
  in.number<std::int32_t>("the device's number");
  const auto flag = in.number<std::int32_t>("the dtype");
  const std::optional<DType> dtype = dtype_from_flag(flag);
  if (!dtype) in.error("it has the unknown dtype flag {}", flag);
  return in.array(*shape, *dtype);
}

void read_names(ByteReader& in, std::vector<NamedArray>& arrays) {
  const auto count = in.number<std::uint64_t>("the number of names");
  if (count == 0) return;
  if (count != arrays.size()) in.error("there are {} arrays but {} names", arrays.size(), count);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    in.set_part(fmt::format("name {} of {}", i + 1, count));
    const auto length = in.number<std::uint64_t>("its length");
    if (length > in.left()) in.error("it has {} bytes, but {} are left in the file", length, in.left());
    arrays[i].name = in.text(length, "the name");
  }
}

}  // namespace

std::vector<NamedArray> parse_params(ByteReader& in) {
  if (in.size() == 0) in.error("the file is empty, not a list of arrays (.params)");
  const auto magic = in.number<std::uint64_t>("the header");
  if (magic != list_magic) {
    in.error(
        "it begins with {:#x} and not with {:#x}: this is no list of arrays as MXNet's export, "
        "save_parameters or nd.save "
        "write it",
        magic, list_magic);
  }
  in.number<std::uint64_t>("the header");
  const auto count = in.number<std::uint64_t>("the number of arrays");
  // The smallest array has four words.
  if (count > in.left() / 16 && count != 0)
    in.error("it declares {} arrays, but only {} bytes follow", count, in.left());
  std::vector<NamedArray> arrays;
  for (std::uint64_t i = 0; i < count; ++i) {
    in.set_part(fmt::format("array {} of {} (at byte {})", i + 1, count, in.at()));
    arrays.push_back({"", read_array(in)});
  }
  in.set_part("");
  read_names(in, arrays);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].array.defined()) continue;
    in.set_part(fmt::format("array {} of {}{}", i + 1, count,
                            arrays[i].name.empty() ? "" : fmt::format(", '{}'", arrays[i].name)));
    in.error("it has no value (MXNet saved an array that was never initialized); save it again with values");
  }
  return arrays;
}

}  // namespace kiln
