// Composes transposed convolutions by phases or by taps.
#include "ir/transposed_convolution.h"

#include "ir/convolution_gradients.h"
#include "ir/window_shapes.h"
#include "runtime/fail.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace kiln::ir {
namespace {

/// Maximum number of phases with a separate convolution each.
constexpr std::int64_t max_phases = 16;

/// Output o is the sum over the taps k for which o + dilate * k - low is a multiple of the stride, stride *
/// i: tap k times element i of g. The taps are the flipped weight's.
struct SpatialAxis {
  std::int64_t taps, stride, dilate, low;
  std::int64_t elements, outputs;
};

/// One output phase of an axis: out[phase + q * stride] = sum_j g[q + shift + dilate * j] * flipped_w[first +
/// step * j].
struct Phase {
  std::int64_t first, step, taps, shift, dilate;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
/// Whether the outputs of each element are contiguous, with no other element's outputs among them.
bool have_one_tap(const std::vector<SpatialAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [](const SpatialAxis& a) { return a.dilate == 1 && a.taps == a.stride; });
}
/// The number of outputs of a phase; of some the last is beyond the end of the axis.
std::int64_t steps_of(const SpatialAxis& a) { return ceil_div(a.outputs, a.stride); }

/// The last element that a phase reads, also where g has none.
std::int64_t last_of(const SpatialAxis& a, const Phase& phase) {
  return phase.shift + steps_of(a) - 1 + phase.dilate * (phase.taps - 1);
}

/// Nothing if no element of g reaches the phase.
std::optional<Phase> phase_of(const SpatialAxis& a, std::int64_t phase) {
  const std::int64_t common = std::gcd(a.dilate, a.stride), step = a.stride / common;
  for (std::int64_t k = 0; k < std::min(step, a.taps); ++k) {
    const std::int64_t distance = phase + a.dilate * k - a.low;
    if (distance % a.stride != 0) continue;
    const Phase found{k, step, ceil_div(a.taps - k, step), distance / a.stride, a.dilate / common};
    if (found.shift >= a.elements || last_of(a, found) < 0) return {};
    return found;
  }
  return {};
}

/// The convolution of x whose windows begin `shift` elements after the beginning of x, or before it where
/// that is negative: `outputs` of them.
Value convolve(Primitives& p, Value x, Value weight, const Shape& dilate, std::int64_t groups,
               const Shape& shift, const Shape& outputs) {
  const int spatial = dilate.rank();
  const Shape kernel(p.shape(weight).dims().subspan(2)), data = p.shape(x);
  ConvSpec spec{.window = {kernel, ones(spatial), dilate, zeros(spatial), zeros(spatial)}, .groups = groups};
  Shape cut_low, cut_high;
  for (int i = 0; i < spatial; ++i) {
    const std::int64_t low = -shift[at(i)];
    const std::int64_t high =
        shift[at(i)] + outputs[at(i)] - 1 + reach_of(spec.window, i) - (data[at(i + 2)] - 1);
    spec.window.pad_low[at(i)] = std::max<std::int64_t>(low, 0);
    spec.window.pad_high[at(i)] = std::max<std::int64_t>(high, 0);
    cut_low.push_back(std::min<std::int64_t>(low, 0));
    cut_high.push_back(std::min<std::int64_t>(high, 0));
  }
  return p.convolution(resized(p, x, 0, cut_low, cut_high), weight, spec);
}

/// (N, F, spatial...) with extents of a multiple of the stride, cut to the first `outputs`.
Value first_outputs(Primitives& p, Value y, const std::vector<SpatialAxis>& axes) {
  Shape cut;
  for (std::size_t i = 0; i < axes.size(); ++i) cut.push_back(axes[i].outputs - p.shape(y)[i + 2]);
  return resized(p, y, 0, zeros(cut.rank()), cut);
}

Shape joined(Shape first, const Shape& second) {
  for (const std::int64_t extent : second) first.push_back(extent);
  return first;
}

/// The phases of all axes, with the elements and taps that their outputs read.
class OutputPhases {
 public:
  explicit OutputPhases(const std::vector<SpatialAxis>& axes) : axes_(axes) {
    for (const SpatialAxis& a : axes) {
      strides_.push_back(a.stride);
      outputs_.push_back(steps_of(a));
      low_.push_back(0);
      high_.push_back(0);
      for (std::int64_t r = 0; r < a.stride; ++r) {
        const auto phase = phase_of(a, r);
        if (!phase) continue;
        low_[low_.rank() - 1] = std::max(low_.back(), -phase->shift);
        high_[high_.rank() - 1] = std::max(high_.back(), last_of(a, *phase) - (a.elements - 1));
      }
    }
  }
  /// Outputs of one phase.
  const Shape& outputs() const { return outputs_; }
  /// Places of an image that is widened.
  std::int64_t places() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < axes_.size(); ++i) n *= low_[i] + axes_[i].elements + high_[i];
    return n;
  }
  /// g with zeros where phases read beyond its ends.
  Value widened(Primitives& p, Value g) const { return resized(p, g, 0, low_, high_); }

  /// (N, F, spatial...): the outputs of each phase are `part`, which gets its phases along the axes, with
  /// shifts into the widened g. Outputs that no element of g reaches are zeros.
  template <class Part>
  Value woven(Primitives& p, TensorType of_one, Part part) const {
    Shape whole = of_one.shape, step = ones(2);
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      whole[i + 2] *= axes_[i].stride;
      step.push_back(axes_[i].stride);
    }
    Value y = p.full({of_one.dtype, whole}, 0);
    for_each_index(strides_, [&](const Shape& index) {
      std::vector<Phase> phases;
      Shape start = zeros(2);
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        auto phase = phase_of(axes_[i], index[i]);
        if (!phase) return;
        phase->shift += low_[i];
        phases.push_back(*phase);
        start.push_back(index[i]);
      }
      y = p.insert(y, part(phases), start, step);
    });
    return first_outputs(p, y, axes_);
  }

 private:
  const std::vector<SpatialAxis>& axes_;
  Shape strides_, outputs_, low_, high_;
};

