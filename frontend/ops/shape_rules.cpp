// Shared shape rules.
#include "frontend/ops/shape_rules.h"

#include <algorithm>

namespace kiln::ops {

void elementwise_shape(ShapeFacts& f, const Attrs&) {
  for (PartialShape& x : f.in) f.same(x, f.out[0]);
  for (PartialShape& y : f.out.subspan(1)) f.same(f.out[0], y);
}

void first_shape(ShapeFacts& f, const Attrs&) { f.same(f.in[0], f.out[0]); }

void broadcast_shape(ShapeFacts& f, const Attrs&) {
  PartialShape& out = f.out[0];
  int rank = 0;
  for (const PartialShape& x : f.in) {
    if (!x.ranked) rank = Shape::max_rank + 1;
    rank = std::max(rank, x.extents.rank());
  }
  if (rank <= Shape::max_rank) f.rank(out, rank);
  for (int i = -1; i >= -out.extents.rank(); --i) {
    // An input that may lack the axis, or have extent 1 there, does not determine the common extent.
    std::vector<Axis> open;
    std::int64_t common = Axis{out, i}.get();
    bool all_one = true;
    for (PartialShape& x : f.in) {
      if (x.ranked && -i > x.extents.rank()) continue;
      const std::int64_t extent = Axis{x, i}.get();
      if (extent == unknown) open.push_back({x, i});
      if (extent != 1) all_one = false;
      if (extent != unknown && extent != 1) f.is(Axis{out, i}, common = extent);
    }
    if (all_one) f.is(Axis{out, i}, 1);
    // If all other inputs have extent 1, the only unknown input has the common extent. If the common extent
    // is 1, all inputs have extent 1.
    if (common == 1)
      for (const Axis& axis : open) f.is(axis, 1);
    const bool others_one = std::all_of(f.in.begin(), f.in.end(), [&](PartialShape& x) {
      return (open.size() == 1 && &x == &open[0].shape) || (x.ranked && -i > x.extents.rank()) ||
             Axis{x, i}.get() == 1;
    });
    if (open.size() == 1 && others_one && open[0].shape.ranked) f.same(open[0], Axis{out, i});
  }
}

void channels_shape(ShapeFacts& f, const Attrs& a) {
  first_shape(f, a);
  const std::int64_t axis = a.find("axis") ? a.integer("axis") : 1;
  for (PartialShape& x : f.in.subspan(1)) {
    f.rank(x, 1);
    if (const auto i = axis_in(axis, f.in[0].extents.rank())) f.same(Axis{f.in[0], *i}, Axis{x, 0});
  }
}

void joined_shape(ShapeFacts& f, std::int64_t axis) {
  for (PartialShape& x : f.in) f.ranks(x, f.out[0]);
  const auto at_axis = axis_in(axis, f.out[0].extents.rank());
  if (!f.out[0].ranked || !at_axis) return;
  std::vector<Axis> parts;
  for (PartialShape& x : f.in) {
    for (int i = 0; i < f.out[0].extents.rank(); ++i)
      if (i != *at_axis) f.same(Axis{x, i}, Axis{f.out[0], i});
    parts.push_back({x, *at_axis});
  }
  f.sum(parts, {f.out[0], *at_axis});
}

void stacked_shape(ShapeFacts& f, std::int64_t axis) {
  for (PartialShape& x : f.in) without_axis(f, f.out[0], x, axis);
  if (const auto i = axis_in(axis, f.out[0].extents.rank()); f.out[0].ranked && i)
    f.is(Axis{f.out[0], *i}, static_cast<std::int64_t>(f.in.size()));
}

std::optional<int> axis_in(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return {};
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void permuted(ShapeFacts& f, PartialShape& x, PartialShape& y, const Shape& order) {
  f.rank(x, order.rank());
  f.rank(y, order.rank());
  for (int i = 0; i < order.rank(); ++i)
    if (const auto from = axis_in(order[at(i)], order.rank())) f.same(Axis{x, *from}, Axis{y, i});
}

void without_axis(ShapeFacts& f, PartialShape& x, PartialShape& y, std::int64_t axis) {
  f.ranks(y, x, 1);
  const auto gone = axis_in(axis, x.extents.rank());
  if (!x.ranked || !gone) return;
  for (int i = 0; i < y.extents.rank(); ++i) f.same(Axis{y, i}, Axis{x, i + (i >= *gone)});
}

void reduced(ShapeFacts& f, PartialShape& x, PartialShape& y, const Shape& axes, bool keep,
             bool at_least_1d) {
  const int rank = x.extents.rank(), left = rank - axes.rank();
  if (!keep && left == 0 && at_least_1d) return f.is(y, Shape{1});
  f.rank(y, keep ? rank : left);
  for (int i = 0, j = 0; i < rank; ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (gone && keep) f.is(Axis{y, i}, 1);
    if (!gone) f.same(Axis{x, i}, Axis{y, keep ? i : j++});
  }
}

void one_of(ShapeFacts& f, PartialShape& x, const std::vector<Shape>& choices) {
  if (std::none_of(choices.begin(), choices.end(), [&](const Shape& choice) { return x.fits(choice); }))
    f.is(x, choices.front());  // throws
  f.otherwise(x, choices.front());
}

void squeezed_shape(ShapeFacts& f, const Attrs& a) {
  const int rank = f.in[0].extents.rank();
  if (a.is_none("axis") || !f.in[0].ranked || rank == 0) return;
  const Shape axes = axes_of(a.tuple("axis"), rank);
  for (std::int64_t axis : axes) f.is(Axis{f.in[0], static_cast<int>(axis)}, 1);
  reduced(f, f.in[0], f.out[0], axes, false, !f.np_shape);
}

void window_shape(ShapeFacts& f, Axis x, Axis y, std::int64_t extent, std::int64_t stride, std::int64_t pad,
                  bool full) {
  if (stride == 1) return f.linear(x, y, 1, 2 * pad - extent + 1);
  const std::int64_t room = x.get() + 2 * pad - extent;
  if (x.get() != unknown && room >= 0 && stride > 1) f.is(y, (room + (full ? stride - 1 : 0)) / stride + 1);
}

std::vector<Axis> axes_between(PartialShape& x, int first, int last) {
  std::vector<Axis> axes;
  for (int i = first; i < last; ++i) axes.push_back({x, i});
  return axes;
}

namespace {

PartialShape mirrored(PartialShape x) {
  std::reverse(x.extents.begin(), x.extents.end());
  return x;
}

/// The rank after the steps on `rank` axes; nothing if the steps do not fit.
std::optional<int> reshaped_rank(std::span<const ReshapeStep> steps, int rank) {
  int count = 0, next = 0;
  for (const ReshapeStep& step : steps) {
    const int left = std::max(rank - next, 0);
    count += step.kind == ReshapeStep::rest    ? left
             : step.kind == ReshapeStep::split ? 2
                                               : step.kind != ReshapeStep::drop;
    next += step.kind == ReshapeStep::rest ? left : step.kind == ReshapeStep::merge ? 2 : 1;
  }
  return count <= Shape::max_rank ? std::optional(count) : std::nullopt;
}

void reshaped_forwards(ShapeFacts& f, PartialShape& x, PartialShape& y, std::span<const ReshapeStep> steps) {
  const bool has_rest = std::any_of(steps.begin(), steps.end(),
                                    [](const ReshapeStep& s) { return s.kind == ReshapeStep::rest; });
  if (!x.ranked && has_rest) return;
  const auto rank = reshaped_rank(steps, x.extents.rank());
  if (!rank) return;
  f.rank(y, *rank);
  // Axes of x and y that no step relates. Their products are equal if the array has elements; in numpy mode
  // an unknown extent may be 0.
  std::vector<Axis> x_left, y_left;
  bool has_elements = true;
  const auto tied = [&](Axis axis) {
    if (axis.get() == 0 || (f.np_shape && axis.get() == unknown)) has_elements = false;
  };
  int next = 0, j = 0;
  for (const ReshapeStep& step : steps) {
    if (step.kind == ReshapeStep::rest)
      for (int i = next; i < x.extents.rank(); ++i) tied({x, i});
    else if (step.kind != ReshapeStep::fixed && step.kind != ReshapeStep::hole)
      tied({x, next});
    if (step.kind == ReshapeStep::merge) tied({x, next + 1});
    switch (step.kind) {
      case ReshapeStep::keep:
        f.same(Axis{x, next++}, Axis{y, j++});
        break;
      case ReshapeStep::rest:
        while (next < x.extents.rank()) f.same(Axis{x, next++}, Axis{y, j++});
        break;
      case ReshapeStep::merge:
        f.same_product(axes_between(x, next, next + 2), {{y, j}});
        next += 2, ++j;
        break;
      case ReshapeStep::split:
        f.is(Axis{y, j}, step.first);
        f.is(Axis{y, j + 1}, step.second);
        f.same_product({{x, next}}, axes_between(y, j, j + 2));
        next += 1, j += 2;
        break;
      case ReshapeStep::drop:
        f.is(Axis{x, next++}, 1);
        break;
      case ReshapeStep::fixed:
      case ReshapeStep::hole:
        f.is(Axis{y, j}, step.first);
        if (next < x.extents.rank()) x_left.push_back({x, next});
        y_left.push_back({y, j});
        ++next, ++j;
    }
  }
  if (!x.ranked || !has_elements) return;
  for (; next < x.extents.rank(); ++next) x_left.push_back({x, next});
  f.same_product(x_left, y_left);
}

}  // namespace

void reshaped(ShapeFacts& f, PartialShape& x, PartialShape& y, std::span<const ReshapeStep> steps,
              bool mirror) {
  if (!mirror) return reshaped_forwards(f, x, y, steps);
  PartialShape from = mirrored(x), to = mirrored(y);
  reshaped_forwards(f, from, to, steps);
  f.is(x, mirrored(from));
  f.is(y, mirrored(to));
}

}  // namespace kiln::ops
