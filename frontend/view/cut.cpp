// Cutting a view out of its array, and replacing it there.
#include "frontend/call/numpy_scope.h"
#include "frontend/call/view_recorder.h"
#include "frontend/view/layout_calls.h"
#include "frontend/view/view.h"

namespace kiln {
namespace {

using detail::Array;
using detail::RowRange;
using detail::TensorAccess;

bool covers_rows(std::int64_t row, std::int64_t offset, std::int64_t n) {
  return row > 0 && offset % row == 0 && n % row == 0;
}

Tensor whole(const Tensor& t) {
  const auto& array = TensorAccess::array(t);
  return TensorAccess::make(array, 0, array->shape, TensorAccess::dtype(t));
}

// Records the view as the program derived it from its base.
Tensor cut_out_of_base(const Tensor& t, const Array::Origin& origin, std::source_location where) {
  const Tensor base = base_of(t, origin);
  if (const Shape* codes = std::get_if<Shape>(&origin.step))
    return record_reshape_node(base, *codes, NumpyScope::program(), NumpyScope::active(), where);
  const RowRange& rows = std::get<RowRange>(origin.step);
  const Tensor range = record_slice(base, rows, where);
  if (!rows.drop_axis) return range;
  if (NumpyScope::program()) return record_numpy_squeeze(range, where);
  // Outside of numpy mode squeeze cannot give numpy's rank 0; a reshape can, and its shape does not depend on
  // sizes.
  return TensorAccess::shape(t).empty() ? record_reshape(range, {}, where)
                                        : record_first_axis("squeeze", range, where);
}

}  // namespace

Tensor cut_out(const Tensor& t, std::source_location where) {
  if (const auto origin = origin_of(t)) return cut_out_of_base(t, *origin, where);
  const Array& array = *TensorAccess::array(t);
  const Shape& shape = TensorAccess::shape(t);
  const std::int64_t offset = TensorAccess::offset(t);
  const std::int64_t n = shape.elements();
  Tensor x = whole(t);
  if (n != array.shape.elements()) {
    std::int64_t row = row_elements(array.shape);
    if (!covers_rows(row, offset, n)) {
      x = record_reshape(x, {-1}, where);
      row = 1;
    }
    x = record_slice(x, {offset / row, (offset + n) / row}, where);
  }
  return TensorAccess::shape(x) == shape ? x : record_reshape(x, shape, where);
}

// The array's contents with the elements of `view` replaced by `next`.
Tensor replaced(const Tensor& view, Tensor next, bool recorded, std::source_location where) {
  const Array& array = *TensorAccess::array(view);
  const std::int64_t offset = TensorAccess::offset(view);
  const Shape& shape = TensorAccess::shape(view);
  const std::int64_t n = shape.elements();
  if (offset == 0 && shape == array.shape)
    return TensorAccess::shape(next) == shape ? next : record_reshape(next, shape, where);
  if (const auto origin = origin_of(view)) {
    const Tensor base = base_of(view, *origin);
    if (const RowRange* rows = std::get_if<RowRange>(&origin->step)) {
      if (TensorAccess::shape(next) != shape) next = record_reshape(next, shape, where);
      if (rows->drop_axis)
        next =
            shape.empty() ? record_reshape(next, {1}, where) : record_first_axis("expand_dims", next, where);
      // The rest of the array keeps its history.
      const bool rest = recorded || n != array.shape.elements();
      next = record_slice_assign(rest ? base : recorder_of(base).constant(base, where), next, *rows, where);
    } else {
      // Gives `next` the shape of `base` by an operator that passes the gradient 0 to `base`, which changes
      // the sign of a zero. A write that is not recorded adds no gradient.
      next = record_reshape_like(next, recorded ? base : recorder_of(base).constant(base, where), where);
    }
    return replaced(base, next, recorded, where);
  }
  if (n == array.shape.elements()) return record_reshape(next, array.shape, where);
  const Tensor base = whole(view);
  const std::int64_t row = row_elements(array.shape);
  if (covers_rows(row, offset, n)) {
    Shape rows = array.shape;
    rows[0] = n / row;
    if (TensorAccess::shape(next) != rows) next = record_reshape(next, rows, where);
    return record_slice_assign(base, next, {offset / row, (offset + n) / row}, where);
  }
  if (TensorAccess::shape(next).rank() != 1) next = record_reshape(next, {-1}, where);
  next = record_slice_assign(record_reshape(base, {-1}, where), next, {offset, offset + n}, where);
  return record_reshape(next, array.shape, where);
}

}  // namespace kiln