/// A convolution for each phase.
Value by_phases(Primitives& p, Value g, Value turned, std::int64_t groups,
                const std::vector<SpatialAxis>& axes) {
  const OutputPhases all(axes);
  const Shape weight = p.shape(turned);
  const Value wide = all.widened(p, g);
  const Shape part = joined({p.shape(g)[0], weight[0]}, all.outputs());
  return all.woven(p, {p.dtype(g), part}, [&](const std::vector<Phase>& phases) {
    Shape from = zeros(2), limit(weight.dims().first(2)), each = ones(2), shift, dilate;
    for (const Phase& phase : phases) {
      from.push_back(phase.first);
      limit.push_back(phase.first + phase.step * (phase.taps - 1) + 1);
      each.push_back(phase.step);
      shift.push_back(phase.shift);
      dilate.push_back(phase.dilate);
    }
    return convolve(p, wide, p.slice(turned, from, limit, each), dilate, groups, shift, all.outputs());
  });
}

std::int64_t places_of(const Shape& images) { return Shape(images.dims().subspan(2)).elements(); }

/// Whether products with all taps at once are faster than a convolution for each phase. This holds if filters
/// fill only a part of a register, or if outputs have one tap each and lines are long. They take memory. An
/// image decides alone: a batch has the bits of its images.
bool suits_taps(const Shape& g, const Shape& turned, const std::vector<SpatialAxis>& axes) {
  constexpr std::int64_t max_filters = 8, min_channels = 8, min_line = 7, max_products = 1 << 24;
  const std::int64_t filters = turned[0];
  return (filters <= max_filters || (have_one_tap(axes) && g.back() >= min_line)) &&
         turned[1] >= min_channels && times(times(filters, places_of(turned)), places_of(g)) <= max_products;
}

