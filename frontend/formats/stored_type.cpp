// Reads elements whose type in the file is not a dtype of Kiln.
#include "frontend/formats/stored_type.h"

#include "frontend/tensor/array.h"
#include "runtime/log.h"

#include <algorithm>
#include <limits>

namespace kiln {
namespace {

template <class From, class To>
void widen(std::span<const std::byte> elements, std::byte* to) {
  for (std::size_t i = 0; i < elements.size() / sizeof(From); ++i) {
    From value;
    std::memcpy(&value, elements.data() + i * sizeof value, sizeof value);
    const To wide = static_cast<To>(value);
    std::memcpy(to + i * sizeof wide, &wide, sizeof wide);
  }
}

}  // namespace

std::string readable_dtypes() {
  std::string names;
  for (const DTypeRow& row : dtype_table)
    names += compose("{}{}", names.empty() ? "" : &row == &dtype_table.back() ? " and " : ", ", row.name);
  return compose("Kiln has {}, and reads int16, uint16, uint32 and uint64 as int32 or int64", names);
}

StoredArray make_stored(const Shape& shape, const StoredType& type, std::span<const std::byte> elements) {
  if (!type.widens) return make_array(shape, type.dtype, elements);
  if (type.width == 8) {
    for (std::size_t at = 0; at < elements.size(); at += 8) {
      std::uint64_t value = 0;
      std::memcpy(&value, elements.data() + at, sizeof value);
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return NoDType{fmt::format(
            "its element {} is {}, which int64 does not hold: convert it before it is saved", at / 8, value)};
    }
    return make_array(shape, type.dtype, elements);
  }
  // The elements may be of a file whose size their number does not exceed, so that this allocates twice that.
  Tensor array = detail::TensorAccess::empty(shape, type.dtype);
  std::byte* const to = detail::TensorAccess::array(array)->host_data();
  if (type.width == 4)
    widen<std::uint32_t, std::int64_t>(elements, to);
  else if (type.is_signed)
    widen<std::int16_t, std::int32_t>(elements, to);
  else
    widen<std::uint16_t, std::int32_t>(elements, to);
  return array;
}

std::size_t stored_bytes(const ByteReader& in, const Shape& shape, const StoredType& type) {
  if (!type.widens) return in.bytes_of(shape, type.dtype);
  const std::size_t bytes = in.bytes_of(shape, type.width, fmt::format("{}-byte integers", type.width));
  if (!product_of(shape.dims(), static_cast<std::int64_t>(size_of(type.dtype))))
    in.error("its shape {} is larger than any array", shape.str());
  return bytes;
}

StoredArray read_stored(ByteReader& in, const Shape& shape, const StoredType& type) {
  if (!type.widens) return in.array(shape, type.dtype);
  return make_stored(shape, type, in.take(stored_bytes(in, shape, type), "the elements"));
}

void StoredArrays::add(std::string name, StoredArray array) {
  if (Tensor* const read = std::get_if<Tensor>(&array)) {
    arrays_.push_back({std::move(name), std::move(*read)});
    return;
  }
  constexpr std::size_t shown = 20;
  if (left_out_++ < shown) problems_ += "\n  " + in_.message("{}", std::get<NoDType>(array).reason);
}

std::vector<NamedArray> StoredArrays::take() {
  if (left_out_ == 0) return std::move(arrays_);
  if (arrays_.empty() && left_out_ == 1) throw Error(problems_.substr(3));
  const std::string text = fmt::format("{}: {} of its {} arrays have elements that Kiln does not hold{}",
                                       in_.file(), left_out_, left_out_ + arrays_.size(), problems_);
  if (arrays_.empty()) throw Error(text);
  warn_once("arrays of " + in_.file(), text + "\n  the other arrays are read");
  return std::move(arrays_);
}

}  // namespace kiln
