// Helpers of the families of MXNet's numpy mode.
#include "frontend/ops/numpy.h"

#include <algorithm>

namespace kiln::ops {

OpDef renamed(std::span<const OpDef> family, std::string_view classic, std::string_view name,
              std::vector<std::string_view> inputs, std::vector<std::string_view> aliases,
              const OpReference& own) {
  const auto found =
      std::find_if(family.begin(), family.end(), [&](const OpDef& op) { return op.name == classic; });
  if (found == family.end()) fail_internal("{} is an alias of {}, which is no operator", name, classic);
  OpDef op = *found;
  op.name = name;
  op.inputs = std::move(inputs);
  op.aliases = std::move(aliases);
  op.reference = op.reference | own;
  return op;
}

Shape numpy_axes(const Attrs& a, int rank) {
  if (a.is_none("axis")) return other_axes({}, rank);
  const Shape& axes = a.tuple("axis");
  if (rank == 0 && (axes == Shape{0} || axes == Shape{-1})) return {};
  return axes_of(axes, rank);
}

Value contract(Primitives& p, Value a, const Shape& a_axes, Value b, const Shape& b_axes) {
  require_one_dtype(p, a, b, "the product");
  const Shape l = p.shape(a), r = p.shape(b);
  if (a_axes.size() != b_axes.size())
    fail("{} axes of {} cannot be paired with {} axes of {}", a_axes.size(), l.str(), b_axes.size(), r.str());
  Shape left, right;  // the paired axes, counted from the front
  std::int64_t k = 1;
  for (std::size_t i = 0; i < a_axes.size(); ++i) {
    left.push_back(axis_of(a_axes[i], l.rank()));
    right.push_back(axis_of(b_axes[i], r.rank()));
    const std::int64_t extent = l[static_cast<std::size_t>(left[i])];
    if (extent != r[static_cast<std::size_t>(right[i])])
      fail("axis {} of {} and axis {} of {} differ", left[i], l.str(), right[i], r.str());
    k = times(k, extent);
  }
  const Shape left_free = other_axes(axes_of(left, l.rank()), l.rank()),
              right_free = other_axes(axes_of(right, r.rank()), r.rank());
  Shape a_order = left_free, b_order = right, to;
  for (std::int64_t axis : left) a_order.push_back(axis);
  for (std::int64_t axis : right_free) b_order.push_back(axis);
  std::int64_t m = 1, n = 1;
  for (std::int64_t axis : left_free) {
    to.push_back(l[static_cast<std::size_t>(axis)]);
    m = times(m, to.back());
  }
  for (std::int64_t axis : right_free) {
    to.push_back(r[static_cast<std::size_t>(axis)]);
    n = times(n, to.back());
  }
  // Half precision is computed in float32 and rounded once.
  const DType d = p.dtype(a);
  Value x = p.reshape(p.transpose(widen_factor(p, a), a_order), {m, k});
  Value y = p.reshape(p.transpose(widen_factor(p, b), b_order), {k, n});
  return p.reshape(convert(p, p.dot(x, y, {}), d), to);
}

}  // namespace kiln::ops
