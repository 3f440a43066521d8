// Reads of ByteReader that go beyond its window, and elements as bytes.
#include "frontend/formats/bytes.h"

#include "frontend/call/readable.h"
#include "frontend/tensor/array.h"

namespace kiln {
namespace {

/// A bool of Kiln is 0 or 1.
void make_bools(std::span<std::byte> elements) {
  for (std::byte& e : elements) e = std::byte{e != std::byte{0}};
}

}  // namespace

void ByteReader::fetch(std::size_t at, std::size_t n) {
  constexpr std::size_t ahead = std::size_t{1} << 16;
  const std::size_t bytes = std::min(std::max(n, ahead), size_ - at);
  if (room_.bytes() < bytes) room_ = Buffer(bytes);
  window_ = {};
  input_->read(at, {room_.data(), bytes});
  window_ = {room_.data(), bytes};
  window_at_ = at;
}

std::size_t ByteReader::bytes_of(const Shape& shape, std::size_t width, std::string_view type) const {
  const auto bytes = product_of(shape.dims(), static_cast<std::int64_t>(width));
  if (!bytes || static_cast<std::uint64_t>(*bytes) > left())
    error("its shape {} of {} needs more than the {} bytes that are left in the file", shape.str(), type,
          left());
  return static_cast<std::size_t>(*bytes);
}

Tensor ByteReader::array(const Shape& shape, DType dtype) {
  if (!input_) return make_array(shape, dtype, elements(shape, dtype));
  const std::size_t bytes = bytes_of(shape, dtype);
  Tensor array = detail::TensorAccess::empty(shape, dtype);
  const std::span<std::byte> out(detail::TensorAccess::array(array)->host_data(), bytes);
  // Bytes in the window are not read again.
  const std::size_t from = at_ - window_at_;
  const std::size_t here =
      at_ >= window_at_ && from < window_.size() ? std::min(window_.size() - from, bytes) : 0;
  if (here > 0) std::memcpy(out.data(), window_.data() + from, here);
  if (here < bytes) input_->read(at_ + here, out.subspan(here));
  at_ += bytes;
  if (dtype == DType::boolean) make_bools(out);
  return array;
}

ElementBytes::ElementBytes(const Tensor& array)
    : array_((check_readable(array, "data()", {}), array)), elements_(array) {}

Tensor make_array(const Shape& shape, DType dtype, std::span<const std::byte> elements) {
  Tensor array = detail::TensorAccess::empty(shape, dtype);
  std::byte* const data = detail::TensorAccess::array(array)->host_data();
  copy_bytes(data, elements.data(), elements.size());
  if (dtype == DType::boolean) make_bools({data, elements.size()});
  return array;
}

}  // namespace kiln
