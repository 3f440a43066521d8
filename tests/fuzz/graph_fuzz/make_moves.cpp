// Operators that move, repeat and cut elements, and writes into parts of arrays.
#include "families.h"

#include <algorithm>
#include <fmt/format.h>

namespace graphs {

using namespace kiln;

namespace {

/// A value and one of its axes.
struct Drawn {
  Made x;
  Shape shape;
  std::size_t rank, axis;
  std::int64_t extent;
  std::string axis_text;
};

Drawn draw(Maker& m) {
  const Made x = m.some_array();
  const std::size_t axis = m.pick(x.shape().size());
  return {x, x.shape(), x.shape().size(), axis, x.shape()[axis], number(axis)};
}

std::size_t below(Maker& m, std::int64_t n) { return m.pick(static_cast<std::size_t>(n)); }

MadeList transposed(Maker& m, const Drawn& d) {
  if (d.rank > 1 && m.chance(3)) {
    const std::size_t other = m.pick(d.rank);
    return m.node("SwapAxis", {d.x}, {{"dim1", d.axis_text}, {"dim2", number(other)}});
  }
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < d.rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  std::shuffle(order.begin(), order.end(), m.random());
  return m.node("transpose", {d.x}, {{"axes", tuple(order)}});
}

MadeList divided(Maker& m, const Drawn& d) {
  for (const std::int64_t part : {2, 3, 5, 7})
    if (d.extent % part == 0 && d.extent > part && d.rank < 6) {
      Shape to;
      for (std::size_t i = 0; i < d.rank; ++i) {
        if (i == d.axis) to.push_back(part);
        to.push_back(i == d.axis ? d.extent / part : d.shape[i]);
      }
      return m.node("Reshape", {d.x}, {{"shape", to.str()}});
    }
  return m.node("expand_dims", {d.x}, {{"axis", d.axis_text}});
}

MadeList flattened(Maker& m, const Drawn& d) {
  const bool whole = d.rank < 3 || m.chance(2);
  return m.node("Reshape", {d.x}, {{"shape", whole ? "(-1,)" : "(-3, -2)"}});
}

MadeList cut(Maker& m, const Drawn& d) {
  if (d.extent < 2) throw Error("nothing to cut");
  const std::size_t begin = below(m, d.extent - 1),
                    length = 1 + below(m, d.extent - static_cast<std::int64_t>(begin));
  return m.node("slice_axis", {d.x},
                {{"axis", d.axis_text}, {"begin", number(begin)}, {"end", number(begin + length)}});
}

MadeList split(Maker& m, const Drawn& d) {
  for (const std::int64_t parts : {2, 3, 5})
    if (d.extent % parts == 0 && d.extent > 0)
      return m.node("SliceChannel", {d.x},
                    {{"axis", d.axis_text},
                     {"num_outputs", fmt::format("{}", parts)},
                     {"squeeze_axis", d.extent == parts && m.chance(2) ? "True" : "False"}});
  throw Error("does not divide");
}

/// Elements at a step, forwards or backwards.
MadeList stepped(Maker& m, const Drawn& d) {
  if (d.extent < 2) throw Error("nothing to cut");
  const std::size_t step = 2 + m.pick(4);
  std::string begin, end, steps;
  for (std::size_t i = 0; i < d.rank; ++i) {
    const bool here = i == d.axis, back = !here && m.chance(6);
    const std::size_t first = here ? m.pick(std::min(step, static_cast<std::size_t>(d.extent))) : 0;
    begin += (here ? number(first) : "None") + ", ";
    end += "None, ";
    steps += here ? number(step) + ", " : back ? "-1, " : "1, ";
  }
  return m.node("slice", {d.x},
                {{"begin", "(" + begin + ")"}, {"end", "(" + end + ")"}, {"step", "(" + steps + ")"}});
}

MadeList repeated(Maker& m, const Drawn& d) {
  const std::size_t times = 2 + m.pick(3);
  if (m.chance(2)) return m.node("repeat", {d.x}, {{"axis", d.axis_text}, {"repeats", number(times)}});
  // An axis of 1, there already or new.
  const Made x = d.extent == 1 ? d.x : m.one("expand_dims", {d.x}, {{"axis", d.axis_text}});
  return m.node("broadcast_axis", {x}, {{"axis", d.axis_text}, {"size", number(m.chance(4) ? 1 : times)}});
}

/// The result of a write through a view.
MadeList written(Maker& m, const Drawn& d) {
  std::vector<std::int64_t> begin, end;
  Shape part = d.shape;
  if (d.x.value.size() == 0) throw Error("nothing to write");
  for (std::size_t i = 0; i < d.rank; ++i) {
    begin.push_back(static_cast<std::int64_t>(below(m, d.shape[i])));
    end.push_back(begin[i] + 1 + static_cast<std::int64_t>(below(m, d.shape[i] - begin[i])));
    part[i] = end[i] - begin[i];
  }
  Attributes attrs{{"begin", tuple(begin)}, {"end", tuple(end)}};
  if (m.chance(4)) {
    attrs["scalar"] = m.one_of({"0", "2.5", "-1"});
    return m.node("_slice_assign_scalar", {d.x}, attrs);
  }
  Made value = m.array(part, d.x.dtype());
  if (m.chance(2)) value = m.adapted(pointwise_of(m, value), part, d.x.dtype());
  return m.node("_slice_assign", {d.x, value}, attrs);
}

/// x, or what a kernel computes of it for one user.
Made computed(Maker& m, const Made& x) {
  return m.chance(4) ? x : m.adapted(pointwise_of(m, x), x.shape(), x.dtype());
}

MadeList joined(Maker& m) {
  const Drawn d = draw(m);
  MadeList parts{computed(m, d.x)};
  const bool stacked = m.chance(4);
  for (std::size_t more = 1 + m.pick(3); more > 0; --more) {
    Shape other = d.shape;
    if (!stacked && m.chance(2)) other[d.axis] = m.chance(2) ? 1 : std::max<std::int64_t>(d.extent - 1, 1);
    parts.push_back(computed(m, m.array(other, d.x.dtype())));
  }
  std::shuffle(parts.begin(), parts.end(), m.random());
  return m.node(stacked ? "stack" : "Concat", parts,
                {{"num_args", number(parts.size())}, {stacked ? "axis" : "dim", d.axis_text}});
}

/// A border around the last axes of four or five.
MadeList bordered(Maker& m) {
  const Drawn d = draw(m);
  if (d.rank > 5 || d.x.value.size() == 0) throw Error("no picture");
  Shape picture = Shape::filled(std::max(0, 4 - d.shape.rank()), 1);
  for (const std::int64_t extent : d.shape) picture.push_back(extent);
  const Made x = computed(m, m.adapted(d.x, picture, d.x.dtype()));
  const std::string mode = m.chance(4) ? m.one_of({"edge", "reflect"}) : "constant";
  std::vector<std::int64_t> widths(4, 0);
  for (int side = 2 * picture.rank() - 4; side > 0; --side)
    widths.push_back(static_cast<std::int64_t>(m.pick(3)));
  return m.node("Pad", {x},
                {{"mode", mode},
                 {"pad_width", tuple(widths)},
                 {"constant_value", m.one_of({"0", "1.5", "-0.0", "-2"})}});
}

}  // namespace

MadeList moved(Maker& m) {
  const Drawn d = draw(m);
  switch (m.pick(10)) {
    case 0:
    case 1:
      return transposed(m, d);
    case 2:
      return flattened(m, d);
    case 3:
      return divided(m, d);
    case 4:
      return m.node("reverse", {d.x}, {{"axis", d.axis_text}});
    case 5:
      return cut(m, d);
    case 6:
      return split(m, d);
    case 7:
      return repeated(m, d);
    case 8:
      return stepped(m, d);
    default:
      return written(m, d);
  }
}

MadeList gathered(Maker& m) { return m.chance(3) ? bordered(m) : joined(m); }

}  // namespace graphs
