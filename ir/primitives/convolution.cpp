// Convolutions.
#include "ir/contraction.h"
#include "ir/convolution_gradients.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

/// Whether the channels of a group begin at a step of paired32, with no zeros between them and the last
/// group's.
bool fills_steps(std::int64_t groups, std::int64_t channels_of_group) {
  return groups == 1 || channels_of_group % step_of_pairs == 0;
}

struct ConvolutionPrimitive {
  ConvSpec spec;

  ResultType type(const TensorType& x, const TensorType& w) const {
    const Shape &in = x.shape, &weight = w.shape, &kernel = spec.window.kernel;
    if (auto mismatch = check_window(spec.window, x)) return *mismatch;
    const auto refused = [&](std::string operation) {
      return Mismatch{kiln::compose("cannot convolve {} with {} in {} groups", x.str(), w.str(), spec.groups),
                      std::move(operation)};
    };
    if (x.dtype != w.dtype) return refused(mixed(x.dtype, w.dtype));
    if (weight.rank() != in.rank()) return refused("needs (n, c, spatial...) and (o, c / groups, kernel...)");
    if (spec.groups < 1 || in[1] % spec.groups != 0 || in[1] / spec.groups != weight[1] ||
        weight[0] % spec.groups != 0)
      return refused("has groups that do not divide its channels");
    for (std::size_t i = 0; i < kernel.size(); ++i)
      if (weight[i + 2] != kernel[i])
        return Mismatch{kiln::compose("the weight {} is not of kernel {}", weight.str(), kernel.str()),
                        "has a weight of another kernel"};
    return slid(x, weight[0], spec.window);
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) const {
    const Value x = t.operands[0], w = t.operands[1];
    Values out(2);
    if (wanted[0]) out[0] = data_gradient(p, p.shape(x), w, g, spec);
    if (wanted[1]) out[1] = weight_gradient(p, x, w, g, spec);
    return out;
  }
  double multiply_adds(std::span<const TensorType> operands, const TensorType& result) const {
    const Shape& weight = operands[1].shape;  // (o, c / groups, kernel...)
    if (weight[0] == 0) return 0;
    return static_cast<double>(result.elements()) * static_cast<double>(weight.elements() / weight[0]);
  }
  void emit(Emission& e) const {
    const Window& w = spec.window;
    const std::int64_t channels = ranked(e.in(1)).getDimSize(1);
    const auto [algorithm, x, weights] =
        contraction_of(e, {.exact = convolution_algorithm(ranked(e.in(1)), e.type, w, spec.groups),
                           .neighbours = fills_steps(spec.groups, channels) ? channels : 0});
    e.make<ConvolutionOp>(x, weights, static_cast<std::uint64_t>(spec.groups), algorithm, e.list(w.stride),
                          e.list(w.dilate), e.list(w.pad_low), e.list(w.pad_high));
  }
};

}  // namespace

Value Primitives::convolution(Value x, Value w, const ConvSpec& spec) {
  return record(ConvolutionPrimitive{spec}, {{x, w}}, ConvolutionPrimitive{spec}.type(type(x), type(w)));
}

mlir::LogicalResult ConvolutionOp::verify() {
  const auto groups = static_cast<std::int64_t>(getGroups());
  const bool in_pairs = getAlgorithm() == Algorithm::paired32;
  if (in_pairs && type_of(getX()).dtype != DType::bf16)
    return emitOpError("by paired32 needs operands of bf16");
  const auto type = verify_type(*this, [&] {
    const ResultType result =
        ConvolutionPrimitive{{window_of(*this), groups}}.type(type_of(getX()), type_of(getW()));
    if (!in_pairs || result.mismatch()) return result;
    return ResultType(TensorType{DType::f32, result.value().shape});
  });
  if (mlir::failed(type)) return type;
  if (in_pairs && !fills_steps(groups, type_of(getW()).shape[1]))
    return emitOpError("by paired32 needs groups of a multiple of 32 channels");
  if (getAlgorithm() == Algorithm::tensor_cores) return emitOpError("cannot be by tensor_cores");
  if (getAlgorithm() == Algorithm::winograd && !winograd_is_defined(ranked(getW()), window_of(*this), groups))
    return emitOpError("by winograd needs f32, kernels of 3x3, one group, and steps of 1");
  return mlir::success();
}

}  // namespace kiln::ir
