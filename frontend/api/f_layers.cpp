// F's layers and contractions.
#include "frontend/api/f_call.h"

namespace kiln {
namespace {

CallAttributes<3> attributes(const FullyConnectedOptions& o) {
  CallAttributes<3> given;
  given.set("num_hidden", ir::AttrValue(o.num_hidden));
  given.set("no_bias", o.no_bias);
  given.set("flatten", o.flatten);
  return given;
}

/// The common attributes of Convolution and Deconvolution.
template <std::size_t n, class Options>
void set_convolution(CallAttributes<n>& given, const Options& o) {
  given.set_tuple("kernel", o.kernel);
  given.set_tuple("stride", o.stride);
  given.set_tuple("dilate", o.dilate);
  given.set_tuple("pad", o.pad);
  given.set("num_filter", ir::AttrValue(o.num_filter));
  given.set("num_group", o.num_group);
  given.set("workspace", o.workspace);
  given.set("no_bias", o.no_bias);
  given.set("layout", o.layout);
}

CallAttributes<9> attributes(const ConvolutionOptions& o) {
  CallAttributes<9> given;
  set_convolution(given, o);
  return given;
}

CallAttributes<11> attributes(const DeconvolutionOptions& o) {
  CallAttributes<11> given;
  set_convolution(given, o);
  given.set_tuple("adj", o.adj);
  given.set_tuple("target_shape", o.target_shape);
  return given;
}

CallAttributes<4> attributes(const LeakyReLUOptions& o) {
  CallAttributes<4> given;
  given.set("act_type", o.act_type);
  given.set("slope", o.slope);
  given.set("lower_bound", o.lower_bound);
  given.set("upper_bound", o.upper_bound);
  return given;
}

CallAttributes<2> attributes(const DotOptions& o) {
  CallAttributes<2> given;
  given.set("transpose_a", o.transpose_a);
  given.set("transpose_b", o.transpose_b);
  return given;
}

}  // namespace

Tensor F::FullyConnected(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const FullyConnectedOptions& o, Where where) {
  return call<"FullyConnected">({&x, &weight, &bias}, attributes(o), where, o.name);
}

Tensor F::FullyConnected(const Tensor& x, const Tensor& weight, const FullyConnectedOptions& o, Where where) {
  return call<"FullyConnected">({&x, &weight}, attributes(o), where, o.name);
}

Tensor F::Convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvolutionOptions& o,
                      Where where) {
  return call<"Convolution">({&x, &weight, &bias}, attributes(o), where, o.name);
}

Tensor F::Convolution(const Tensor& x, const Tensor& weight, const ConvolutionOptions& o, Where where) {
  return call<"Convolution">({&x, &weight}, attributes(o), where, o.name);
}

Tensor F::Deconvolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const DeconvolutionOptions& o, Where where) {
  return call<"Deconvolution">({&x, &weight, &bias}, attributes(o), where, o.name);
}

Tensor F::Deconvolution(const Tensor& x, const Tensor& weight, const DeconvolutionOptions& o, Where where) {
  return call<"Deconvolution">({&x, &weight}, attributes(o), where, o.name);
}

Tensor F::UpSampling(const Tensors& args, const UpSamplingOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("scale", ir::AttrValue(o.scale));
  given.set("num_filter", o.num_filter);
  given.set("sample_type", ir::AttrValue(o.sample_type));
  given.set("multi_input_mode", o.multi_input_mode);
  return call_list<"UpSampling">(args, given, where, o.name);
}

Tensor F::Pooling(const Tensor& x, const PoolingOptions& o, Where where) {
  CallAttributes<9> given;
  given.set_tuple("kernel", o.kernel);
  given.set("pool_type", o.pool_type);
  given.set("global_pool", o.global_pool);
  given.set("pooling_convention", o.pooling_convention);
  given.set_tuple("stride", o.stride);
  given.set_tuple("pad", o.pad);
  given.set("p_value", o.p_value);
  given.set("count_include_pad", o.count_include_pad);
  given.set("layout", o.layout);
  return call<"Pooling">({&x}, given, where, o.name);
}

F::Tensors F::contrib_operators::quantized_fully_connected(const Tensors& inputs,
                                                           const FullyConnectedOptions& o, Where where) {
  return call_list_all<"_contrib_quantized_fully_connected">(inputs, attributes(o), where, o.name);
}

F::Tensors F::contrib_operators::quantized_conv(const Tensors& inputs, const ConvolutionOptions& o,
                                                Where where) {
  return call_list_all<"_contrib_quantized_conv">(inputs, attributes(o), where, o.name);
}

F::Tensors F::contrib_operators::quantized_batch_norm(const Tensor& x, const Tensor& gamma,
                                                      const Tensor& beta, const Tensor& moving_mean,
                                                      const Tensor& moving_var, const Tensor& min_data,
                                                      const Tensor& max_data,
                                                      const QuantizedBatchNormOptions& o, Where where) {
  CallAttributes<5> given;
  given.set("eps", o.eps);
  given.set("fix_gamma", o.fix_gamma);
  given.set("axis", o.axis);
  given.set("min_calib_range", ir::AttrValue(o.min_calib_range));
  given.set("max_calib_range", ir::AttrValue(o.max_calib_range));
  return call_all<"_contrib_quantized_batch_norm">(
      {&x, &gamma, &beta, &moving_mean, &moving_var, &min_data, &max_data}, given, where, o.name);
}

Tensor F::BatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& moving_mean,
                    const Tensor& moving_var, const BatchNormOptions& o, Where where) {
  CallAttributes<5> given;
  given.set("eps", o.eps);
  given.set("momentum", o.momentum);
  given.set("fix_gamma", o.fix_gamma);
  given.set("use_global_stats", o.use_global_stats);
  given.set("axis", o.axis);
  return call<"BatchNorm">({&x, &gamma, &beta, &moving_mean, &moving_var}, given, where, o.name);
}

Tensor F::LayerNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const LayerNormOptions& o,
                    Where where) {
  CallAttributes<2> given;
  given.set("axis", o.axis);
  given.set("eps", o.eps);
  return call<"LayerNorm">({&x, &gamma, &beta}, given, where, o.name);
}

Tensor F::LeakyReLU(const Tensor& x, const LeakyReLUOptions& o, Where where) {
  return call<"LeakyReLU">({&x}, attributes(o), where, o.name);
}

Tensor F::LeakyReLU(const Tensor& x, const Tensor& gamma, const LeakyReLUOptions& o, Where where) {
  return call<"LeakyReLU">({&x, &gamma}, attributes(o), where, o.name);
}

Tensor F::batch_dot(const Tensor& a, const Tensor& b, const DotOptions& o, Where where) {
  return call<"batch_dot">({&a, &b}, attributes(o), where, o.name);
}

}  // namespace kiln
