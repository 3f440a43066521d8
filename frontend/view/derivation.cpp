// The derivation of a view.

#include "frontend/view/derivation.h"

#include "frontend/call/call_context.h"
#include "frontend/call/trace.h"

#include <algorithm>
#include <mutex>

namespace kiln {

using detail::Array;
using detail::TensorAccess;
using detail::ViewStep;

namespace {

/// Locked for a concrete array, whose views several threads may record at once.
std::unique_lock<Mutex> lock_origins(const Array& array) {
  return array.traced() ? std::unique_lock<Mutex>() : std::unique_lock(detail::history_mutex(array));
}

// If a view has several derivations, the first is kept: thus a base is never derived from its own views.
void note_origin(const Tensor& base, std::int64_t offset, const Shape& shape, const ViewStep& step) {
  Array& array = *TensorAccess::array(base);
  const std::int64_t base_offset = TensorAccess::offset(base);
  const Shape& base_shape = TensorAccess::shape(base);
  const std::uint32_t alias = TensorAccess::alias(base);
  const std::uint64_t call = detail::ViewScope::call();
  if ((offset == base_offset && shape == base_shape) || (alias == 0 && offset == 0 && shape == array.shape))
    return;
  const auto lock = lock_origins(array);
  std::erase_if(array.origins, [](const Array::Origin& o) { return detail::ViewScope::has_ended(o.call); });
  for (const Array::Origin& o : array.origins)
    if (o.alias == alias && o.call == call &&
        ((o.offset == offset && o.shape == shape) || (o.base_offset == offset && o.base_shape == shape)))
      return;
  array.origins.push_back({offset, shape, base_offset, base_shape, step, alias, call});
}

}  // namespace

// The number of elements per index of the first axis.
std::int64_t row_elements(const Shape& shape) {
  if (shape.empty() || shape[0] == 0) return 0;
  return shape.elements() / shape[0];
}

std::optional<Array::Origin> origin_of(const Tensor& t) {
  const Array& array = *TensorAccess::array(t);
  const auto lock = lock_origins(array);
  for (const Array::Origin& o : array.origins)
    if (o.offset == TensorAccess::offset(t) && o.alias == TensorAccess::alias(t) &&
        o.call == detail::ViewScope::call() && o.shape == TensorAccess::shape(t))
      return o;
  return {};
}

Tensor base_of(const Tensor& view, const Array::Origin& origin) {
  Tensor base = TensorAccess::make(TensorAccess::array(view), origin.base_offset, origin.base_shape,
                                   TensorAccess::dtype(view));
  TensorAccess::set_alias(base, origin.alias);
  return base;
}

bool is_derived(const Tensor& t) { return origin_of(t).has_value(); }

std::vector<Array::Origin> derivation_of(const Tensor& t) {
  std::vector<Array::Origin> steps;
  Tensor at = t;
  while (const auto origin = origin_of(at)) {
    steps.push_back(*origin);
    at = base_of(at, *origin);
  }
  return steps;
}

Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape) {
  Tensor view = TensorAccess::make(TensorAccess::array(t), offset, shape, TensorAccess::dtype(t));
  TensorAccess::set_alias(view, TensorAccess::alias(t));
  return view;
}

Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape, const detail::ViewStep& step) {
  const Array& array = *TensorAccess::array(t);
  // A recording keeps how a view was derived, of an array that it may capture too, and so does the tape.
  const Trace* const trace = Trace::current();
  const bool kept = trace && trace->shapes_known();
  if (array.traced() ? array.shape_known : kept || detail::keeps_derivations())
    note_origin(t, offset, shape, step);
  return view_of(t, offset, shape);
}

}  // namespace kiln
