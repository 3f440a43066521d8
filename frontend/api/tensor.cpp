// The methods of Tensor.
#include "frontend/autograd/tape.h"
#include "frontend/call/line.h"
#include "frontend/call/readable.h"
#include "frontend/call/trace.h"
#include "frontend/tensor/convert.h"
#include "frontend/tensor/elements.h"
#include "runtime/accelerator.h"
#include "runtime/messages.h"

#include <kiln/f.h>
#include <kiln/function.h>

#include <cstring>
#include <functional>

namespace kiln {

using detail::Array;
using detail::TensorAccess;

namespace {

std::size_t count(const Tensor& t) { return static_cast<std::size_t>(TensorAccess::shape(t).elements()); }

void check_shape(const Shape& shape, const char* what) {
  for (std::int64_t d : shape)
    if (d < 0) fail("{}: the shape {} has a negative extent", what, shape.str());
}

// Before elements are written by other means than an operator: gradients take them for constants.
void prepare_write(const Tensor& t, std::source_location where) {
  detail::record_write(t, {}, /*has_rest=*/false, where);
  detail::before_write(*TensorAccess::array(t));
}

}  // namespace

Device Tensor::device() const {
  if (!defined()) return {};
  return array_->traced() ? DeviceScope::current() : array_->device();
}

Tensor Tensor::from_host(const void* data, DType dtype, std::size_t n, const Shape& shape,
                         std::source_location where) {
  return at_line(where, [&] {
    check_shape(shape, "Tensor");
    if (static_cast<std::int64_t>(n) != shape.elements())
      fail("Tensor: {} values do not fill the shape {}, which has {} elements", n, shape.str(),
           shape.elements());
    Tensor t = TensorAccess::empty(shape, dtype, DeviceScope::current());
    set_elements(t, data);
    return t;
  });
}

Tensor Tensor::from_list(std::initializer_list<double> values, DType dtype) {
  const Tensor t =
      TensorAccess::empty({static_cast<std::int64_t>(values.size())}, dtype, DeviceScope::current());
  set_elements(t, {values.begin(), values.size()});
  return t;
}

void detail::fail_ragged(std::span<const std::int64_t> path, std::int64_t count, std::int64_t expected,
                         std::source_location where) {
  std::string row;
  for (const std::int64_t i : path) row += fmt::format("[{}]", i);
  fail("{}Tensor: row {} has {} values, and the rows before it have {}; they must be equally long",
       line_prefix(where), row, count, expected);
}

Tensor::Tensor(std::initializer_list<std::initializer_list<double>> values, DType dtype) {
  const std::size_t columns = values.size() ? values.begin()->size() : 0;
  std::vector<double> all;
  for (const auto& line : values) {
    if (line.size() != columns)
      detail::fail_ragged(std::array{std::int64_t{&line - values.begin()}},
                          static_cast<std::int64_t>(line.size()), static_cast<std::int64_t>(columns), {});
    all.insert(all.end(), line.begin(), line.end());
  }
  *this = TensorAccess::empty({static_cast<std::int64_t>(values.size()), static_cast<std::int64_t>(columns)},
                              dtype, DeviceScope::current());
  set_elements(*this, all);
}

Tensor Tensor::wrap(void* data, const Shape& shape, DType dtype, std::function<void()> release,
                    std::source_location where) {
  return at_line(where, [&] {
    check_shape(shape, "Tensor::wrap");
    const auto bytes = static_cast<std::size_t>(TensorType{dtype, shape}.bytes());
    if (!data && bytes) fail("Tensor::wrap: a null pointer for {} bytes", bytes);
    return TensorAccess::make(std::make_shared<Array>(Buffer(data, bytes, std::move(release)), shape), 0,
                              shape, dtype);
  });
}

const Shape& Tensor::shape(std::source_location where) const { return known_shape(*this, "shape()", where); }

RowIterator Tensor::end(std::source_location where) const {
  const Shape& rows = shape(where);
  if (rows.empty()) fail("{}iteration over an array of rank 0, which has no rows", line_prefix(where));
  return {*this, rows[0], where};
}

DType Tensor::dtype() const { return dtype_; }

bool Tensor::is_traced() const { return array_ && array_->traced(); }

std::string Tensor::name() const { return is_traced() ? array_->value.node->name : ""; }

namespace {

void check_one_element(const Shape& shape, std::source_location where) {
  if (shape.elements() != 1)
    fail(
        Mistake::not_one_element,
        "{}item() takes an array of one element, and this one has shape {}: reduce it (mean(), sum()), index "
        "it, or read all elements with to_vector()",
        line_prefix(where), shape.str());
}

}  // namespace

double Tensor::item_real(std::source_location where) const {
  check_readable(*this, "item()", where);
  check_one_element(shape_, where);
  return real_at(HostElements(*this).data(), dtype_, 0);
}

std::int64_t Tensor::item_integer(std::source_location where) const {
  check_readable(*this, "item()", where);
  check_one_element(shape_, where);
  return integer_at(HostElements(*this).data(), dtype_, 0);
}

void Tensor::copy_to(void* data, DType dtype, std::source_location where) const {
  check_readable(*this, "copy_to()", where);
  convert_elements(HostElements(*this).data(), dtype_, data, dtype, count(*this));
}

void Tensor::fill_vector(void* data, DType dtype, std::source_location where) const {
  check_readable(*this, "to_vector()", where);
  convert_elements(HostElements(*this).data(), dtype_, data, dtype, count(*this));
}

void Tensor::copy_from(const void* data, DType dtype, std::source_location where) {
  check_readable(*this, "copy_from()", where);
  prepare_write(*this, where);
  std::byte* const to = TensorAccess::data(*this);
  const auto* const from = static_cast<const std::byte*>(data);
  const std::size_t bytes = TensorAccess::bytes(*this);
  const bool disjoint = std::less_equal<>()(to + bytes, from) || std::less_equal<>()(from + bytes, to);
  if (device().is_cpu() && dtype == dtype_ && disjoint) {
    copy_bytes(to, from, bytes);
  } else if (device().is_cpu()) {
    convert_elements(data, dtype, to, dtype_, count(*this));
  } else {
    std::vector<std::byte> converted(TensorAccess::bytes(*this));
    convert_elements(data, dtype, converted.data(), dtype_, count(*this));
    set_elements(*this, converted.data());
  }
  array_->bump_version();
}

const void* Tensor::data(std::source_location where) const { return host_elements(*this, "data()", where); }

void* Tensor::mutable_data(std::source_location where) {
  std::byte* const data = host_elements(*this, "mutable_data()", where);
  prepare_write(*this, where);
  array_->bump_version();
  return data;
}

Tensor Tensor::copy(std::source_location where) const {
  const bool recorded = array_ && detail::is_recording() && detail::has_link(*this);
  if (!array_ || array_->traced() || Trace::current() || recorded) return F::identity(*this, where);
  return at_line(where, [&] {
    Tensor out = TensorAccess::empty(shape_, dtype_, array_->device());
    copy_elements(out, *this);
    return out;
  });
}

namespace {

/// A copy on another device. Its gradient goes back.
class Moved final : public autograd::Function {
 public:
  explicit Moved(Device to) : to_(to) {}
  std::vector<Tensor> forward(const std::vector<Tensor>& inputs) override {
    from_ = inputs[0].device();
    return {inputs[0].to(to_)};
  }
  std::vector<Tensor> backward(const std::vector<Tensor>& heads) override { return {heads[0].to(from_)}; }

 private:
  Device to_, from_;
};

}  // namespace

Tensor Tensor::to(Device device, std::source_location where) const {
  if (!array_)
    fail("{}to() of an undefined Tensor (made by Tensor() and never assigned)", line_prefix(where));
  if (this->device() == device) return *this;
  if (array_->traced() || Trace::current())
    fail("{}to({}) while a network is recorded, whose calls run on {}: one call runs on one device",
         line_prefix(where), device.str(), this->device().str());
  if (detail::is_recording() && detail::has_link(*this))
    return (*std::make_shared<Moved>(device))({*this}, where)[0];
  return at_line(where, [&] {
    Tensor out = TensorAccess::empty(shape_, dtype_, device);
    copy_elements(out, *this);
    return out;
  });
}

void Tensor::wait() const {
  if (!array_ || array_->traced()) return;
  if (Accelerator* const accelerator = accelerator_of(array_->device())) accelerator->wait();
}

Tensor Tensor::astype(DType dtype, std::source_location where) const { return F::cast(*this, dtype, where); }

}  // namespace kiln
