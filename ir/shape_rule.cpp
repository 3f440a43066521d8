// Propagates facts about partial shapes.
#include "ir/shape_rule.h"

#include "runtime/messages.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kiln::ir {
namespace {

bool known(std::int64_t extent) { return extent >= 0; }

/// The union of the known extents; nothing if they contradict each other.
std::optional<PartialShape> meet(const PartialShape& a, const PartialShape& b) {
  if (!a.ranked) return b;
  if (!b.ranked) return a;
  if (a.extents.rank() != b.extents.rank()) return {};
  PartialShape out = a;
  for (std::size_t i = 0; i < out.extents.size(); ++i) {
    if (!known(out.extents[i])) out.extents[i] = b.extents[i];
    if (known(b.extents[i]) && out.extents[i] != b.extents[i]) return {};
  }
  return out;
}

/// The product of the known extents, the number of unknown ones and the last of these.
struct Product {
  explicit Product(const std::vector<Axis>& axes) {
    for (const Axis& a : axes) {
      if (const std::int64_t extent = a.get(); known(extent)) {
        if (__builtin_mul_overflow(product, extent, &product))
          fail("the extents multiply to more than 64 bits hold");
      } else {
        ++unknowns;
        hole = &a;
      }
    }
  }
  std::int64_t product = 1;
  int unknowns = 0;
  const Axis* hole = nullptr;
};

}  // namespace

bool PartialShape::complete() const { return ranked && std::all_of(extents.begin(), extents.end(), known); }

bool PartialShape::fits(const Shape& shape) const { return meet(*this, shape).has_value(); }

std::string PartialShape::str() const {
  if (!ranked) return "unknown";
  std::string text;
  for (const std::int64_t d : extents)
    text += (text.empty() ? "" : ", ") + (known(d) ? std::to_string(d) : std::string("?"));
  return "(" + text + (extents.rank() == 1 ? ",)" : ")");
}

std::int64_t* Axis::find() const {
  const int rank = shape.extents.rank(), i = index < 0 ? index + rank : index;
  return shape.ranked && i >= 0 && i < rank ? &shape.extents[static_cast<std::size_t>(i)] : nullptr;
}
std::int64_t Axis::get() const {
  const std::int64_t* extent = find();
  return extent && known(*extent) ? *extent : PartialShape::unknown;
}

ShapeFacts::ShapeFacts(const Layout& layout, std::vector<PartialShape> shapes,
                       std::span<const std::string_view> input_names, bool np, bool may_choose)
    : np_shape(np), shapes_(std::move(shapes)), input_names_(input_names), may_choose_(may_choose) {
  std::size_t at = 0;
  const auto take = [&](std::size_t n) {
    at += n;
    return std::span(shapes_).subspan(at - n, n);
  };
  in = take(layout.inputs);
  out = take(layout.outputs);
  for (const std::size_t n : layout.parts) parts.push_back(take(n));
  for (const auto& [variables, outputs] : layout.bodies) {
    const std::span<PartialShape> first = take(variables);
    bodies.push_back({first, take(outputs)});
  }
}

std::string ShapeFacts::label(const PartialShape& x) const {
  const auto number = [&](std::span<const PartialShape> group) {
    return static_cast<std::size_t>(&x - group.data());
  };
  const auto within = [&](std::span<const PartialShape> group) {
    return !group.empty() && &x >= group.data() && &x < group.data() + group.size();
  };
  if (within(in))
    return number(in) < input_names_.size() ? fmt::format("its input '{}'", input_names_[number(in)])
                                            : fmt::format("its input {}", number(in));
  if (within(out)) return out.size() == 1 ? "its output" : fmt::format("its output {}", number(out));
  for (const auto& group : parts)
    if (within(group)) return fmt::format("part {} of its parameters", number(group));
  for (const Body& body : bodies) {
    if (within(body.variables)) return fmt::format("variable {} of its subgraph", number(body.variables));
    if (within(body.outputs)) return fmt::format("output {} of its subgraph", number(body.outputs));
  }
  return "a shape";
}

void ShapeFacts::set(PartialShape& x, const PartialShape& to) {
  if (x == to) return;
  x = to;
  changed_ = true;
}
void ShapeFacts::set(Axis a, std::int64_t extent) {
  std::int64_t* const at = a.find();
  if (!at || known(*at) || !known(extent)) return;
  *at = extent;
  changed_ = true;
}
bool ShapeFacts::take_changed() { return std::exchange(changed_, false); }

