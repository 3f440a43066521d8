#include "frontend/tensor/elements.h"

#include "frontend/eager/invoke.h"
#include "frontend/tensor/convert.h"
#include "frontend/trace/call_trace.h"
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

namespace {

/// A recording depends on what the program reads during it.
void note_read(const Tensor& t) {
  Trace* const trace = Trace::current();
  if (CallTrace* const call = trace ? trace->call() : nullptr) call->reads(TensorAccess::array(t));
}

}  // namespace

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

void check_readable(const Tensor& t, const char* what, std::source_location where) {
  const Array* array = TensorAccess::array(t).get();
  if (!array)
    fail("{}{} of an undefined Tensor (made by Tensor() and never assigned)", line_prefix(where), what);
  const Trace* trace = Trace::current();
  if (array->traced() && (!trace || !trace->sees(*array) || !trace->shapes_known())) {
    fail(
        "{}{} needs a value, but <Symbol {}> has none: it describes a computation. Bind it to arrays first "
        "(SymbolBlock, or "
        "call the network on a Tensor)",
        line_prefix(where), what, array->value.node->name);
  }
  if (array->traced() || (trace && trace->has_written(array))) {
    fail(
        "{}{} needs a value, but the network is being traced (hybridize): hybrid_forward runs once, on "
        "tensors without values. Keep "
        "it a Tensor, choose between tensors with F.where, or call {} outside of hybrid_forward",
        line_prefix(where), what, what);
  }
  note_read(t);
}

std::byte* host_elements(const Tensor& t, const char* what, std::source_location where) {
  check_readable(t, what, where);
  if (const Device device = TensorAccess::device(t); !device.is_cpu())
    fail("{}{} is an address on the host, and this array is on {}: to(cpu()) copies it", line_prefix(where),
         what, device.str());
  return TensorAccess::data(t);
}

Device common_device(std::span<const Tensor* const> tensors, std::string_view what,
                     const std::function<std::string(std::size_t)>& name, std::source_location where) {
  if (tensors.empty()) return DeviceScope::current();
  const Device first = TensorAccess::device(*tensors[0]);
  for (std::size_t i = 1; i < tensors.size(); ++i)
    if (const Device other = TensorAccess::device(*tensors[i]); !(other == first))
      fail("{}{}: {} is on {} and {} on {}: move one, as in x.to(kiln::{})", line_prefix(where), what,
           name(0), first.str(), name(i), other.str(), first.str());
  return first;
}

}  // namespace kiln
