// Bounds-checked reading of files.
#pragma once
#include "frontend/formats/file_io.h"
#include "frontend/tensor/elements.h"
#include "runtime/messages.h"
#include "runtime/storage.h"
#include "runtime/tensor_type.h"

#include <kiln/tensor.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace kiln {

static_assert(std::endian::native == std::endian::little, "files of arrays are little endian");

/// A bounds-checked reader of a file, with a context for errors. The file is in memory, or open: then a
/// window of it is in memory, and the elements of arrays are read into their place. `file` outlives it.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, const std::string& file)
      : window_(bytes), size_(bytes.size()), file_(file) {}
  /// For a file of known size.
  explicit ByteReader(const InputFile& file)
      : size_(file.size().value()), file_(file.path()), input_(&file) {}

  std::size_t left() const { return size_ - at_; }
  std::size_t at() const { return at_; }
  std::size_t size() const { return size_; }
  const std::string& file() const { return file_; }
  void set_part(std::string part) { part_ = std::move(part); }
  void seek(std::uint64_t at, std::string_view what) {
    if (at > size_) error("{} is declared to begin at byte {}, but the file has {}", what, at, size_);
    at_ = static_cast<std::size_t>(at);
  }

  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  /// Valid until the next call.
  std::span<const std::byte> take(std::uint64_t n, std::string_view what) {
    if (n > left()) {
      error(
          "the file ends inside {} at byte {}: {} bytes are needed, {} are left; it is cut short or damaged",
          what, at_, n, left());
    }
    const std::span<const std::byte> bytes = in_window(static_cast<std::size_t>(n));
    at_ += bytes.size();
    return bytes;
  }
  /// The next bytes, at most `n`, which stay there.
  std::span<const std::byte> peek(std::size_t n) { return in_window(std::min(n, left())); }
  /// Reads the whole file into memory: for one that is read back and forth.
  void fetch_all() {
    if (window_.size() < size_) fetch(0, size_);
  }
  std::string_view text(std::uint64_t n, std::string_view what) {
    const std::span<const std::byte> bytes = take(n, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// The number of bytes of these elements; an error if fewer are left.
  std::size_t bytes_of(const Shape& shape, DType dtype) const {
    return bytes_of(shape, size_of(dtype), name_of(dtype));
  }
  /// The same of elements of `width` bytes, which the error calls `type`.
  std::size_t bytes_of(const Shape& shape, std::size_t width, std::string_view type) const;
  /// The elements of an array.
  std::span<const std::byte> elements(const Shape& shape, DType dtype) {
    return take(bytes_of(shape, dtype), "the elements");
  }
  /// A new array of these elements, as by make_array().
  Tensor array(const Shape& shape, DType dtype);

  /// The text with the file and the part of it.
  template <class... A>
  std::string message(fmt::format_string<A...> text, A&&... args) const {
    return compose("{}: {}{}", file_, part_.empty() ? "" : part_ + ": ",
                   compose(text, std::forward<A>(args)...).c_str());
  }
  template <class... A>
  [[noreturn]] void error(fmt::format_string<A...> text, A&&... args) const {
    throw Error(numbered(message(text, std::forward<A>(args)...), Mistake::damaged_file));
  }

 private:
  std::span<const std::byte> in_window(std::size_t n) {
    if (at_ < window_at_ || at_ - window_at_ > window_.size() || window_.size() - (at_ - window_at_) < n)
      fetch(at_, n);
    return window_.subspan(at_ - window_at_, n);
  }
  /// Makes the window begin at `at`, with `n` bytes or more. Only for an open file.
  void fetch(std::size_t at, std::size_t n);

  std::span<const std::byte> window_;
  std::size_t window_at_ = 0;
  std::size_t size_;
  const std::string& file_;
  std::string part_;
  std::size_t at_ = 0;
  const InputFile* input_ = nullptr;
  Buffer room_;  // of the window of an open file
};

/// A new array of these elements in C order. For bool any nonzero byte is true.
Tensor make_array(const Shape& shape, DType dtype, std::span<const std::byte> elements);

/// The elements of an array in memory order, during its lifetime.
class ElementBytes {
 public:
  explicit ElementBytes(const Tensor& array);
  std::span<const std::byte> span() const { return {elements_.data(), size_of(array_)}; }
  static std::size_t size_of(const Tensor& array) {
    return static_cast<std::size_t>(TensorType{array.dtype(), array.shape()}.bytes());
  }

 private:
  const Tensor& array_;
  HostElements elements_;
};

template <class T>
void append_number(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void append_bytes(std::string& out, std::span<const std::byte> bytes) {
  if (!bytes.empty()) out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace kiln