void ShapeFacts::is(PartialShape& x, const PartialShape& expected) {
  const auto both = meet(x, expected);
  if (!both) {
    const Shape& extents = expected.extents;
    const bool rank_alone = std::none_of(extents.begin(), extents.end(), [](auto d) { return known(d); });
    if (rank_alone)
      fail(Mistake::wrong_rank, "{} has the shape {}, but it must have {} axes", label(x), x.str(),
           extents.rank());
    fail("{} has the shape {}, but it must be {}", label(x), x.str(), expected.str());
  }
  set(x, *both);
}
void ShapeFacts::same(PartialShape& a, PartialShape& b) {
  const auto both = meet(a, b);
  if (!both)
    fail("{} has the shape {} and {} has {}, which must be equal", label(a), a.str(), label(b), b.str());
  set(a, *both);
  set(b, *both);
}
void ShapeFacts::ranks(PartialShape& a, PartialShape& b, int more) {
  const auto fits = [](int rank) { return rank >= 0 && rank <= Shape::max_rank; };
  if (a.ranked && fits(a.extents.rank() + more)) rank(b, a.extents.rank() + more);
  if (b.ranked && fits(b.extents.rank() - more)) rank(a, b.extents.rank() - more);
}

void ShapeFacts::is(Axis a, std::int64_t extent) {
  if (const std::int64_t now = a.get(); known(now) && known(extent) && now != extent)
    fail("axis {} of {} of the shape {} must be {}", a.index, label(a.shape), a.shape.str(), extent);
  set(a, extent);
}
void ShapeFacts::linear(Axis a, Axis b, std::int64_t factor, std::int64_t offset) {
  const std::int64_t x = a.get(), y = b.get();
  std::int64_t from_x = PartialShape::unknown, from_y = PartialShape::unknown;
  bool holds = true;
  if (known(x))
    holds = !__builtin_mul_overflow(x, factor, &from_x) && !__builtin_add_overflow(from_x, offset, &from_x) &&
            known(from_x) && (!known(y) || from_x == y);
  if (holds && !known(x) && known(y) && factor > 0) {
    holds = y >= offset && (y - offset) % factor == 0;
    from_y = (y - offset) / factor;
  }
  if (!holds)
    fail("axis {} of {} of the shape {} does not fit axis {} of {} of the shape {}", a.index, label(a.shape),
         a.shape.str(), b.index, label(b.shape), b.shape.str());
  set(b, from_x);
  set(a, from_y);
}
void ShapeFacts::sum(const std::vector<Axis>& parts_of, Axis total) {
  std::int64_t known_sum = 0;
  const Axis* hole = nullptr;
  for (const Axis& a : parts_of) {
    if (known(a.get())) {
      if (__builtin_add_overflow(known_sum, a.get(), &known_sum))
        fail("the parts add up to more than 64 bits hold");
    } else if (std::exchange(hole, &a)) {
      return;
    }
  }
  if (!hole) return is(total, known_sum);
  if (!known(total.get())) return;
  if (total.get() < known_sum)
    fail("axis {} of {} of the shape {} is shorter than its parts, which have {} together", total.index,
         label(total.shape), total.shape.str(), known_sum);
  set(*hole, total.get() - known_sum);
}
void ShapeFacts::same_product(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  const Product x(a), y(b);
  const auto fill = [&](const Product& whole, const Product& open) {
    if (whole.unknowns != 0 || open.unknowns != 1 || open.product == 0) return;
    if (whole.product % open.product != 0)
      fail("{} elements do not divide by the {} of {} of the shape {}", whole.product, open.product,
           label(open.hole->shape), open.hole->shape.str());
    set(*open.hole, whole.product / open.product);
  };
  fill(x, y);
  fill(y, x);
  const auto axes = [&](const std::vector<Axis>& list) {
    return list.empty() ? std::string("nothing")
                        : fmt::format("{} of the shape {}", label(list[0].shape), list[0].shape.str());
  };
  if (x.unknowns == 0 && y.unknowns == 0 && x.product != y.product)
    fail("{} elements of {} do not make {} of {}", x.product, axes(a), y.product, axes(b));
}

void ShapeFacts::otherwise(PartialShape& x, const PartialShape& choice) {
  if (may_choose_ && !x.ranked && choice.complete()) set(x, choice);
}

void ShapeFacts::feeds(std::size_t input, std::size_t body, std::size_t variable, bool row) {
  const Feed feed{input, body, variable};
  if (std::find(feeds_.begin(), feeds_.end(), feed) == feeds_.end()) feeds_.push_back(feed);
  PartialShape &from = in[input], &to = bodies[body].variables[variable];
  if (!row) return same(from, to);
  if (from.ranked && from.extents.empty()) return;  // the composition reports a scanned input of rank 0
  // A slice of a vector has one element: rank 1, in numpy mode rank 0.
  const bool vector = from.ranked && from.extents.rank() == 1;
  if (vector) return is(to, np_shape ? Shape{} : Shape{1});
  if (from.ranked || (to.ranked && to.extents.rank() > 1)) ranks(to, from, 1);
  for (int i = 0; i < to.extents.rank() && from.ranked; ++i) same({to, i}, {from, i + 1});
}

}  // namespace kiln::ir
