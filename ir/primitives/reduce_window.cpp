// Sums and maxima over sliding windows.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"
#include "ir/window_shapes.h"

#include <limits>

namespace kiln::ir {
namespace {

/// The gradient of a sum: each element's sum of g over the windows that hold it.
Value of_sum(Primitives& p, const Window& w, Value x, Value g) {
  const Shape data = p.shape(x);
  const int spatial = w.kernel.rank();
  Value image = spread(p, g, w.stride);
  Shape low, high;
  for (int i = 0; i < spatial; ++i) {
    const std::int64_t reach = reach_of(w, i);
    low.push_back(reach - w.pad_low[at(i)]);
    high.push_back(data[at(i + 2)] + reach - p.shape(image)[at(i + 2)] - low.back());
  }
  image = resized(p, image, 0, low, high);
  return p.reduce_window(Reduce::sum, image,
                         {w.kernel, ones(spatial), w.dilate, zeros(spatial), zeros(spatial)});
}

/// x padded and cut to the elements that windows reach, so that all windows are complete.
Value covered(Primitives& p, const Window& w, Value x, const Shape& places) {
  Shape high;
  for (int i = 0; i < w.kernel.rank(); ++i) high.push_back(beyond_end(w, p.shape(x), places, i));
  return resized(p, x, -std::numeric_limits<double>::infinity(), w.pad_low, high);
}
/// The gradient of x, given the gradient of the covered x or of a larger array that begins with it.
Value uncovered(Primitives& p, const Window& w, Value x, Value dx) {
  Shape low, high;
  for (int i = 0; i < w.kernel.rank(); ++i) {
    low.push_back(-w.pad_low[at(i)]);
    high.push_back(p.shape(x)[at(i + 2)] + w.pad_low[at(i)] - p.shape(dx)[at(i + 2)]);
  }
  return resized(p, dx, 0, low, high);
}

/// The positions of elements of `covered` in the windows, per spatial axis: element s * q + r, with 0 <= r <
/// s, is tap r + s * j of window q - j for j in [0, reached). Windows without dilation.
struct Phases {
  Shape stride;   ///< s
  Shape count;    ///< of q
  Shape reached;  ///< number of windows that may hold one element
  Shape rounded;  ///< extents of a window, rounded up to whole strides

