#include "frontend/array.h"
#include "frontend/file_io.h"
#include "frontend/params_format.h"
#include "runtime/fail.h"

#include <kiln/io.h>

#include <bit>
#include <cstring>

namespace kiln {
namespace {

using namespace params_format;
static_assert(std::endian::native == std::endian::little, "the elements are copied as they are");

/// Reads numbers from the bytes of a list and knows what it is reading, for errors.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t at() const { return at_; }
  void set_part(std::string part) { part_ = std::move(part); }

  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> take(std::size_t n, std::string_view what) {
    if (n > left()) {
      error(
          "the file ends inside {} at byte {}: {} bytes are needed, {} are left; it is cut short or damaged",
          what, at_, n, left());
    }
    at_ += n;
    return bytes_.subspan(at_ - n, n);
  }

  template <class... A>
  [[noreturn]] void error(fmt::format_string<A...> text, A&&... args) const {
    fail("{}: {}{}", file_, part_.empty() ? "" : part_ + ": ", fmt::format(text, std::forward<A>(args)...));
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::string part_;
  std::size_t at_ = 0;
};

struct Header {
  std::uint32_t magic = 0;
  bool old() const { return magic != magic_v1 && magic != magic_v2 && magic != magic_v3; }
};

std::int64_t read_dimension(Reader& in, const Header& header) {
  if (header.old()) return in.number<std::uint32_t>("a dimension");
  return in.number<std::int64_t>("a dimension");
}

Shape read_shape(Reader& in, const Header& header) {
  const std::int64_t rank =
      header.old() ? std::int64_t{header.magic} : std::int64_t{in.number<std::int32_t>("the number of axes")};
  const bool none = header.magic == magic_v3 ? rank == none_rank_v3 : rank == 0;
  if (none)
    in.error("it has no value (MXNet saved an array that was never initialized); save it again with values");
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

// The bytes of the elements, checked against what the file still holds.
std::size_t checked_bytes(const Reader& in, const Shape& shape, DType dtype) {
  std::size_t bytes = size_of(dtype);
  for (const std::int64_t dim : shape)
    if (dim == 0) return 0;
  for (const std::int64_t dim : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(dim), &bytes) || bytes > in.left()) {
      in.error("its shape {} of {} needs more than the {} bytes that are left in the file", shape.str(),
               name_of(dtype), in.left());
    }
  }
  return bytes;
}

Tensor read_array(Reader& in) {
  Header header{in.number<std::uint32_t>("the array's magic number")};
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
  const Shape shape = read_shape(in, header);
  in.number<std::int32_t>("the device");
  in.number<std::int32_t>("the device's number");
  const auto flag = in.number<std::int32_t>("the dtype");
  const std::optional<DType> dtype = dtype_from_flag(flag);
  if (!dtype) in.error("it has the unknown dtype flag {}", flag);
  const std::size_t bytes = checked_bytes(in, shape, *dtype);
  const std::span<const std::byte> elements = in.take(bytes, "the elements");
  Tensor array = detail::TensorAccess::empty(shape, *dtype);
  std::byte* data = detail::TensorAccess::array(array)->data();
  if (bytes != 0) std::memcpy(data, elements.data(), bytes);
  // Any byte but 0 is true; Kiln's bools hold 0 and 1.
  if (*dtype == DType::boolean)
    for (std::size_t i = 0; i < bytes; ++i) data[i] = std::byte{data[i] != std::byte{0}};
  return array;
}

void read_names(Reader& in, std::vector<NamedArray>& arrays) {
  const auto count = in.number<std::uint64_t>("the number of names");
  if (count == 0) return;
  if (count != arrays.size()) in.error("there are {} arrays but {} names", arrays.size(), count);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    in.set_part(fmt::format("name {} of {}", i + 1, count));
    const auto length = in.number<std::uint64_t>("its length");
    if (length > in.left()) in.error("it has {} bytes, but {} are left in the file", length, in.left());
    const auto bytes = in.take(static_cast<std::size_t>(length), "the name");
    arrays[i].name.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
}

}  // namespace

std::vector<NamedArray> parse_arrays(std::span<const std::byte> bytes, const std::string& name) {
  Reader in(bytes, name);
  if (bytes.empty()) in.error("the file is empty, not a list of arrays (.params)");
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
  // The smallest array there can be: four words.
  if (count > in.left() / 16 && count != 0)
    in.error("it declares {} arrays, but only {} bytes follow", count, in.left());
  std::vector<NamedArray> arrays;
  for (std::uint64_t i = 0; i < count; ++i) {
    in.set_part(fmt::format("array {} of {} (at byte {})", i + 1, count, in.at()));
    arrays.push_back({"", read_array(in)});
  }
  in.set_part("");
  read_names(in, arrays);
  return arrays;
}

std::vector<NamedArray> load_arrays(const std::string& path) {
  return parse_arrays(read_file(path, "params file"), path);
}

const Tensor* find_array(std::span<const NamedArray> arrays, std::string_view name) {
  for (const NamedArray& a : arrays)
    if (a.name == name) return &a.array;
  return nullptr;
}

}  // namespace kiln
