// Normalisations.
#include "frontend/gluon/nn/nn_layer.h"
#include "runtime/dtype_table.h"
#include "runtime/fail.h"

namespace kiln::nn {

using detail::layer_config;

namespace {

const char* python(bool b) { return b ? "True" : "False"; }

/// A parameter with one value per channel; the first call may determine their number.
Parameter per_channel(const Block& layer, const char* name, std::int64_t channels, const Initializer& init,
                      bool learnt, bool differentiable) {
  return layer.params().get(
      name, {channels},
      {.grad_req = learnt ? GradReq::write : GradReq::null, .init = init, .differentiable = differentiable});
}

void check_epsilon(const Block& layer, double epsilon) {
  if (!(epsilon >= 0))
    fail("{}: epsilon is {}; it is added to a variance, and 0 or more", layer.class_name(), epsilon);
}

std::shared_ptr<const detail::LayerConfig> batch_norm_config(std::string_view op, const BatchNormOptions& o) {
  return layer_config(op, {{"axis", std::int64_t{o.axis}},
                           {"eps", o.epsilon},
                           {"momentum", o.momentum},
                           {"fix_gamma", !o.scale},
                           {"use_global_stats", o.use_global_stats}});
}

}  // namespace

BatchNorm::BatchNorm(const BatchNormOptions& o, Where where)
    : BatchNorm(o, "batchnorm", batch_norm_config("BatchNorm", o), where) {}
BatchNormReLU::BatchNormReLU(const BatchNormOptions& o, Where where)
    : BatchNorm(o, "batchnormrelu", batch_norm_config("_contrib_BatchNormWithReLU", o), where) {}

BatchNorm::BatchNorm(const BatchNormOptions& o, std::string_view kind,
                     std::shared_ptr<const detail::LayerConfig> config, Where where) try
    : Layer({.prefix = o.prefix, .params = o.params}, kind, std::move(config)), axis_(o.axis) {
  check_epsilon(*this, o.epsilon);
  if (!(o.momentum >= 0 && o.momentum <= 1))
    fail("{}: momentum is {}; it is the share that running statistics keep, from 0 to 1", class_name(),
         o.momentum);
  gamma = per_channel(*this, "gamma", o.in_channels, o.gamma_initializer, o.scale, o.scale);
  beta = per_channel(*this, "beta", o.in_channels, o.beta_initializer, o.center, o.center);
  running_mean = per_channel(*this, "running_mean", o.in_channels, o.running_mean_initializer, false, false);
  running_var =
      per_channel(*this, "running_var", o.in_channels, o.running_variance_initializer, false, false);
} catch (const Error&) {
  rethrow_at_line(where);
}

std::string BatchNorm::str() const {
  const ir::Attrs& a = config_->attrs;
  const std::int64_t channels = gamma.shape()[0];
  return fmt::format("{}(axis={}, eps={}, momentum={}, fix_gamma={}, use_global_stats={}, in_channels={})",
                     class_name(), axis_, ir::python_float(a.real("eps")),
                     ir::python_float(a.real("momentum")), python(a.boolean("fix_gamma")),
                     python(a.boolean("use_global_stats")), channels ? std::to_string(channels) : "None");
}

void BatchNorm::cast(DType dtype) { HybridBlock::cast(is_narrow_float(dtype) ? DType::f32 : dtype); }
Tensor BatchNorm::hybrid_forward(F&, const Tensor& x) {
  return apply_op({x, gamma, beta, running_mean, running_var});
}

LayerNorm::LayerNorm(const NormOptions& o, Where where) try
    : Layer({.prefix = o.prefix, .params = o.params}, "layernorm",
            layer_config("LayerNorm", {{"axis", std::int64_t{o.axis}}, {"eps", o.epsilon}})),
      options_(o) {
  check_epsilon(*this, o.epsilon);
  gamma = per_channel(*this, "gamma", o.in_channels, o.gamma_initializer, o.scale, true);
  beta = per_channel(*this, "beta", o.in_channels, o.beta_initializer, o.center, true);
} catch (const Error&) {
  rethrow_at_line(where);
}
std::string LayerNorm::str() const {
  return fmt::format("{}(eps={}, axis={}, center={}, scale={}, in_channels={})", class_name(),
                     ir::python_float(options_.epsilon), options_.axis, python(options_.center),
                     python(options_.scale), gamma.shape()[0]);
}
Tensor LayerNorm::hybrid_forward(F& F, const Tensor& x) {
  return F.LayerNorm(x, gamma, beta, {.axis = options_.axis, .eps = options_.epsilon});
}

InstanceNorm::InstanceNorm(const InstanceNormOptions& o, Where where) try
    : Layer({.prefix = o.prefix, .params = o.params}, "instancenorm",
            layer_config("InstanceNorm", {{"eps", o.epsilon}})),
      options_(o) {
  check_epsilon(*this, o.epsilon);
  gamma = per_channel(*this, "gamma", o.in_channels, o.gamma_initializer, o.scale, true);
  beta = per_channel(*this, "beta", o.in_channels, o.beta_initializer, o.center, true);
} catch (const Error&) {
  rethrow_at_line(where);
}
std::string InstanceNorm::str() const {
  return fmt::format("{}(eps={}, axis={}, center={}, scale={}, in_channels={})", class_name(),
                     ir::python_float(options_.epsilon), options_.axis, python(options_.center),
                     python(options_.scale), gamma.shape()[0]);
}
Tensor InstanceNorm::hybrid_forward(F& F, const Tensor& x) {
  if (options_.axis == 1) return apply_op({x, gamma, beta});
  const Tensor channels_first = F.swapaxes(x, {.dim1 = 1, .dim2 = options_.axis});
  return F.swapaxes(apply_op({channels_first, gamma, beta}), {.dim1 = 1, .dim2 = options_.axis});
}

GroupNorm::GroupNorm(const GroupNormOptions& o, Where where) try
    : Layer({.prefix = o.prefix, .params = o.params}, "groupnorm",
            layer_config("GroupNorm", {{"num_groups", o.num_groups}, {"eps", o.epsilon}})),
      options_(o) {
  check_epsilon(*this, o.epsilon);
  if (o.num_groups < 1) fail("GroupNorm needs a positive num_groups, not {}", o.num_groups);
  gamma = per_channel(*this, "gamma", o.num_groups, o.gamma_initializer, o.scale, true);
  beta = per_channel(*this, "beta", o.num_groups, o.beta_initializer, o.center, true);
} catch (const Error&) {
  rethrow_at_line(where);
}
std::string GroupNorm::str() const {
  return fmt::format("{}(eps={}, num_groups={}, center={}, scale={})", class_name(),
                     ir::python_float(options_.epsilon), options_.num_groups, python(options_.center),
                     python(options_.scale));
}
Tensor GroupNorm::hybrid_forward(F& F, const Tensor& x) {
  return F.GroupNorm(x, gamma, beta, {.num_groups = options_.num_groups, .eps = options_.epsilon});
}

// As in nn_conv.cpp.
std::string BatchNormReLU::class_name() const { return Block::class_name(); }

}  // namespace kiln::nn