/// The products of all elements of g with all taps, (F, taps..., N, spatial...): a product of matrices,
/// (F * taps, C) by (C, elements).
Value products_of_taps(Primitives& p, Value g, Value turned) {
  const Shape weight = p.shape(turned), data = p.shape(g);
  Shape channels_last{0}, products{weight[0]};
  for (int i = 2; i < data.rank(); ++i) {
    channels_last.push_back(i);
    products.push_back(weight[at(i)]);
  }
  channels_last.push_back(1);
  const auto matrix = [&](Value v) {
    const Value last = p.transpose(v, channels_last);
    return p.reshape(last, {p.shape(last).elements() / weight[1], weight[1]});
  };
  products.push_back(data[0]);
  for (int i = 2; i < data.rank(); ++i) products.push_back(data[at(i)]);
  return p.reshape(p.dot(matrix(turned), matrix(g), {.transpose_rhs = true}), products);
}

/// Phases are taps, in reverse.
Value by_single_taps(Primitives& p, Value g, Value turned, const std::vector<SpatialAxis>& axes) {
  const Shape data = p.shape(g);
  const int spatial = static_cast<int>(axes.size());
  Shape reversed, woven{spatial + 1, 0}, whole{data[0], p.shape(turned)[0]}, before, after;
  for (int i = 0; i < spatial; ++i) {
    const SpatialAxis& a = axes[at(i)];
    reversed.push_back(i + 2);
    woven.push_back(spatial + 2 + i);
    woven.push_back(i + 1);
    whole.push_back(times(a.elements, a.stride));
    before.push_back(a.low + 1 - a.taps);
    after.push_back(a.outputs - before.back() - whole.back());
  }
  const Value products = products_of_taps(p, g, p.reverse(turned, reversed));
  return resized(p, p.reshape(p.transpose(products, woven), whole), 0, before, after);
}

/// An output is the sum of the products of its taps, in the order of the turned weight. The zeros beyond the
/// ends of g become products, or, where that costs more than a pass over the products, are put among these.
Value by_taps(Primitives& p, Value g, Value turned, const std::vector<SpatialAxis>& axes) {
  constexpr std::int64_t channels_of_pass = 15;
  const OutputPhases all(axes);
  const Shape weight = p.shape(turned);
  const int spatial = static_cast<int>(axes.size());
  const Shape data = p.shape(g);
  const std::int64_t places = places_of(data);
  const bool multiplies_zeros = times(weight[1], all.places() - places) < times(channels_of_pass, places);
  Value wide = products_of_taps(p, multiplies_zeros ? all.widened(p, g) : g, turned);
  Shape computed = p.shape(wide);
  if (!multiplies_zeros) {
    Shape planes{computed.elements() / times(data[0], places)};
    for (int i = spatial + 1; i < computed.rank(); ++i) planes.push_back(computed[at(i)]);
    wide = all.widened(p, p.reshape(wide, planes));
    for (int i = 0; i < spatial; ++i) computed[at(spatial + 2 + i)] = p.shape(wide)[at(i + 2)];
  }
  // (N, F, taps..., spatial...) is a view of them.
  Shape order{spatial + 1, 0};
  for (int i = 0; i < spatial; ++i) order.push_back(i + 1);
  for (int i = 0; i < spatial; ++i) order.push_back(spatial + 2 + i);
  const Value of_taps = p.transpose(p.reshape(wide, computed), order);
  const Shape products = p.shape(of_taps), part = joined({products[0], weight[0]}, all.outputs());
  return all.woven(p, {p.dtype(g), part}, [&](const std::vector<Phase>& phases) {
    Shape taps;
    for (const Phase& phase : phases) taps.push_back(phase.taps);
    Value sum;
    for_each_index(taps, [&](const Shape& j) {
      Shape start = zeros(products.rank()), limit = products;
      for (int i = 0; i < spatial; ++i) {
        const Phase& phase = phases[at(i)];
        const std::size_t tap = at(2 + i), element = at(2 + spatial + i);
        start[tap] = phase.first + phase.step * j[at(i)];
        limit[tap] = start[tap] + 1;
        start[element] = phase.shift + phase.dilate * j[at(i)];
        limit[element] = start[element] + all.outputs()[at(i)];
      }
      const Value of_tap = p.reshape(p.slice(of_taps, start, limit, ones(products.rank())), part);
      sum = sum.valid() ? p.add(sum, of_tap) : of_tap;
    });
    return sum;
  });
}