  Phases(const Window& w, const Shape& places) {
    for (int i = 0; i < w.kernel.rank(); ++i) {
      const std::int64_t place = places[at(i + 2)], kernel = w.kernel[at(i)];
      // The stride of a single window means nothing; this one lets it hold each element once.
      stride.push_back(place > 1 ? w.stride[at(i)] : kernel);
      reached.push_back((kernel + stride.back() - 1) / stride.back());
      count.push_back(place - 1 + reached.back());
      rounded.push_back(times(stride.back(), reached.back()));
    }
  }
};

/// The position of a tap in C order of windows whose extents are rounded up to whole strides. A tap beyond
/// the window thus has a number that no tap of the window has.
std::int64_t number_of(const Phases& phases, const Shape& tap) {
  std::int64_t number = 0;
  for (int i = 0; i < tap.rank(); ++i) number = number * phases.rounded[at(i)] + tap[at(i)];
  return number;
}

/// The number of the first tap of each window that is its maximum; 255 for a window of NaN.
Value first_maxima(Primitives& p, const Window& w, const Phases& phases, Value x, Value y) {
  const Shape places = p.shape(y);
  Shape step = ones(places.rank());
  std::vector<std::pair<Value, std::int64_t>> hits;
  for (int i = 0; i < w.kernel.rank(); ++i) step[at(i + 2)] = w.stride[at(i)];
  for_each_index(w.kernel, [&](const Shape& tap) {
    Shape start = zeros(places.rank()), limit = places;
    for (int i = 0; i < tap.rank(); ++i) {
      start[at(i + 2)] = tap[at(i)];
      limit[at(i + 2)] = start[at(i + 2)] + w.stride[at(i)] * (places[at(i + 2)] - 1) + 1;
    }
    hits.emplace_back(p.compare(Compare::eq, p.slice(x, start, limit, step), y), number_of(phases, tap));
  });
  const TensorType type{DType::u8, places};
  Value first = p.full_integer(type, 255);
  for (auto hit = hits.rbegin(); hit != hits.rend(); ++hit)
    first = p.select(hit->first, p.full_integer(type, hit->second), first);
  return first;
}

/// Each element adds up the windows that hold it, which is one pass over the image.
Value of_max_by_elements(Primitives& p, const Window& w, Value x, Value y, Value g) {
  const Phases phases(w, p.shape(g));
  const Shape places = p.shape(g);
  const int spatial = w.kernel.rank();
  // Elements as (n, c, q0, r0, q1, r1, ...).
  Shape split{places[0], places[1]}, windows{places[0], places[1]}, joined = windows, axes{0, 1}, phase_axes;
  Shape low = zeros(spatial), high = zeros(spatial);
  for (int i = 0; i < spatial; ++i) {
    axes.push_back(split.rank());
    phase_axes.push_back(split.rank() + 1);
    split.push_back(phases.count[at(i)]);
    split.push_back(phases.stride[at(i)]);
    windows.push_back(phases.count[at(i)]);
    joined.push_back(phases.count[at(i)] * phases.stride[at(i)]);
    low[at(i)] = phases.reached[at(i)] - 1;
    high[at(i)] = phases.reached[at(i)] - 1;
  }
  // Windows beyond the border have no maximum.
  const Value first = resized(p, first_maxima(p, w, phases, x, y), 255, low, high);
  const Value wide = resized(p, g, 0, low, high);
  const auto at_elements = [&](Value v, const Shape& j) {
    Shape start = zeros(windows.rank()), limit = windows;
    for (int i = 0; i < spatial; ++i) {
      start[at(i + 2)] = low[at(i)] - j[at(i)];
      limit[at(i + 2)] += start[at(i + 2)];
    }
    return p.broadcast(p.slice(v, start, limit, ones(windows.rank())), split, axes);
  };
  // The tap numbers of the first window that holds an element.
  const TensorType number{DType::u8, phases.stride};
  Value phase = p.full_integer(number, 0);
  std::int64_t weight = 1;
  for (int i = spatial - 1; i >= 0; --i) {
    phase = p.add(phase, p.mul(p.iota(number, i), p.full_integer(number, weight)));
    weight *= phases.rounded[at(i)];
  }
  Value dx;
  for_each_index(phases.reached, [&](const Shape& j) {
    Shape tap;
    for (int i = 0; i < spatial; ++i) tap.push_back(times(phases.stride[at(i)], j[at(i)]));
    const Value here =
        p.broadcast(p.add(phase, p.full_integer(number, number_of(phases, tap))), split, phase_axes);
    const Value part = p.select(p.compare(Compare::eq, at_elements(first, j), here), at_elements(wide, j),
                                p.full({p.dtype(g), split}, 0));
    dx = dx.valid() ? p.add(dx, part) : part;
  });
  return p.reshape(dx, joined);
}

/// Whether of_max_by_elements() can number the taps, and adds few windows.
bool suits_elements(const Window& w, const Shape& places) {
  constexpr std::int64_t max_taps = 64, max_windows = 16;
  for (std::int64_t d : w.dilate)
    if (d != 1) return false;
  if (w.kernel.elements() > max_taps) return false;
  const Phases phases(w, places);
  return phases.reached.elements() <= max_windows && phases.rounded.elements() < 255;
}

/// Materialises the windows as an array: for windows of many taps.
Value of_max_by_windows(Primitives& p, const Window& w, Value x, Value y, Value g) {
  const Shape places = p.shape(g), whole = p.shape(x);
  const int spatial = w.kernel.rank();
  const std::int64_t images = whole[0] * whole[1];
  std::int64_t plane = 1, count = 1;
  const std::int64_t taps = w.kernel.elements();
  Shape table;
  for (int i = 0; i < spatial; ++i) {
    plane *= whole[at(i + 2)];
    count *= places[at(i + 2)];
    table.push_back(places[at(i + 2)]);
  }
  for (std::int64_t k : w.kernel) table.push_back(k);
  // Where each tap of each window lies in its image.
  const TensorType index{DType::i64, table};
  Value place = p.full_integer(index, 0);
  std::int64_t line = plane;
  for (int i = 0; i < spatial; ++i) {
    line /= whole[at(i + 2)];
    place = p.add(place, p.mul(p.iota(index, i), p.full_integer(index, line * w.stride[at(i)])));
    place = p.add(place, p.mul(p.iota(index, spatial + i), p.full_integer(index, line * w.dilate[at(i)])));
  }
  const Value flat = p.reshape(place, {count * taps});
  const Shape windows{images, count, taps};
  const Value values = p.reshape(p.gather(p.reshape(x, {images, plane}), flat, 1), windows);
  const auto along_windows = [&](Value v) {
    return p.broadcast(p.reshape(v, {images, count}), windows, {0, 1});
  };
  const TensorType number{DType::i64, windows};
  const Value many = p.full_integer(number, std::numeric_limits<std::int64_t>::max());
  // Places ascend with the taps, so the least place is the first maximum's.
  const Value places_of_taps = p.broadcast(p.reshape(place, {count, taps}), windows, {1, 2});
  const Value hit = p.compare(Compare::eq, values, along_windows(y));
  const Value first = p.reduce(Reduce::min, p.select(hit, places_of_taps, many), {2});
  // A window without a maximum (of NaN) gives an index out of range, which scatter drops.
  const TensorType rows{DType::i64, {images, count}};
  const Value inside = p.compare(Compare::lt, first, p.full_integer(rows, plane));
  const Value in_all = p.select(inside, p.add(p.mul(p.iota(rows, 0), p.full_integer(rows, plane)), first),
                                p.full_integer(rows, -1));
  const Value zeros_of_all = p.full({p.dtype(g), {images * plane}}, 0);
  const Value dx = p.scatter(Scatter::add, zeros_of_all, p.reshape(in_all, {images * count}),
                             p.reshape(g, {images * count}), 0);
  return p.reshape(dx, whole);
}

struct ReduceWindowPrimitive {
  Reduce op;
  Window window;

