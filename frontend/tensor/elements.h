// The elements of concrete tensors in memory.
#pragma once
#include "frontend/tensor/array.h"

#include <kiln/tensor.h>

#include <span>

/// The elements of concrete tensors, which may be on any device, for code on the host.
namespace kiln {

/// The elements of an array on the CPU, or a copy of another device's, during its lifetime.
class HostElements {
 public:
  explicit HostElements(const Tensor& t);
  const std::byte* data() const { return data_; }

 private:
  Storage::Reading contents_;
  Buffer copy_;
  const std::byte* data_;
};

/// Copies between places in memory that do not overlap, on all threads.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes);
/// Copies the elements at `from` into the tensor, on the host. The caller increments the array's version.
void set_elements(const Tensor& t, const void* from);
/// The same for numbers, converted to the tensor's dtype.
void set_elements(const Tensor& t, std::span<const double> values);
/// Copies elements between tensors of equal number and dtype, from device to device. They may overlap.
void copy_elements(const Tensor& to, const Tensor& from);
/// A tensor of one value.
Tensor filled(const TensorType& type, double value, Device device);

/// The program reads elements of a concrete array: a recording on this thread depends on them
/// (frontend/call/readable.cpp).
void note_read(const Tensor& t);

}  // namespace kiln