/// One convolution with the filters of all phases; no axis is dilated. Tap stride * j + stride - 1 - phase of
/// the padded weight is tap j of a phase, so that all phases read the same elements.
Value at_once(Primitives& p, Value g, Value turned, std::int64_t groups,
              const std::vector<SpatialAxis>& axes) {
  const int spatial = static_cast<int>(axes.size());
  const Shape weight = p.shape(turned);
  const std::int64_t images = p.shape(g)[0], filters = weight[0];
  Shape low, high, shift, outputs;                  // of the weight; of the convolution
  Shape split{filters}, order{0}, joined{filters};  // (F, C, taps * stride) as (F, stride, C, taps)
  Shape apart{images, filters}, woven{0, 1}, whole{images, filters};
  Shape phase_axes;
  split.push_back(weight[1]);
  for (int i = 0; i < spatial; ++i) {
    const SpatialAxis& a = axes[at(i)];
    const std::int64_t within = (a.low % a.stride + a.stride) % a.stride;
    shift.push_back(-(a.low - within) / a.stride);
    low.push_back(a.stride - 1 - within);
    const std::int64_t taps = ceil_div(low.back() + a.taps, a.stride);
    high.push_back(taps * a.stride - low.back() - a.taps);
    outputs.push_back(steps_of(a));
    split.push_back(taps);
    split.push_back(a.stride);
    order.push_back(2 * i + 3);
    phase_axes.push_back(2 * i + 3);
    joined[0] *= a.stride;
    apart.push_back(a.stride);
    whole.push_back(a.stride * steps_of(a));
  }
  order.push_back(1);
  joined.push_back(weight[1]);
  for (int i = 0; i < spatial; ++i) {
    order.push_back(2 * i + 2);
    joined.push_back(split[at(2 * i + 2)]);
    apart.push_back(outputs[at(i)]);
    woven.push_back(2 + spatial + i);
    woven.push_back(2 + i);
  }
  const Value padded = p.reverse(p.reshape(resized(p, turned, 0, low, high), split), phase_axes);
  const Value filters_of_phases = p.reshape(p.transpose(padded, order), joined);
  const Value y = convolve(p, g, filters_of_phases, ones(spatial), groups, shift, outputs);
  return first_outputs(p, p.reshape(p.transpose(p.reshape(y, apart), woven), whole), axes);
}

/// The transposed convolution of one element: output dilate * k - low is its product with tap k; `low`
/// outputs lie before the first. So all are one product of matrices, (N, C) by (C, taps * F), with the taps
/// that have an output. Nothing if none has.
std::optional<Value> of_one_element(Primitives& p, Value g, Value weight,
                                    const std::vector<SpatialAxis>& axes) {
  const Shape given = p.shape(weight), data = p.shape(g);
  const int rank = given.rank();
  Shape from = zeros(2), limit(given.dims().first(2)), before, after, dilate, order{0}, taps{data[0]},
        back{0, rank - 1};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const SpatialAxis& a = axes[i];
    const std::int64_t low = a.dilate * (a.taps - 1) - a.low;
    const std::int64_t first = std::max<std::int64_t>(ceil_div(low, a.dilate), 0),
                       end = std::min(ceil_div(low + a.outputs, a.dilate), a.taps);
    if (a.elements != 1 || first >= end) return {};
    from.push_back(first);
    limit.push_back(end);
    before.push_back(a.dilate * first - low);
    after.push_back(a.outputs - (a.dilate * (end - 1) - low) - 1);
    dilate.push_back(a.dilate);
    order.push_back(static_cast<std::int64_t>(i) + 2);
    taps.push_back(end - first);
    back.push_back(static_cast<std::int64_t>(i) + 1);
  }
  order.push_back(1);
  taps.push_back(given[1]);
  // Filters last, as everything around convolutions is kept.
  const Value filters = p.transpose(p.slice(weight, from, limit, ones(rank)), order);
  const Shape matrix{given[0], p.shape(filters).elements() / given[0]};
  const Value y = p.dot(p.reshape(g, {data[0], data[1]}), p.reshape(filters, matrix), {});
  return resized(p, spread(p, p.transpose(p.reshape(y, taps), back), dilate), 0, before, after);
}

