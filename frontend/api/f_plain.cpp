// F's functions that follow from the definitions of their operators. Written by tools/reference.
#include "frontend/api/f_call.h"

#include <kiln/f_numpy.h>

namespace kiln {

Tensor PlainFunctions::abs(const Tensor& data, Where where) { return call<"abs">({&data}, where); }
Tensor PlainFunctions::Activation(const Tensor& data, const ActivationOptions& o, Where where) {
  CallAttributes<1> given;
  given.set("act_type", ir::AttrValue(o.act_type));
  return call<"Activation">({&data}, given, where, o.name);
}
Tensor PlainFunctions::add_n(const Tensors& args, Where where) {
  return call_list<"add_n">(args, CallAttributes<1>(), where);
}
Tensor PlainFunctions::amp_cast(const Tensor& data, const AmpCastOptions& o, Where where) {
  CallAttributes<1> given;
  given.set("dtype", o.dtype);
  return call<"amp_cast">({&data}, given, where, o.name);
}
F::Tensors PlainFunctions::amp_multicast(const Tensors& data, const AmpMulticastOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("num_outputs", ir::AttrValue(o.num_outputs));
  given.set("cast_narrow", o.cast_narrow);
  return call_list_all<"amp_multicast">(data, given, where, o.name);
}
Tensor PlainFunctions::arccos(const Tensor& data, Where where) { return call<"arccos">({&data}, where); }
Tensor PlainFunctions::arccosh(const Tensor& data, Where where) { return call<"arccosh">({&data}, where); }
Tensor PlainFunctions::arcsin(const Tensor& data, Where where) { return call<"arcsin">({&data}, where); }
Tensor PlainFunctions::arcsinh(const Tensor& data, Where where) { return call<"arcsinh">({&data}, where); }
Tensor PlainFunctions::arctan(const Tensor& data, Where where) { return call<"arctan">({&data}, where); }
Tensor PlainFunctions::arctanh(const Tensor& data, Where where) { return call<"arctanh">({&data}, where); }
Tensor PlainFunctions::argmax_channel(const Tensor& data, Where where) {
  return call<"argmax_channel">({&data}, where);
}
Tensor PlainFunctions::batch_take(const Tensor& a, const Tensor& indices, Where where) {
  return call<"batch_take">({&a, &indices}, where);
}
Tensor PlainFunctions::BlockGrad(const Tensor& data, Where where) {
  return call<"BlockGrad">({&data}, where);
}
Tensor PlainFunctions::broadcast_add(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_add">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_div(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_div">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_equal(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_equal">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_greater(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_greater">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_greater_equal(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_greater_equal">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_hypot(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_hypot">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_lesser(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_lesser">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_lesser_equal(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_lesser_equal">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_like(const Tensor& lhs, const Tensor& rhs, const BroadcastLikeOptions& o,
                                      Where where) {
  CallAttributes<2> given;
  given.set_tuple("lhs_axes", o.lhs_axes);
  given.set_tuple("rhs_axes", o.rhs_axes);
  return call<"broadcast_like">({&lhs, &rhs}, given, where, o.name);
}
Tensor PlainFunctions::broadcast_logical_and(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_logical_and">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_logical_or(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_logical_or">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_logical_xor(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_logical_xor">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_maximum(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_maximum">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_minimum(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_minimum">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_minus(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_minus">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_mod(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_mod">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_mul(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_mul">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_not_equal(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_not_equal">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_plus(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_plus">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_power(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_power">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::broadcast_sub(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"broadcast_sub">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::cbrt(const Tensor& data, Where where) { return call<"cbrt">({&data}, where); }
Tensor PlainFunctions::ceil(const Tensor& data, Where where) { return call<"ceil">({&data}, where); }
Tensor PlainFunctions::cos(const Tensor& data, Where where) { return call<"cos">({&data}, where); }
Tensor PlainFunctions::cosh(const Tensor& data, Where where) { return call<"cosh">({&data}, where); }
Tensor PlainFunctions::Crop(const Tensors& arg, const CropOptions& o, Where where) {
  CallAttributes<3> given;
  given.set_tuple("offset", o.offset);
  given.set_tuple("h_w", o.h_w);
  given.set("center_crop", o.center_crop);
  return call_list<"Crop">(arg, given, where, o.name);
}
Tensor PlainFunctions::degrees(const Tensor& data, Where where) { return call<"degrees">({&data}, where); }
Tensor PlainFunctions::diag(const Tensor& data, const DiagOptions& o, Where where) {
  CallAttributes<3> given;
  given.set("k", o.k);
  given.set("axis1", o.axis1);
  given.set("axis2", o.axis2);
  return call<"diag">({&data}, given, where, o.name);
}
Tensor PlainFunctions::dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("transpose_a", o.transpose_a);
  given.set("transpose_b", o.transpose_b);
  return call<"dot">({&lhs, &rhs}, given, where, o.name);
}
Tensor PlainFunctions::Dropout(const Tensor& data, const DropoutOptions& o, Where where) {
  CallAttributes<3> given;
  given.set("p", o.p);
  given.set("mode", o.mode);
  given.set_tuple("axes", o.axes);
  return call<"Dropout">({&data}, given, where, o.name);
}
Tensor PlainFunctions::ElementWiseSum(const Tensors& args, Where where) {
  return call_list<"ElementWiseSum">(args, CallAttributes<1>(), where);
}
Tensor PlainFunctions::elemwise_add(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"elemwise_add">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::elemwise_div(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"elemwise_div">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::elemwise_mul(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"elemwise_mul">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::elemwise_sub(const Tensor& lhs, const Tensor& rhs, Where where) {
  return call<"elemwise_sub">({&lhs, &rhs}, where);
}
Tensor PlainFunctions::Embedding(const Tensor& data, const Tensor& weight, const EmbeddingOptions& o,
                                 Where where) {
  CallAttributes<3> given;
  given.set("input_dim", ir::AttrValue(o.input_dim));
  given.set("output_dim", ir::AttrValue(o.output_dim));
  given.set("dtype", o.dtype);
  return call<"Embedding">({&data, &weight}, given, where, o.name);
}
Tensor PlainFunctions::erf(const Tensor& data, Where where) { return call<"erf">({&data}, where); }
Tensor PlainFunctions::erfinv(const Tensor& data, Where where) { return call<"erfinv">({&data}, where); }
Tensor PlainFunctions::exp(const Tensor& data, Where where) { return call<"exp">({&data}, where); }
Tensor PlainFunctions::expm1(const Tensor& data, Where where) { return call<"expm1">({&data}, where); }
Tensor PlainFunctions::fix(const Tensor& data, Where where) { return call<"fix">({&data}, where); }
Tensor PlainFunctions::Flatten(const Tensor& data, Where where) { return call<"Flatten">({&data}, where); }
Tensor PlainFunctions::flatten(const Tensor& data, Where where) { return call<"flatten">({&data}, where); }
Tensor PlainFunctions::floor(const Tensor& data, Where where) { return call<"floor">({&data}, where); }
Tensor PlainFunctions::gamma(const Tensor& data, Where where) { return call<"gamma">({&data}, where); }
Tensor PlainFunctions::gammaln(const Tensor& data, Where where) { return call<"gammaln">({&data}, where); }
Tensor PlainFunctions::gather_nd(const Tensor& data, const Tensor& indices, Where where) {
  return call<"gather_nd">({&data, &indices}, where);
}
Tensor PlainFunctions::hard_sigmoid(const Tensor& data, const HardSigmoidOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("alpha", o.alpha);
  given.set("beta", o.beta);
  return call<"hard_sigmoid">({&data}, given, where, o.name);
}
Tensor PlainFunctions::identity(const Tensor& data, Where where) { return call<"identity">({&data}, where); }
Tensor PlainFunctions::im2col(const Tensor& data, const Im2colOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("kernel", ir::AttrValue(o.kernel));
  given.set_tuple("stride", o.stride);
  given.set_tuple("dilate", o.dilate);
  given.set_tuple("pad", o.pad);
  return call<"im2col">({&data}, given, where, o.name);
}
Tensor PlainFunctions::khatri_rao(const Tensors& args, Where where) {
  return call_list<"khatri_rao">(args, CallAttributes<1>(), where);
}
Tensor PlainFunctions::L2Normalization(const Tensor& data, const L2NormalizationOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("eps", o.eps);
  given.set("mode", o.mode);
  return call<"L2Normalization">({&data}, given, where, o.name);
}
Tensor PlainFunctions::log(const Tensor& data, Where where) { return call<"log">({&data}, where); }
Tensor PlainFunctions::log10(const Tensor& data, Where where) { return call<"log10">({&data}, where); }
Tensor PlainFunctions::log1p(const Tensor& data, Where where) { return call<"log1p">({&data}, where); }
Tensor PlainFunctions::log2(const Tensor& data, Where where) { return call<"log2">({&data}, where); }
Tensor PlainFunctions::logical_not(const Tensor& data, Where where) {
  return call<"logical_not">({&data}, where);
}
Tensor PlainFunctions::LRN(const Tensor& data, const LRNOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("alpha", o.alpha);
  given.set("beta", o.beta);
  given.set("knorm", o.knorm);
  given.set("nsize", ir::AttrValue(o.nsize));
  return call<"LRN">({&data}, given, where, o.name);
}
Tensor PlainFunctions::make_loss(const Tensor& data, Where where) {
  return call<"make_loss">({&data}, where);
}
Tensor PlainFunctions::MakeLoss(const Tensor& data, const MakeLossOptions& o, Where where) {
  CallAttributes<3> given;
  given.set("grad_scale", o.grad_scale);
  given.set("valid_thresh", o.valid_thresh);
  given.set("normalization", o.normalization);
  return call<"MakeLoss">({&data}, given, where, o.name);
}
Tensor PlainFunctions::negative(const Tensor& data, Where where) { return call<"negative">({&data}, where); }
Tensor PlainFunctions::ones_like(const Tensor& data, Where where) {
  return call<"ones_like">({&data}, where);
}
Tensor PlainFunctions::radians(const Tensor& data, Where where) { return call<"radians">({&data}, where); }
Tensor PlainFunctions::rcbrt(const Tensor& data, Where where) { return call<"rcbrt">({&data}, where); }
Tensor PlainFunctions::reciprocal(const Tensor& data, Where where) {
  return call<"reciprocal">({&data}, where);
}
Tensor PlainFunctions::relu(const Tensor& data, Where where) { return call<"relu">({&data}, where); }
Tensor PlainFunctions::reshape_like(const Tensor& lhs, const Tensor& rhs, const ReshapeLikeOptions& o,
                                    Where where) {
  CallAttributes<4> given;
  given.set("lhs_begin", o.lhs_begin);
  given.set("lhs_end", o.lhs_end);
  given.set("rhs_begin", o.rhs_begin);
  given.set("rhs_end", o.rhs_end);
  return call<"reshape_like">({&lhs, &rhs}, given, where, o.name);
}
Tensor PlainFunctions::rint(const Tensor& data, Where where) { return call<"rint">({&data}, where); }
Tensor PlainFunctions::round(const Tensor& data, Where where) { return call<"round">({&data}, where); }
Tensor PlainFunctions::rsqrt(const Tensor& data, Where where) { return call<"rsqrt">({&data}, where); }
Tensor PlainFunctions::shape_array(const Tensor& data, Where where) {
  return call<"shape_array">({&data}, where);
}
Tensor PlainFunctions::shuffle(const Tensor& data, Where where) { return call<"shuffle">({&data}, where); }
Tensor PlainFunctions::sigmoid(const Tensor& data, Where where) { return call<"sigmoid">({&data}, where); }
Tensor PlainFunctions::sign(const Tensor& data, Where where) { return call<"sign">({&data}, where); }
Tensor PlainFunctions::sin(const Tensor& data, Where where) { return call<"sin">({&data}, where); }
Tensor PlainFunctions::sinh(const Tensor& data, Where where) { return call<"sinh">({&data}, where); }
Tensor PlainFunctions::size_array(const Tensor& data, Where where) {
  return call<"size_array">({&data}, where);
}
Tensor PlainFunctions::slice(const Tensor& data, const SliceOptions& o, Where where) {
  CallAttributes<3> given;
  given.set("begin", ir::AttrValue(o.begin));
  given.set("end", ir::AttrValue(o.end));
  if (!o.step.empty()) given.set("step", ir::AttrValue(o.step));
  return call<"slice">({&data}, given, where, o.name);
}
Tensor PlainFunctions::softmax_cross_entropy(const Tensor& data, const Tensor& label, Where where) {
  return call<"softmax_cross_entropy">({&data, &label}, where);
}
Tensor PlainFunctions::SoftmaxActivation(const Tensor& data, const SoftmaxActivationOptions& o, Where where) {
  CallAttributes<1> given;
  given.set("mode", o.mode);
  return call<"SoftmaxActivation">({&data}, given, where, o.name);
}
Tensor PlainFunctions::SoftmaxOutput(const Tensor& data, const Tensor& label, const SoftmaxOutputOptions& o,
                                     Where where) {
  CallAttributes<8> given;
  given.set("grad_scale", o.grad_scale);
  given.set("ignore_label", o.ignore_label);
  given.set("multi_output", o.multi_output);
  given.set("use_ignore", o.use_ignore);
  given.set("preserve_shape", o.preserve_shape);
  given.set("normalization", o.normalization);
  given.set("out_grad", o.out_grad);
  given.set("smooth_alpha", o.smooth_alpha);
  return call<"SoftmaxOutput">({&data, &label}, given, where, o.name);
}
Tensor PlainFunctions::softsign(const Tensor& data, Where where) { return call<"softsign">({&data}, where); }
Tensor PlainFunctions::sqrt(const Tensor& data, Where where) { return call<"sqrt">({&data}, where); }
Tensor PlainFunctions::square(const Tensor& data, Where where) { return call<"square">({&data}, where); }
Tensor PlainFunctions::stop_gradient(const Tensor& data, Where where) {
  return call<"stop_gradient">({&data}, where);
}
Tensor PlainFunctions::tan(const Tensor& data, Where where) { return call<"tan">({&data}, where); }
Tensor PlainFunctions::tanh(const Tensor& data, Where where) { return call<"tanh">({&data}, where); }
Tensor PlainFunctions::trunc(const Tensor& data, Where where) { return call<"trunc">({&data}, where); }
Tensor PlainFunctions::zeros_like(const Tensor& data, Where where) {
  return call<"zeros_like">({&data}, where);
}
Tensor F::contrib_operators::arange_like(const Tensor& data, const ContribArangeLikeOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("start", o.start);
  given.set("step", o.step);
  given.set("repeat", o.repeat);
  given.set("axis", o.axis);
  return call<"_contrib_arange_like">({&data}, given, where, o.name);
}
F::Tensors F::contrib_operators::calibrate_entropy(const Tensor& hist, const Tensor& hist_edges,
                                                   const ContribCalibrateEntropyOptions& o, Where where) {
  CallAttributes<1> given;
  given.set("num_quantized_bins", o.num_quantized_bins);
  return call_all<"_contrib_calibrate_entropy">({&hist, &hist_edges}, given, where, o.name);
}
Tensor F::contrib_operators::dequantize(const Tensor& data, const Tensor& min_range, const Tensor& max_range,
                                        Where where) {
  return call<"_contrib_dequantize">({&data, &min_range, &max_range}, where);
}
Tensor F::contrib_operators::div_sqrt_dim(const Tensor& data, Where where) {
  return call<"_contrib_div_sqrt_dim">({&data}, where);
}
Tensor F::contrib_operators::index_copy(const Tensor& old_tensor, const Tensor& index_vector,
                                        const Tensor& new_tensor, Where where) {
  return call<"_contrib_index_copy">({&old_tensor, &index_vector, &new_tensor}, where);
}
Tensor F::contrib_operators::quadratic(const Tensor& data, const ContribQuadraticOptions& o, Where where) {
  CallAttributes<3> given;
  given.set("a", o.a);
  given.set("b", o.b);
  given.set("c", o.c);
  return call<"_contrib_quadratic">({&data}, given, where, o.name);
}
F::Tensors F::contrib_operators::quantize(const Tensor& data, const Tensor& min_range,
                                          const Tensor& max_range, const ContribQuantizeOptions& o,
                                          Where where) {
  CallAttributes<1> given;
  given.set("out_type", o.out_type);
  return call_all<"_contrib_quantize">({&data, &min_range, &max_range}, given, where, o.name);
}
F::Tensors F::contrib_operators::quantize_v2(const Tensor& data, const ContribQuantizeV2Options& o,
                                             Where where) {
  CallAttributes<3> given;
  given.set("out_type", o.out_type);
  given.set("min_calib_range", o.min_calib_range);
  given.set("max_calib_range", o.max_calib_range);
  return call_all<"_contrib_quantize_v2">({&data}, given, where, o.name);
}
F::Tensors F::contrib_operators::quantized_act(const Tensor& data, const Tensor& min_data,
                                               const Tensor& max_data, const ContribQuantizedActOptions& o,
                                               Where where) {
  CallAttributes<1> given;
  given.set("act_type", ir::AttrValue(o.act_type));
  return call_all<"_contrib_quantized_act">({&data, &min_data, &max_data}, given, where, o.name);
}
F::Tensors F::contrib_operators::quantized_concat(const Tensors& data, const ContribQuantizedConcatOptions& o,
                                                  Where where) {
  CallAttributes<1> given;
  given.set("dim", o.dim);
  return call_list_all<"_contrib_quantized_concat">(data, given, where, o.name);
}
F::Tensors F::contrib_operators::quantized_elemwise_add(const Tensor& lhs, const Tensor& rhs,
                                                        const Tensor& lhs_min, const Tensor& lhs_max,
                                                        const Tensor& rhs_min, const Tensor& rhs_max,
                                                        const ContribQuantizedElemwiseAddOptions& o,
                                                        Where where) {
  CallAttributes<2> given;
  given.set("min_calib_range", o.min_calib_range);
  given.set("max_calib_range", o.max_calib_range);
  return call_all<"_contrib_quantized_elemwise_add">({&lhs, &rhs, &lhs_min, &lhs_max, &rhs_min, &rhs_max},
                                                     given, where, o.name);
}
F::Tensors F::contrib_operators::quantized_elemwise_mul(const Tensor& lhs, const Tensor& rhs,
                                                        const Tensor& lhs_min, const Tensor& lhs_max,
                                                        const Tensor& rhs_min, const Tensor& rhs_max,
                                                        const ContribQuantizedElemwiseMulOptions& o,
                                                        Where where) {
  CallAttributes<3> given;
  given.set("enable_float_output", o.enable_float_output);
  given.set("min_calib_range", o.min_calib_range);
  given.set("max_calib_range", o.max_calib_range);
  return call_all<"_contrib_quantized_elemwise_mul">({&lhs, &rhs, &lhs_min, &lhs_max, &rhs_min, &rhs_max},
                                                     given, where, o.name);
}
F::Tensors F::contrib_operators::quantized_embedding(const Tensor& data, const Tensor& weight,
                                                     const Tensor& min_weight, const Tensor& max_weight,
                                                     const ContribQuantizedEmbeddingOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("input_dim", ir::AttrValue(o.input_dim));
  given.set("output_dim", ir::AttrValue(o.output_dim));
  return call_all<"_contrib_quantized_embedding">({&data, &weight, &min_weight, &max_weight}, given, where,
                                                  o.name);
}
F::Tensors F::contrib_operators::quantized_flatten(const Tensor& data, const Tensor& min_data,
                                                   const Tensor& max_data, Where where) {
  return call_all<"_contrib_quantized_flatten">({&data, &min_data, &max_data}, CallAttributes<1>(), where);
}
F::Tensors F::contrib_operators::quantized_pooling(const Tensor& data, const Tensor& min_data,
                                                   const Tensor& max_data,
                                                   const ContribQuantizedPoolingOptions& o, Where where) {
  CallAttributes<8> given;
  given.set_tuple("kernel", o.kernel);
  given.set("pool_type", o.pool_type);
  given.set("global_pool", o.global_pool);
  given.set("pooling_convention", o.pooling_convention);
  given.set_tuple("stride", o.stride);
  given.set_tuple("pad", o.pad);
  given.set("count_include_pad", o.count_include_pad);
  given.set("layout", o.layout);
  return call_all<"_contrib_quantized_pooling">({&data, &min_data, &max_data}, given, where, o.name);
}
F::Tensors F::contrib_operators::requantize(const Tensor& data, const Tensor& min_range,
                                            const Tensor& max_range, const ContribRequantizeOptions& o,
                                            Where where) {
  CallAttributes<3> given;
  given.set("out_type", o.out_type);
  given.set("min_calib_range", o.min_calib_range);
  given.set("max_calib_range", o.max_calib_range);
  return call_all<"_contrib_requantize">({&data, &min_range, &max_range}, given, where, o.name);
}
Tensor F::npx::relu(const Tensor& data, Where where) { return np_call<"_npx_relu">({&data}, where); }
Tensor F::npx::sigmoid(const Tensor& data, Where where) { return np_call<"_npx_sigmoid">({&data}, where); }
Tensor F::numpy::abs(const Tensor& x, Where where) { return np_call<"_npi_abs">({&x}, where); }
Tensor F::numpy::absolute(const Tensor& x, Where where) { return np_call<"_npi_absolute">({&x}, where); }
Tensor F::numpy::arccos(const Tensor& x, Where where) { return np_call<"_npi_arccos">({&x}, where); }
Tensor F::numpy::arccosh(const Tensor& x, Where where) { return np_call<"_npi_arccosh">({&x}, where); }
Tensor F::numpy::arcsin(const Tensor& x, Where where) { return np_call<"_npi_arcsin">({&x}, where); }
Tensor F::numpy::arcsinh(const Tensor& x, Where where) { return np_call<"_npi_arcsinh">({&x}, where); }
Tensor F::numpy::arctan(const Tensor& x, Where where) { return np_call<"_npi_arctan">({&x}, where); }
Tensor F::numpy::arctanh(const Tensor& x, Where where) { return np_call<"_npi_arctanh">({&x}, where); }
Tensor F::numpy::cbrt(const Tensor& x, Where where) { return np_call<"_npi_cbrt">({&x}, where); }
Tensor F::numpy::ceil(const Tensor& x, Where where) { return np_call<"_npi_ceil">({&x}, where); }
Tensor F::numpy::cos(const Tensor& x, Where where) { return np_call<"_npi_cos">({&x}, where); }
Tensor F::numpy::cosh(const Tensor& x, Where where) { return np_call<"_npi_cosh">({&x}, where); }
Tensor F::numpy::degrees(const Tensor& x, Where where) { return np_call<"_npi_degrees">({&x}, where); }
Tensor F::numpy::dot(const Tensor& a, const Tensor& b, Where where) {
  return np_call<"_np_dot">({&a, &b}, where);
}
Tensor F::numpy::exp(const Tensor& x, Where where) { return np_call<"_npi_exp">({&x}, where); }
Tensor F::numpy::expm1(const Tensor& x, Where where) { return np_call<"_npi_expm1">({&x}, where); }
Tensor F::numpy::fix(const Tensor& x, Where where) { return np_call<"_npi_fix">({&x}, where); }
Tensor F::numpy::floor(const Tensor& x, Where where) { return np_call<"_npi_floor">({&x}, where); }
Tensor F::numpy::log(const Tensor& x, Where where) { return np_call<"_npi_log">({&x}, where); }
Tensor F::numpy::log10(const Tensor& x, Where where) { return np_call<"_npi_log10">({&x}, where); }
Tensor F::numpy::log1p(const Tensor& x, Where where) { return np_call<"_npi_log1p">({&x}, where); }
Tensor F::numpy::log2(const Tensor& x, Where where) { return np_call<"_npi_log2">({&x}, where); }
Tensor F::numpy::matmul(const Tensor& a, const Tensor& b, Where where) {
  return np_call<"_npi_matmul">({&a, &b}, where);
}
Tensor F::numpy::negative(const Tensor& x, Where where) { return np_call<"_npi_negative">({&x}, where); }
Tensor F::numpy::radians(const Tensor& x, Where where) { return np_call<"_npi_radians">({&x}, where); }
Tensor F::numpy::reciprocal(const Tensor& x, Where where) { return np_call<"_npi_reciprocal">({&x}, where); }
Tensor F::numpy::rint(const Tensor& x, Where where) { return np_call<"_npi_rint">({&x}, where); }
Tensor F::numpy::sign(const Tensor& x, Where where) { return np_call<"_npi_sign">({&x}, where); }
Tensor F::numpy::sin(const Tensor& x, Where where) { return np_call<"_npi_sin">({&x}, where); }
Tensor F::numpy::sinh(const Tensor& x, Where where) { return np_call<"_npi_sinh">({&x}, where); }
Tensor F::numpy::sqrt(const Tensor& x, Where where) { return np_call<"_npi_sqrt">({&x}, where); }
Tensor F::numpy::square(const Tensor& x, Where where) { return np_call<"_npi_square">({&x}, where); }
Tensor F::numpy::tan(const Tensor& x, Where where) { return np_call<"_npi_tan">({&x}, where); }
Tensor F::numpy::tanh(const Tensor& x, Where where) { return np_call<"_npi_tanh">({&x}, where); }
Tensor F::numpy::trunc(const Tensor& x, Where where) { return np_call<"_npi_trunc">({&x}, where); }

}  // namespace kiln
