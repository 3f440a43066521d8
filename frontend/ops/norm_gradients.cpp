// Gradients of the normalisations in closed form.
#include "frontend/ops/norm_gradients.h"

#include "frontend/ops/norm.h"
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reduce.h"

#include <array>

namespace kiln::ops {
namespace {

/// The gradients of x, gamma and beta; with n elements in a channel, away = x - mean and
/// inverse = 1 / sqrt(variance + eps):
///   dbeta = sum(g), dgamma = inverse sum(g away),
///   dx = gamma inverse (g - dbeta / n - away inverse^2 sum(g away) / n).
/// If mean and variance are not the batch's, dx is its first term alone. Elements enter as x - origin, and
/// the offset of the mean by sums over them, as it does in the result.
Values batch_norm_gradients(Primitives& p, const GradientArgs& args, Value head) {
  Values out(5);
  if (!head.valid()) return out;
  const Args in = args.in;
  const Attrs& a = args.attrs;
  const Shape shape = p.shape(in[0]);
  const int axis = axis_of(channel_axis(a), shape.rank());
  const Shape axes = other_axes({axis}, shape.rank());
  const Value x = widen(p, in[0]), g = convert(p, head, p.dtype(x));
  const DType inner = p.dtype(x);
  const bool of_batch = takes_batch_statistics(p, a);
  const Statistics s = batch_statistics(p, in, x, axis, a);
  const Value inverse = inverse_deviation(p, s.variance, a.real("eps"));
  const auto along = [&](Value v) { return p.broadcast_along(v, shape, axis); };
  const Value from_origin = p.sub(x, along(s.origin)), sum = p.reduce(Reduce::sum, g, axes);
  Value product = p.reduce(Reduce::sum, p.mul(g, from_origin), axes);
  if (s.offset.valid()) product = p.sub(product, p.mul(s.offset, sum));
  if (args.wanted[0]) {
    Value dx = g;
    if (of_batch) {
      const std::int64_t n = count_along(shape, axes);
      const Value slope = p.mul(p.mul(inverse, inverse), divided(p, product, n));
      Value mean = divided(p, sum, n);
      if (s.offset.valid()) mean = p.sub(mean, p.mul(s.offset, slope));
      dx = p.sub(p.sub(g, along(mean)), p.mul(from_origin, along(slope)));
    }
    const Value scale = a.boolean("fix_gamma") ? inverse : p.mul(convert(p, in[1], inner), inverse);
    out[0] = convert(p, p.mul(dx, along(scale)), p.dtype(in[0]));
  }
  if (args.wanted[1] && !a.boolean("fix_gamma")) out[1] = convert(p, p.mul(product, inverse), p.dtype(in[1]));
  if (args.wanted[2]) out[2] = convert(p, sum, p.dtype(in[2]));
  return out;
}

/// The gradients of x, gamma and beta where y = (x - mean) / deviation over `axes`, times gamma plus beta
/// along the axis `channel`. The heads are the gradients of y, of the mean and of the deviation; any may be
/// invalid.
Values normalized_gradients(Primitives& p, Value x, Value gamma, const Shape& axes, int channel, double eps,
                            const std::array<Value, 3>& heads) {
  const Shape shape = p.shape(x);
  const std::int64_t n = count_along(shape, axes);
  const auto over = [&](Value reduced) { return spread(p, reduced, shape, axes); };
  const auto mean_of = [&](Value v) { return over(divided(p, p.reduce(Reduce::sum, v, axes), n)); };
  const Statistics s = statistics(p, x, axes);
  const Value inverse = over(inverse_deviation(p, s.variance, eps));
  const Value normal = p.mul(p.sub(x, over(s.mean)), inverse);
  Values out(3);
  if (const Value g = heads[0]; g.valid()) {
    const Value h = p.mul(g, p.broadcast_along(gamma, shape, channel));
    const Value centred = p.sub(p.sub(h, mean_of(h)), p.mul(normal, mean_of(p.mul(h, normal))));
    const Shape others = other_axes({channel}, shape.rank());
    out = {p.mul(centred, inverse), p.reduce(Reduce::sum, p.mul(g, normal), others),
           p.reduce(Reduce::sum, g, others)};
  }
  const auto more = [&](Value term) { out[0] = out[0].valid() ? p.add(out[0], term) : term; };
  if (heads[1].valid()) more(over(divided(p, heads[1], n)));
  if (heads[2].valid()) more(p.mul(over(divided(p, heads[2], n)), normal));
  return out;
}

/// In the types of the inputs.
Values as_inputs(Primitives& p, const GradientArgs& args, Values gradients) {
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i].valid())
      gradients[i] = p.reshape(convert(p, gradients[i], p.dtype(args.in[i])), p.shape(args.in[i]));
  return gradients;
}

}  // namespace

Values batch_norm_gradient(Primitives& p, const GradientArgs& args) {
  return batch_norm_gradients(p, args, args.heads[0]);
}

Values batch_norm_relu_gradient(Primitives& p, const GradientArgs& args) {
  Value g = args.heads[0];
  if (g.valid()) g = through_relu(p, g, convert(p, args.out[0], p.dtype(g)));
  return batch_norm_gradients(p, args, g);
}

Values layer_norm_gradient(Primitives& p, const GradientArgs& args) {
  const int axis = axis_of(args.attrs.integer("axis"), p.shape(args.in[0]).rank());
  const Value x = widen(p, args.in[0]);
  return as_inputs(
      p, args,
      normalized_gradients(p, x, widen(p, args.in[1]), {axis}, axis, args.attrs.real("eps"),
                           {head_of(p, args, 0, x), head_of(p, args, 1, x), head_of(p, args, 2, x)}));
}

Values instance_norm_gradient(Primitives& p, const GradientArgs& args) {
  const Value x = widen(p, args.in[0]);
  return as_inputs(p, args,
                   normalized_gradients(p, x, widen(p, args.in[1]), other_axes({0, 1}, p.shape(x).rank()), 1,
                                        args.attrs.real("eps"), {head_of(p, args, 0, x), Value(), Value()}));
}

Values group_norm_gradient(Primitives& p, const GradientArgs& args) {
  const Shape groups = groups_of(p.shape(args.in[0]), args.attrs);
  const Value x = p.reshape(widen(p, args.in[0]), groups);
  Value g = head_of(p, args, 0, x);
  if (g.valid()) g = p.reshape(g, groups);
  return as_inputs(p, args,
                   normalized_gradients(p, x, widen(p, args.in[1]), {2}, 1, args.attrs.real("eps"),
                                        {g, head_of(p, args, 1, x), head_of(p, args, 2, x)}));
}

/// dx = (g - y sum(g y)) / size, where y = x / size.
Values l2_normalization_gradient(Primitives& p, const GradientArgs& args) {
  const Shape shape = p.shape(args.in[0]), axes = l2_axes(args.attrs, shape.rank());
  const Value x = widen(p, args.in[0]), g = head_of(p, args, 0, x);
  if (!g.valid()) return Values(1);
  const Value size = spread(p, l2_size(p, x, axes, args.attrs), shape, axes), y = p.div(x, size);
  const Value share = spread(p, p.reduce(Reduce::sum, p.mul(g, y), axes), shape, axes);
  return as_inputs(p, args, {p.div(p.sub(g, p.mul(y, share)), size)});
}

}  // namespace kiln::ops
