// Layers of MXNet's gluon.contrib.nn, and padding.
#include "frontend/gluon/nn/nn_layer.h"
#include "runtime/fail.h"

#include <kiln/contrib.h>

namespace kiln {

namespace nn {

ReflectionPad2D::ReflectionPad2D(const Shape& padding, const BlockOptions& options, Where where) try
    : HybridBlock(options, "reflectionpad2d"),
      padding_(padding.rank() == 1 ? Shape{0, 0, 0, 0, padding[0], padding[0], padding[0], padding[0]}
                                   : padding) {
  if (padding_.rank() != 8) fail("ReflectionPad2D takes one number or eight, not {}", padding.str());
  for (const std::int64_t p : padding_)
    if (p < 0) fail("ReflectionPad2D takes padding of 0 or more, not {}", padding.str());
} catch (const Error&) {
  rethrow_at_line(where);
}
Tensor ReflectionPad2D::hybrid_forward(F& F, const Tensor& x) {
  return F.pad(x, {.mode = "reflect", .pad_width = {padding_.begin(), padding_.end()}});
}

}  // namespace nn

namespace contrib::nn {

SyncBatchNorm::SyncBatchNorm(const SyncBatchNormOptions& o, Where where) try
    : BatchNorm({.axis = 1,
                 .momentum = o.momentum,
                 .epsilon = o.epsilon,
                 .center = o.center,
                 .scale = o.scale,
                 .use_global_stats = o.use_global_stats,
                 .beta_initializer = o.beta_initializer,
                 .gamma_initializer = o.gamma_initializer,
                 .running_mean_initializer = o.running_mean_initializer,
                 .running_variance_initializer = o.running_variance_initializer,
                 .in_channels = o.in_channels,
                 .prefix = o.prefix,
                 .params = o.params},
                "syncbatchnorm", nullptr, where) {
  const int devices = o.num_devices.value_or(1);
  if (devices != 1)
    fail("SyncBatchNorm over {} devices: this version of Kiln runs a network on one; leave num_devices out",
         devices);
  config_ = detail::layer_config("_contrib_SyncBatchNorm", {{"eps", o.epsilon},
                                                            {"momentum", o.momentum},
                                                            {"fix_gamma", !o.scale},
                                                            {"use_global_stats", o.use_global_stats},
                                                            {"ndev", std::int64_t{devices}},
                                                            {"key", detail::word(prefix())}});
} catch (const Error&) {
  rethrow_at_line(where);
}
std::string SyncBatchNorm::str() const {
  const ir::Attrs& a = config_->attrs;
  const auto python = [&](const char* name) { return a.boolean(name) ? "True" : "False"; };
  const std::int64_t channels = gamma.shape()[0];
  return fmt::format(
      "{}(eps={}, momentum={}, fix_gamma={}, use_global_stats={}, ndev={}, key='{}', in_channels={})",
      class_name(), ir::python_float(a.real("eps")), ir::python_float(a.real("momentum")),
      python("fix_gamma"), python("use_global_stats"), a.integer("ndev"), a.word("key"),
      channels ? std::to_string(channels) : "None");
}

PixelShuffle::PixelShuffle(const kiln::nn::Extents& factor, int rank, std::string_view kind, Where where) try
    : HybridBlock(BlockOptions{}, kind), factors_(factor.of_rank(rank, "factor")) {
  for (const std::int64_t f : factors_)
    if (f < 1 || f > 1 << 20) fail("A pixel shuffle needs positive factors, not {}", factors_.str());
} catch (const Error&) {
  rethrow_at_line(where);
}
std::string PixelShuffle::str() const {
  return fmt::format("{}({})", class_name(),
                     factors_.rank() == 1 ? std::to_string(factors_[0]) : factors_.str());
}

// Reshape codes keep batch and channels open, as in MXNet's files: -4 splits an extent in two, -3 merges two.

Tensor PixelShuffle1D::hybrid_forward(F& F, const Tensor& x) {
  Tensor y = F.reshape(x, {0, -4, -1, factors_[0], 0});  // (N, C, f, W)
  y = F.transpose(y, {0, 1, 3, 2});
  return F.reshape(y, {0, 0, -3});
}

Tensor PixelShuffle2D::hybrid_forward(F& F, const Tensor& x) {
  const std::int64_t f1 = factors_[0], f2 = factors_[1];
  Tensor y = F.reshape(x, {0, -4, -1, f1 * f2, 0, 0});  // (N, C, f1 f2, H, W)
  y = F.reshape(y, {0, 0, -4, f1, f2, 0, 0});
  y = F.transpose(y, {0, 1, 4, 2, 5, 3});  // (N, C, H, f1, W, f2)
  return F.reshape(y, {0, 0, -3, -3});
}

Tensor PixelShuffle3D::hybrid_forward(F& F, const Tensor& x) {
  // One axis after the other: MXNet's transpose takes at most six axes.
  const std::int64_t f1 = factors_[0], f2 = factors_[1], f3 = factors_[2];
  Tensor y = F.reshape(x, {0, -4, -1, f1 * f2 * f3, 0, 0, 0});  // (N, C, f1 f2 f3, D, H, W)
  y = F.swapaxes(y, {.dim1 = 2, .dim2 = 3});
  y = F.reshape(y, {0, 0, 0, -4, f1, f2 * f3, 0, 0});
  y = F.reshape(y, {0, 0, -3, 0, 0, 0});  // (N, C, D f1, f2 f3, H, W)
  y = F.swapaxes(y, {.dim1 = 3, .dim2 = 4});
  y = F.reshape(y, {0, 0, 0, 0, -4, f2, f3, 0});
  y = F.reshape(y, {0, 0, 0, -3, 0, 0});  // (N, C, D f1, H f2, f3, W)
  y = F.swapaxes(y, {.dim1 = 4, .dim2 = 5});
  return F.reshape(y, {0, 0, 0, 0, -3});
}

}  // namespace contrib::nn
}  // namespace kiln
