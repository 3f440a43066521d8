#include "frontend/autograd/tape.h"
#include "frontend/eager/invoke.h"
#include "frontend/tensor/convert.h"
#include "frontend/tensor/view.h"
#include "frontend/trace/trace.h"
#include "runtime/fail.h"

#include <kiln/f.h>

#include <cstring>

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
  detail::record_write(t, {}, where);
  detail::before_write(*TensorAccess::array(t));
}

}  // namespace

Device Tensor::device() const { return defined() ? array_->device() : Device(); }

Tensor Tensor::from_host(const void* data, DType dtype, std::size_t n, const Shape& shape,
                         std::source_location where) {
  return at_line(where, [&] {
    check_shape(shape, "Tensor");
    if (static_cast<std::int64_t>(n) != shape.elements())
      fail("Tensor: {} values do not fill the shape {}, which has {} elements", n, shape.str(),
           shape.elements());
    Tensor t = TensorAccess::empty(shape, dtype);
    if (n) std::memcpy(elements_of(t), data, n * size_of(dtype));
    return t;
  });
}

Tensor Tensor::from_list(std::initializer_list<double> values, DType dtype) {
  const Tensor t = TensorAccess::empty({static_cast<std::int64_t>(values.size())}, dtype);
  convert_elements(values.begin(), DType::f64, elements_of(t), dtype, values.size());
  return t;
}

Tensor::Tensor(std::initializer_list<std::initializer_list<double>> values, DType dtype) {
  const std::size_t columns = values.size() ? values.begin()->size() : 0;
  std::vector<double> all;
  for (const auto& line : values) {
    if (line.size() != columns)
      fail("Tensor: the rows have {} and {} values; they must be equally long", columns, line.size());
    all.insert(all.end(), line.begin(), line.end());
  }
  *this = TensorAccess::empty({static_cast<std::int64_t>(values.size()), static_cast<std::int64_t>(columns)},
                              dtype);
  convert_elements(all.data(), DType::f64, elements_of(*this), dtype, all.size());
}

Tensor Tensor::wrap(void* data, const Shape& shape, DType dtype, std::function<void()> release,
                    std::source_location where) {
  return at_line(where, [&] {
    check_shape(shape, "Tensor::wrap");
    const auto bytes = static_cast<std::size_t>(TensorType{dtype, shape}.bytes());
    if (!data && bytes) fail("Tensor::wrap: a null pointer for {} bytes", bytes);
    return TensorAccess::make(std::make_shared<Array>(Buffer(data, bytes, std::move(release)), shape), 0, shape,
                              dtype);
  });
}

const Shape& Tensor::shape(std::source_location where) const { return known_shape(*this, "shape()", where); }

DType Tensor::dtype() const { return dtype_; }

bool Tensor::is_traced() const { return array_ && array_->traced(); }

std::string Tensor::name() const { return is_traced() ? array_->value.node->name : ""; }

namespace {

void check_one_element(const Shape& shape, std::source_location where) {
  if (shape.elements() != 1)
    fail(
        "{}item() takes an array of one element, and this one has shape {}: reduce it (mean(), sum()), index "
        "it, or read all elements with to_vector()",
        line_prefix(where), shape.str());
}

}  // namespace

double Tensor::item_real(std::source_location where) const {
  const std::byte* data = readable_elements(*this, "item()", where);
  check_one_element(shape_, where);
  return real_at(data, dtype_, 0);
}

std::int64_t Tensor::item_integer(std::source_location where) const {
  const std::byte* data = readable_elements(*this, "item()", where);
  check_one_element(shape_, where);
  return integer_at(data, dtype_, 0);
}

void Tensor::copy_to(void* data, DType dtype, std::source_location where) const {
  const std::byte* from = readable_elements(*this, "copy_to()", where);
  convert_elements(from, dtype_, data, dtype, count(*this));
}

void Tensor::fill_vector(void* data, DType dtype, std::source_location where) const {
  const std::byte* from = readable_elements(*this, "to_vector()", where);
  convert_elements(from, dtype_, data, dtype, count(*this));
}

void Tensor::copy_from(const void* data, DType dtype, std::source_location where) {
  readable_elements(*this, "copy_from()", where);
  prepare_write(*this, where);
  convert_elements(data, dtype, elements_of(*this), dtype_, count(*this));
  array_->bump_version();
}

const void* Tensor::data(std::source_location where) const {
  return readable_elements(*this, "data()", where);
}

void* Tensor::mutable_data(std::source_location where) {
  readable_elements(*this, "mutable_data()", where);
  prepare_write(*this, where);
  array_->bump_version();
  return elements_of(*this);
}

Tensor Tensor::copy(std::source_location where) const {
  const bool recorded = array_ && detail::is_recording() && detail::has_link(*this);
  if (!array_ || array_->traced() || Trace::current() || recorded) return F::identity(*this, where);
  return at_line(where, [&] {
    Tensor out = TensorAccess::empty(shape_, dtype_);
    convert_elements(elements_of(*this), dtype_, elements_of(out), dtype_, count(*this));
    return out;
  });
}

Tensor Tensor::astype(DType dtype, std::source_location where) const { return F::cast(*this, dtype, where); }

}  // namespace kiln