/// The weight (C, F / groups, kernel...) as (F, C / groups, kernel...), turned by half a circle.
Value turned_weight(Primitives& p, Value weight, std::int64_t groups) {
  const Shape given = p.shape(weight);
  const std::int64_t channels = given[0] / groups, filters = given[1];
  Shape split{groups, channels, filters}, order{0, 2, 1}, exchanged{groups * filters, channels}, axes;
  for (int i = 2; i < given.rank(); ++i) {
    split.push_back(given[at(i)]);
    exchanged.push_back(given[at(i)]);
    order.push_back(i + 1);
    axes.push_back(i);
  }
  return p.reverse(p.reshape(p.transpose(p.reshape(weight, split), order), exchanged), axes);
}

Value by_convolutions(Primitives& p, Value g, Value weight, const ConvSpec& spec,
                      const std::vector<SpatialAxis>& axes) {
  const Window& w = spec.window;
  const Value turned = turned_weight(p, weight, spec.groups);
  if (w.stride != ones(w.stride.rank())) {
    if (spec.groups == 1 && w.stride.elements() <= max_phases &&
        suits_taps(p.shape(g), p.shape(turned), axes))
      return have_one_tap(axes) ? by_single_taps(p, g, turned, axes) : by_taps(p, g, turned, axes);
    if (w.stride.elements() <= max_phases) return by_phases(p, g, turned, spec.groups, axes);
    if (w.dilate == ones(w.dilate.rank())) return at_once(p, g, turned, spec.groups, axes);
  }
  Shape shift, outputs;
  for (const SpatialAxis& a : axes) {
    shift.push_back(-a.low);
    outputs.push_back(a.outputs);
  }
  return convolve(p, spread(p, g, w.stride), turned, w.dilate, spec.groups, shift, outputs);
}

}  // namespace

void fail_without_outputs(const Window& w, const std::string& data) {
  fail("kernel {}, stride {} and pad {} leave nothing of data {}", w.kernel.str(), w.stride.str(),
       w.pad_low.str(), data);
}

Value transposed_convolution(Primitives& p, Value g, Value weight, const ConvSpec& spec,
                             const Shape& adjust) {
  const Window& w = spec.window;
  const Shape data = p.shape(g);
  std::vector<SpatialAxis> axes;
  for (int i = 0; i < w.kernel.rank(); ++i) {
    const std::int64_t elements = data[at(i + 2)], reach = reach_of(w, i);
    if (elements < 1) fail("a transposed convolution needs pixels, got {}", data.str());
    const std::int64_t outputs = times(w.stride[at(i)], elements - 1) + 1 + reach - w.pad_low[at(i)] -
                                 w.pad_high[at(i)] + adjust[at(i)];
    if (outputs < 1) fail_without_outputs(w, data.str());
    axes.push_back(
        {w.kernel[at(i)], w.stride[at(i)], w.dilate[at(i)], reach - w.pad_low[at(i)], elements, outputs});
  }
  if (spec.groups == 1)
    if (const auto y = of_one_element(p, g, weight, axes)) return *y;
  return p.taped_as(TransposedConvolutionPrimitive{spec}, {{g, weight}},
                    [&] { return by_convolutions(p, g, weight, spec, axes); });
}

}  // namespace kiln::ir
