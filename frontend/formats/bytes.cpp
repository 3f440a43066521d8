#include "frontend/formats/bytes.h"

#include "frontend/tensor/array.h"

namespace kiln {

std::span<const std::byte> ByteReader::elements(const Shape& shape, DType dtype) {
  const auto bytes = product_of(shape.dims(), static_cast<std::int64_t>(size_of(dtype)));
  if (!bytes || static_cast<std::uint64_t>(*bytes) > left())
    error("its shape {} of {} needs more than the {} bytes that are left in the file", shape.str(),
          name_of(dtype), left());
  return take(static_cast<std::uint64_t>(*bytes), "the elements");
}

Tensor make_array(const Shape& shape, DType dtype, std::span<const std::byte> elements) {
  Tensor array = detail::TensorAccess::empty(shape, dtype);
  std::byte* const data = detail::TensorAccess::array(array)->host_data();
  if (!elements.empty()) std::memcpy(data, elements.data(), elements.size());
  // A bool of Kiln is 0 or 1.
  if (dtype == DType::boolean)
    for (std::size_t i = 0; i < elements.size(); ++i) data[i] = std::byte{data[i] != std::byte{0}};
  return array;
}

}  // namespace kiln
