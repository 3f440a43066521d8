// Runs calls with one row and with many, and compares the rows.
#include "rows.h"

#include "same_bits.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <memory>

namespace batch_invariance {

using namespace kiln;

namespace {

/// Of a shape, around one of its axes.
struct Extents {
  std::int64_t outer = 1, rows, inner = 1;
  Extents(const Shape& shape, int axis) : rows(shape[axis]) {
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  }
};

/// Numbers that follow from the row, and the place of an element in it.
Tensor head_of(const Tensor& y, int axis, std::int64_t first_row) {
  const Extents e(y.shape(), axis);
  std::vector<float> values;
  for (std::int64_t o = 0; o < e.outer; ++o)
    for (std::int64_t r = 0; r < e.rows; ++r)
      for (std::int64_t i = 0; i < e.inner; ++i)
        values.push_back(static_cast<float>(((first_row + r) * 7 + (o * e.inner + i) * 5) % 23 - 11) * 0.17F);
  return Tensor(values, y.shape()).astype(y.dtype());
}

/// Without a kernel.
Tensor array_of_zeros(const Shape& shape, DType dtype) {
  auto bytes = std::make_shared<std::vector<std::byte>>(
      static_cast<std::size_t>(std::max<std::int64_t>(shape.elements(), 1)) * size_of(dtype));
  return Tensor::wrap(bytes->data(), shape, dtype, [bytes] {});
}

}  // namespace

void copy_rows(Tensor& t, std::int64_t begin, const Tensor& from, std::int64_t from_begin, std::int64_t count,
               int axis) {
  const Extents to_extents(t.shape(), axis), from_extents(from.shape(), axis);
  const auto row = static_cast<std::size_t>(to_extents.inner) * size_of(t.dtype());
  const auto place = [&](const Extents& e, std::int64_t outer, std::int64_t r) {
    return static_cast<std::size_t>(outer * e.rows + r) * row;
  };
  auto* const to_data = static_cast<std::byte*>(t.mutable_data());
  const auto* const from_data = static_cast<const std::byte*>(from.data());
  for (std::int64_t o = 0; o < to_extents.outer; ++o)
    std::copy_n(from_data + place(from_extents, o, from_begin), static_cast<std::size_t>(count) * row,
                to_data + place(to_extents, o, begin));
}

Tensors rows_of(const Call& call, const Tensors& inputs, std::int64_t first, std::int64_t end) {
  Tensors part;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Shape shape = inputs[i].shape();
    const int axis = call.batched[i] ? call.axis : 0;
    if (call.batched[i]) shape[axis] = end - first;
    part.push_back(array_of_zeros(shape, inputs[i].dtype()));
    if (shape.rank() == 0)
      part.back().copy_from(inputs[i].data(), inputs[i].dtype());
    else if (call.batched[i])
      copy_rows(part.back(), 0, inputs[i], first, end - first, axis);
    else
      copy_rows(part.back(), 0, inputs[i], 0, shape[axis], axis);
  }
  return part;
}

Tensors run(const Call& call, const Tensors& inputs, std::int64_t first) {
  random::seed(3);
  if (!call.gradients && !call.train) return call.function(inputs);
  const auto has_gradient = [&](std::size_t i) {
    return call.gradients && call.batched[i] && is_floating(inputs[i].dtype());
  };
  Tensors x = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (has_gradient(i)) x[i].attach_grad();
  Tensors results = autograd::record([&] { return call.function(x); }, call.train), heads, weights;
  if (!call.gradients) return results;
  for (const Tensor& y : results)
    if (is_floating(y.dtype()) && autograd::is_recorded(y)) {
      heads.push_back(y);
      weights.push_back(head_of(y, call.axis, first));
    }
  if (heads.empty()) return results;
  autograd::backward(heads, weights);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (has_gradient(i)) results.push_back(x[i].grad());
  return results;
}

std::vector<std::uint64_t> row_bits(const Tensor& t, int axis, std::int64_t number) {
  Shape shape = t.shape();
  shape[axis] = 1;
  Tensor row = array_of_zeros(shape, t.dtype());
  copy_rows(row, 0, t, number, 1, axis);
  return bits_of(row);
}

Alone rows_alone(const Call& call, const Tensors& inputs, std::int64_t rows) {
  Alone alone;
  for (std::int64_t r = 0; r < rows; ++r) {
    const Tensors results = run(call, rows_of(call, inputs, r, r + 1), r);
    alone.resize(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) alone[i].push_back(bits_of(results[i]));
  }
  return alone;
}

std::optional<std::string> difference(const Call& call, const Tensors& inputs, std::int64_t size,
                                      const Alone& alone) {
  const Tensors results = run(call, rows_of(call, inputs, 0, size), 0);
  if (results.size() != alone.size()) return fmt::format("{} rows: {} results", size, results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Shape shape = results[i].shape();
    if (shape.rank() <= call.axis || shape[call.axis] != size)
      return fmt::format("{} rows: result {} is {}", size, i, shape.str());
    const Extents e(shape, call.axis);
    const std::vector<std::uint64_t> bits = bits_of(results[i]);
    for (std::int64_t o = 0; o < e.outer; ++o)
      for (std::int64_t r = 0; r < size; ++r)
        for (std::int64_t n = 0; n < e.inner; ++n) {
          const auto& row = alone[i][static_cast<std::size_t>(r)];
          if (row.size() != static_cast<std::size_t>(e.outer * e.inner))
            return fmt::format("result {} of a row alone has {} elements", i, row.size());
          if (bits[static_cast<std::size_t>((o * e.rows + r) * e.inner + n)] !=
              row[static_cast<std::size_t>(o * e.inner + n)])
            return fmt::format("{} rows: result {} of row {} differs at element {}", size, i, r,
                               o * e.inner + n);
        }
  }
  return {};
}

}  // namespace batch_invariance
