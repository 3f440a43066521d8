// Gradients that the primitives of convolutions have in common.
#include "ir/convolution_gradients.h"

#include "ir/transposed_convolution.h"
#include "ir/window_shapes.h"

#include <algorithm>

namespace kiln::ir {

Value data_gradient(Primitives& p, const Shape& data, Value w, Value g, const ConvSpec& spec) {
  const Window& window = spec.window;
  const Shape places = p.shape(g);
  Shape adjust;
  for (int i = 0; i < window.kernel.rank(); ++i)
    adjust.push_back(window.pad_high[at(i)] - beyond_end(window, data, places, i));
  return transposed_convolution(p, g, w, spec, adjust);
}

Value weight_gradient(Primitives& p, Value x, Value w, Value g, const ConvSpec& spec) {
  const Window& window = spec.window;
  const Shape data = p.shape(x), places = p.shape(g), weight = p.shape(w);
  if (p.type(x).elements() == 0 || p.type(g).elements() == 0) return p.like(w, 0);
  if (spec.groups == 1 || (spec.groups == data[1] && spec.groups == places[1]))
    return p.convolution_weights(x, g, spec);
  const int spatial = window.kernel.rank();
  const std::int64_t groups = spec.groups, n = data[0], channels = data[1] / groups;
  // The batch takes the place of the channels: x becomes (C, groups * N, ...), g becomes (O, N, ...).
  Shape split{n, groups, channels}, order{2, 1, 0}, joined{channels, groups * n}, exchanged{1, 0};
  ConvSpec over_batch{.window = {{}, window.dilate, window.stride, zeros(spatial), zeros(spatial)},
                      .groups = groups};
  Shape high;
  for (int i = 0; i < spatial; ++i) {
    const std::int64_t extent = data[at(i + 2)], count = places[at(i + 2)];
    split.push_back(extent);
    order.push_back(i + 3);
    joined.push_back(extent);
    exchanged.push_back(i + 2);
    over_batch.window.kernel.push_back(count);
    high.push_back(beyond_end(window, data, places, i));
  }
  Value columns = p.reshape(p.transpose(p.reshape(x, split), order), joined);
  Shape cut = zeros(spatial);
  for (int i = 0; i < spatial; ++i) {
    over_batch.window.pad_low[at(i)] = window.pad_low[at(i)];
    over_batch.window.pad_high[at(i)] = std::max<std::int64_t>(high[at(i)], 0);
    cut[at(i)] = std::min<std::int64_t>(high[at(i)], 0);
  }
  columns = resized(p, columns, 0, zeros(spatial), cut);
  const Value by_channel = p.convolution(columns, p.transpose(g, exchanged), over_batch);
  return p.reshape(p.transpose(by_channel, exchanged), weight);
}

std::vector<Value> TransposedConvolutionPrimitive::gradient(Primitives& p, const Taped& t, Value g,
                                                            const std::vector<bool>& wanted) const {
  // Linear in data and weight, it exchanges data and result of the convolution.
  const Value data = t.operands[0], w = t.operands[1];
  ConvSpec of = spec;
  Window& window = of.window;
  Shape cut;  // negative padding at the ends, which no element of the data reaches
  bool reaches = true;
  for (int i = 0; i < window.kernel.rank(); ++i) {
    const std::int64_t high = beyond_end(window, p.shape(g), p.shape(data), i);
    window.pad_high[at(i)] = std::max<std::int64_t>(high, 0);
    cut.push_back(std::min<std::int64_t>(high, 0));
    reaches = reaches && -high < p.shape(g)[at(i + 2)];
  }
  if (!reaches) return {p.like(data, 0), p.like(w, 0)};
  g = resized(p, g, 0, zeros(cut.rank()), cut);
  std::vector<Value> out(2);
  if (wanted[0]) out[0] = p.convolution(g, w, of);
  if (wanted[1]) out[1] = weight_gradient(p, g, w, data, of);
  return out;
}

}  // namespace kiln::ir
