// Reads, writes and copies of elements.
#include "frontend/tensor/elements.h"

#include "frontend/tensor/convert.h"
#include "runtime/accelerator.h"
#include "runtime/element_width.h"
#include "runtime/fail.h"
#include "runtime/threads.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace kiln {

using detail::Array;
using detail::TensorAccess;

namespace {

/// Elements per part of a loop over memory: some huge pages. Smaller arrays start no workers, so that a child
/// of fork() in a program that only made arrays may start its own (runtime/threads.h).
std::int64_t grain_of(std::size_t width) {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  return static_cast<std::int64_t>(bytes / width);
}

}  // namespace

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  parallel_ranges(static_cast<std::int64_t>(bytes), grain_of(1), [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

HostElements::HostElements(const Tensor& t)
    : contents_(*TensorAccess::array(t)), data_(contents_.data() + TensorAccess::byte_offset(t)) {
  note_read(t);
  const Device device = TensorAccess::device(t);
  if (device.is_cpu()) return;
  copy_ = Buffer(TensorAccess::bytes(t));
  copy_across({}, copy_.data(), device, data_, copy_.bytes());
  data_ = copy_.data();
}

void set_elements(const Tensor& t, const void* from) {
  copy_across(TensorAccess::device(t), TensorAccess::data(t), {}, static_cast<const std::byte*>(from),
              TensorAccess::bytes(t));
}

void set_elements(const Tensor& t, std::span<const double> values) {
  const DType dtype = TensorAccess::dtype(t);
  if (TensorAccess::device(t).is_cpu())
    return convert_elements(values.data(), DType::f64, TensorAccess::data(t), dtype, values.size());
  std::vector<std::byte> converted(TensorAccess::bytes(t));
  convert_elements(values.data(), DType::f64, converted.data(), dtype, values.size());
  set_elements(t, converted.data());
}

void copy_elements(const Tensor& to, const Tensor& from) {
  const Storage::Reading contents(*TensorAccess::array(from));
  copy_across(TensorAccess::device(to), TensorAccess::data(to), TensorAccess::device(from),
              contents.data() + TensorAccess::byte_offset(from), TensorAccess::bytes(to));
}

namespace {

/// On all threads: of new memory, most of the time goes to the first touch of its pages.
void repeat(std::byte* out, std::int64_t count, const std::byte* element, std::size_t width) {
  with_unsigned(width, [=]<class T>(T) {
    parallel_ranges(count, grain_of(sizeof(T)), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        std::memcpy(out + static_cast<std::size_t>(i) * sizeof(T), element, sizeof(T));
    });
  });
}

}  // namespace

Tensor filled(const TensorType& type, double value, Device device) {
  Tensor out = TensorAccess::empty(type.shape, type.dtype, device);
  const std::size_t width = size_of(type.dtype), bytes = TensorAccess::bytes(out);
  std::byte element[8];
  convert_elements(&value, DType::f64, element, type.dtype, 1);
  if (device.is_cpu()) {
    repeat(TensorAccess::data(out), type.shape.elements(), element, width);
    return out;
  }
  const bool zero = std::all_of(element, element + width, [](std::byte b) { return b == std::byte{0}; });
  if (zero) {
    clear_bytes(accelerator_of(device), TensorAccess::data(out), bytes);
    return out;
  }
  const Buffer staged(bytes);
  repeat(staged.data(), type.shape.elements(), element, width);
  set_elements(out, staged.data());
  return out;
}

}  // namespace kiln
