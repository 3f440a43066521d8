// Batches are made on the host: no kernel is compiled for their shapes, which may differ each time.
#include "frontend/call/line.h"
#include "frontend/call/readable.h"
#include "frontend/tensor/elements.h"
#include "runtime/fail.h"

#include <kiln/batchify.h>

#include <algorithm>
#include <cstring>

namespace kiln::data::batchify {

using kiln::detail::TensorAccess;

namespace {

using Column = std::vector<Tensor>;

/// The arrays of each place, after a check that all samples have as many.
std::vector<Column> columns_of(std::span<const Sample> samples) {
  if (samples.empty()) fail("a batch of no samples");
  std::vector<Column> columns(samples[0].size());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].size() != columns.size())
      fail("sample 0 of the batch has {} arrays, sample {} has {}", columns.size(), s, samples[s].size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      check_readable(samples[s][i], "a batch", {});
      columns[i].push_back(samples[s][i]);
    }
  }
  return columns;
}

Batch of_columns(std::span<const Sample> samples,
                 const std::function<Tensor(const Column&, std::size_t)>& fn) {
  std::vector<Tensor> arrays;
  const std::vector<Column> columns = columns_of(samples);
  for (std::size_t i = 0; i < columns.size(); ++i) arrays.push_back(fn(columns[i], i));
  return arrays;
}

void check_dtypes(const Column& column, std::size_t place) {
  for (std::size_t s = 1; s < column.size(); ++s)
    if (column[s].dtype() != column[0].dtype())
      fail("array {} of sample {} of the batch is {}, that of sample 0 is {}", place, s,
           name_of(column[s].dtype()), name_of(column[0].dtype()));
}

Tensor stacked(const Column& column, std::size_t place) {
  check_dtypes(column, place);
  const Shape& row = column[0].shape();
  for (std::size_t s = 1; s < column.size(); ++s)
    if (column[s].shape() != row)
      fail(
          "array {} of sample {} of the batch has shape {}, that of sample 0 {}: they cannot be stacked; "
          "batchify::Pad makes the shapes equal, batchify::Append keeps them",
          place, s, column[s].shape().str(), row.str());
  Tensor out = TensorAccess::empty(Shape::stacked(std::ssize(column), row), column[0].dtype());
  std::byte* to = TensorAccess::data(out);
  for (const Tensor& t : column) {
    const std::size_t bytes = TensorAccess::bytes(t);
    if (bytes != 0) std::memcpy(to, HostElements(t).data(), bytes);
    to += bytes;
  }
  return out;
}

/// Copies an array of shape `from_shape` to the beginning of each axis of one of shape `to_shape`.
void copy_corner(const std::byte* from, const Shape& from_shape, std::byte* to, const Shape& to_shape,
                 std::size_t axis, std::size_t width) {
  if (axis == from_shape.size()) return void(std::memcpy(to, from, width));
  std::size_t from_step = width, to_step = width;
  for (std::size_t i = axis + 1; i < from_shape.size(); ++i) {
    from_step *= static_cast<std::size_t>(from_shape[i]);
    to_step *= static_cast<std::size_t>(to_shape[i]);
  }
  const auto rows = static_cast<std::size_t>(from_shape[axis]);
  if (from_step == to_step) {
    if (rows * from_step != 0) std::memcpy(to, from, rows * from_step);
    return;
  }
  for (std::size_t i = 0; i < rows; ++i)
    copy_corner(from + i * from_step, from_shape, to + i * to_step, to_shape, axis + 1, width);
}

Tensor padded(const Column& column, std::size_t place, const PadOptions& options) {
  check_dtypes(column, place);
  Shape row = column[0].shape();
  for (std::size_t s = 1; s < column.size(); ++s) {
    const Shape& other = column[s].shape();
    if (other.rank() != row.rank())
      fail("array {} of sample {} of the batch has shape {}, that of sample 0 {}: Pad needs equal ranks",
           place, s, other.str(), column[0].shape().str());
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::max(row[i], other[i]);
  }
  if (const auto unit = options.round_to)
    for (std::int64_t& d : row) d += (*unit - d % *unit) % *unit;
  const DType dtype = options.dtype.value_or(column[0].dtype());
  Tensor out = filled({dtype, Shape::stacked(std::ssize(column), row)}, options.val, cpu());
  std::byte* to = TensorAccess::data(out);
  std::vector<std::byte> converted;
  for (const Tensor& t : column) {
    converted.resize(static_cast<std::size_t>(t.size()) * size_of(dtype));
    if (!converted.empty()) t.copy_to(converted.data(), dtype);
    if (!converted.empty()) copy_corner(converted.data(), t.shape(), to, row, 0, size_of(dtype));
    to += TensorType{dtype, row}.bytes();
  }
  return out;
}

}  // namespace

Batch Stack::operator()(std::span<const Sample> samples, Where where) const {
  return at_line(where, [&] { return of_columns(samples, stacked); });
}

Pad::Pad(const PadOptions& options, Where where) : options_(options) {
  if (options.round_to && *options.round_to < 1)
    fail("{}Pad: round_to is {}: it must be 1 or more", line_prefix(where), *options.round_to);
}

Batch Pad::operator()(std::span<const Sample> samples, Where where) const {
  return at_line(where, [&] {
    return of_columns(
        samples, [&](const Column& column, std::size_t place) { return padded(column, place, options_); });
  });
}

Batch Append::operator()(std::span<const Sample> samples, Where where) const {
  std::vector<Tensor> arrays;
  for (const Sample& s : samples)
    for (const Tensor& t : s) {
      check_readable(t, "a batch", where);
      const Tensor here = t.to(cpu());
      // Not by reshape(), for which an extent of 0 is a code
      arrays.push_back(expand_ ? TensorAccess::make(TensorAccess::array(here), TensorAccess::offset(here),
                                                    Shape::stacked(1, here.shape()), here.dtype())
                               : here);
    }
  return arrays;
}

Group::Group(std::vector<BatchifyFn> parts, Where where) : parts_(std::move(parts)) {
  for (const BatchifyFn& part : parts_)
    if (!part) fail("{}Group: a part is an empty function", line_prefix(where));
}

Batch Group::operator()(std::span<const Sample> samples, Where where) const {
  return at_line(where, [&]() -> Batch {
    const std::vector<Column> columns = columns_of(samples);
    if (columns.size() != parts_.size())
      fail("Group has {} ways to make a batch, and the samples {} arrays", parts_.size(), columns.size());
    std::vector<Tensor> arrays;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::vector<Sample> part(columns[i].begin(), columns[i].end());
      const Batch made = parts_[i](part);
      arrays.insert(arrays.end(), made.begin(), made.end());
    }
    return arrays;
  });
}

}  // namespace kiln::data::batchify