  ResultType type(const TensorType& x) const {
    if (auto mismatch = check_window(window, x)) return *mismatch;
    return slid(x, x.shape[1], window);
  }
  /// If a window has several equal maxima, the first one, in C order, has the derivative 1.
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    const Value x = t.operands[0];
    if (p.type(x).elements() == 0 || p.type(g).elements() == 0) return {p.like(x, 0)};
    if (op == Reduce::sum) return {of_sum(p, window, x, g)};
    const Value complete = covered(p, window, x, p.shape(g)), y = t.results[0];
    return {uncovered(p, window, x,
                      suits_elements(window, p.shape(g)) ? of_max_by_elements(p, window, complete, y, g)
                                                         : of_max_by_windows(p, window, complete, y, g))};
  }
  void emit(Emission& e) const {
    e.make<ReduceWindowOp>(op, e.in(0), e.list(window.kernel), e.list(window.stride), e.list(window.dilate),
                           e.list(window.pad_low), e.list(window.pad_high));
  }
};

}  // namespace

Value Primitives::reduce_window(Reduce op, Value x, const Window& window) {
  const ReduceWindowPrimitive reduce{op, window};
  return record(reduce, {{x}}, reduce.type(type(x)));
}

mlir::LogicalResult ReduceWindowOp::verify() {
  if (getKind() == Reduce::sum_squares) return emitOpError("adds no squares");
  return verify_type(*this, [&] {
    return ReduceWindowPrimitive{getKind(), window_of(*this)}.type(type_of(getX()));
  });
}

}  // namespace kiln::ir
