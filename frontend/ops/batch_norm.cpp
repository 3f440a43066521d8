// Batch normalisation.
#include "frontend/ops/norm.h"
#include "frontend/ops/norm_gradients.h"
#include "frontend/ops/reduce.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

#include <array>

namespace kiln::ops {

std::int64_t channel_axis(const Attrs& a) { return a.find("axis") ? a.integer("axis") : 1; }

bool takes_batch_statistics(Primitives& p, const Attrs& a) {
  return p.train() && !a.boolean("use_global_stats");
}

Statistics batch_statistics(Primitives& p, Args in, Value x, int axis, const Attrs& a) {
  if (takes_batch_statistics(p, a))
    return statistics_in_one_pass(p, x, other_axes({axis}, p.shape(x).rank()));
  const Value mean = convert(p, in[3], p.dtype(x));
  return {mean, convert(p, in[4], p.dtype(x)), mean, Value()};
}

namespace {

Values batch_norm(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  int axis = axis_of(channel_axis(a), shape.rank());
  Value x = widen(p, in[0]), moving_mean = in[3], moving_var = in[4];
  for (std::size_t i = 1; i < 5; ++i)
    if (!(p.shape(in[i]) == Shape{shape[at(axis)]}))
      fail(Mistake::operand_shape,
           "BatchNorm needs one value for each of the {} channels of data {}, and {} has the shape {}",
           shape[at(axis)], shape.str(), std::array{"gamma", "beta", "moving_mean", "moving_var"}[i - 1],
           p.shape(in[i]).str());
  bool batch = takes_batch_statistics(p, a);
  DType inner = p.dtype(x);
  Statistics s = batch_statistics(p, in, x, axis, a);
  Value inverse = inverse_deviation(p, s.variance, a.real("eps"));
  Value scale = a.boolean("fix_gamma") ? inverse : p.mul(convert(p, in[1], inner), inverse);
  // Not x * scale + (beta - mean * scale), whose terms cancel where the mean is large beside the deviation.
  // Differences from the origin are exact there, and the offset is no larger than they are.
  Value shift = convert(p, in[2], inner);
  if (s.offset.valid()) shift = p.sub(shift, p.mul(s.offset, scale));
  Value y = scale_and_shift(p, p.sub(x, p.broadcast_along(s.origin, shape, axis)), scale, shift, axis);
  Values out{convert(p, y, p.dtype(in[0])), s.mean, a.boolean("output_mean_var") ? inverse : s.variance,
             Value{}, Value{}};
  if (batch) {
    auto blend = [&](Value moving, Value now) {
      double m = a.real("momentum");
      DType d = p.dtype(moving);
      Value old = p.mul(moving, p.like(moving, m));
      return p.add(old, p.mul(convert(p, now, d), p.full({d, p.shape(moving)}, 1 - m)));
    };
    out[3] = blend(moving_mean, s.mean);
    out[4] = blend(moving_var, s.variance);
  }
  return out;
}
/// Moving statistics need no synchronisation. Batch statistics are taken over the batches of all devices.
Values sync_batch_norm(Primitives& p, Args in, const Attrs& a) {
  if (a.integer("ndev") != 1 && p.train() && !a.boolean("use_global_stats"))
    fail(
        "ndev={} takes the statistics of {} devices' batches, and this version of Kiln trains on one: set "
        "ndev=1, or use_global_stats=True",
        a.integer("ndev"), a.integer("ndev"));
  return batch_norm(p, in, a);
}
OpDef define_batch_norm(std::string_view name, std::vector<std::string_view> aliases,
                        std::string_view summary, OpReference reference, std::vector<AttrSpec> attrs,
                        decltype(OpDef::compose) compose, decltype(OpDef::counted_outputs) counted_outputs,
                        std::vector<std::string_view> output_names, Gradient gradient = batch_norm_gradient) {
  return {.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .reference = reference,
          .inputs = {"data", "gamma", "beta", "moving_mean", "moving_var"},
          .attrs = std::move(attrs),
          .aux = {3, 4},
          .counted_outputs = counted_outputs,
          .visible_outputs = visible_statistics,
          .output_names = std::move(output_names),
          .compose = compose,
          .gradient = gradient,
          .shape_rule = channels_shape,
          .train_sensitive = true};
}

/// The fourth output is a mask, which only MXNet's gradient reads.
Values batch_norm_relu(Primitives& p, Args in, const Attrs& a) {
  Values out = batch_norm(p, in, a);
  out[0] = p.binary(Binary::max, out[0], p.like(out[0], 0));
  out.insert(out.begin() + 3, Value{});
  return out;
}

}  // namespace

std::span<const OpDef> batch_norm_ops() {
  static constexpr std::string_view calibrated = "only MXNet's int8 operators use it";
  static const AttrSpec
      momentum =
          real_attr("momentum", 0.9f, "The part of the moving statistics that a call in training keeps."),
      fix_gamma = bool_attr("fix_gamma", true, "Whether gamma counts as 1, and has the gradient 0."),
      use_global_stats = bool_attr("use_global_stats", false,
                                   "Whether the moving statistics normalise in training too, and stay."),
      output_mean_var = bool_attr(
          "output_mean_var", false,
          "In symbol files: whether mean and var are results too; var is 1 / sqrt(variance + eps) then.");
  static constexpr std::string_view of_eps = "Added to the variance.";
  static constexpr OpReference family{
      .shapes =
          "data (N, C, ...), gamma (C), beta (C), moving_mean (C), moving_var (C) -> (N, C, ...); with "
          "output_mean_var also mean (C), var (C). axis names the axis C.",
      .dtypes =
          "Any; the result has the dtype of data. The other inputs may have any dtype and are converted. "
          "Half precision is computed in float32 and rounded once; mean and var are float32 then.",
      .nan =
          "In training a NaN or an infinity makes its channel NaN, and its moving statistics. Outside of "
          "training, or with use_global_stats, a NaN is NaN in its place alone.",
      .empty = "No samples give no samples; in training the moving statistics become NaN.",
      .integers = truncated_deviation,
      .gradient =
          "beta: the sum of g over a channel. gamma: r sum of g (data - mean), 0 with fix_gamma. data: gamma "
          "r (g - mean of g - (data - mean) r^2 mean of g (data - mean)); gamma r g with moving statistics. "
          "r = 1 / sqrt(variance + eps), means and sums are over a channel. Moving statistics: zeros. "
          "Gradients of mean and var are ignored.",
      .formula =
          "y = (data - mean) gamma / sqrt(variance + eps) + beta. In training mean and variance (divided by "
          "the number of elements) are the channel's, and the moving ones become momentum * moving + (1 - "
          "momentum) * batch; else they are the moving ones.",
      .source = "MXNet 1.9.1 (src/operator/nn/batch_norm.cc); Ioffe and Szegedy 2015.",
  };
  static const std::vector<AttrSpec> batch_attrs{
      real_attr("eps", 0.0010000000474974513, of_eps),
      momentum,
      fix_gamma,
      use_global_stats,
      output_mean_var,
      int_attr("axis", 1, "The axis of the channels; negative from the end."),
      library_hint(bool_attr("cudnn_off", false, "Whether MXNet leaves cuDNN aside.")),
      ignored(or_none("min_calib_range", AttrKind::real,
                      "The least value of the result when MXNet quantises it."),
              calibrated),
      ignored(or_none("max_calib_range", AttrKind::real,
                      "The greatest value of the result when MXNet quantises it."),
              calibrated)};
  static const std::vector<OpDef> rows{
      define_batch_norm(
          "BatchNorm", {"_npx_batch_norm"},
          "Batch normalisation: normalises each channel to the mean beta and the standard deviation gamma.",
          family, batch_attrs, batch_norm, outputs<3>, {"output", "mean", "var"}),
      define_batch_norm(
          "_contrib_BatchNormWithReLU", {}, "BatchNorm followed by relu.",
          family |
              OpReference{
                  .gradient = "As of BatchNorm, with g where y > 0, else 0; NaN where y is NaN.",
                  .formula = "y = max((data - mean) gamma / sqrt(variance + eps) + beta, 0), with the "
                             "statistics of BatchNorm.",
                  .source = "MXNet 1.9.1 (src/operator/contrib/batch_norm_relu.cc).",
              },
          batch_attrs, batch_norm_relu, outputs<4>, {"output", "mean", "var", "workspace"},
          batch_norm_relu_gradient),
      define_batch_norm(
          "_contrib_SyncBatchNorm", {},
          "BatchNorm over the batches of all devices; Kiln trains on one device.",
          family | OpReference{.source = "MXNet 1.9.1 (src/operator/contrib/sync_batch_norm.cc). ndev other "
                                         "than 1 throws in training."},
          {real_attr("eps", 1e-3f, of_eps), momentum, fix_gamma, use_global_stats, output_mean_var,
           int_attr("ndev", 1, "The number of devices whose batches have common statistics; in training 1."),
           ignored(required("key", AttrKind::text, "The name of the group of devices."),
                   "it tells groups of devices apart")},
          sync_batch_norm, outputs<3>, {"output", "mean", "var"}),
  };
  return rows;
}

}  // namespace kiln::ops
