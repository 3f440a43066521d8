#pragma once
#include "runtime/fail.h"
#include "runtime/tensor_type.h"

#include <kiln/tensor.h>

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace kiln {

static_assert(std::endian::native == std::endian::little, "files of arrays are little endian");

/// A bounds-checked reader of a file in memory, with a context for errors.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t at() const { return at_; }
  std::size_t size() const { return bytes_.size(); }
  const std::string& file() const { return file_; }
  void set_part(std::string part) { part_ = std::move(part); }
  void seek(std::uint64_t at, std::string_view what) {
    if (at > bytes_.size())
      error("{} is declared to begin at byte {}, but the file has {}", what, at, bytes_.size());
    at_ = static_cast<std::size_t>(at);
  }

  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> take(std::uint64_t n, std::string_view what) {
    if (n > left()) {
      error(
          "the file ends inside {} at byte {}: {} bytes are needed, {} are left; it is cut short or damaged",
          what, at_, n, left());
    }
    at_ += static_cast<std::size_t>(n);
    return bytes_.subspan(at_ - static_cast<std::size_t>(n), static_cast<std::size_t>(n));
  }
  std::string_view text(std::uint64_t n, std::string_view what) {
    const std::span<const std::byte> bytes = take(n, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// The elements of an array, limited by the remaining bytes.
  std::span<const std::byte> elements(const Shape& shape, DType dtype);

  template <class... A>
  [[noreturn]] void error(fmt::format_string<A...> text, A&&... args) const {
    fail("{}: {}{}", file_, part_.empty() ? "" : part_ + ": ",
         compose(text, std::forward<A>(args)...).c_str());
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::string part_;
  std::size_t at_ = 0;
};

/// A new array of these elements in C order. For bool any nonzero byte is true.
Tensor make_array(const Shape& shape, DType dtype, std::span<const std::byte> elements);

/// The elements of an array in memory order.
inline std::span<const std::byte> bytes_of(const Tensor& array) {
  const auto bytes = static_cast<std::size_t>(TensorType{array.dtype(), array.shape()}.bytes());
  return {bytes == 0 ? nullptr : static_cast<const std::byte*>(array.data()), bytes};
}

template <class T>
void append_number(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void append_bytes(std::string& out, std::span<const std::byte> bytes) {
  if (!bytes.empty()) out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace kiln
