// The gradient of a convolution's weights.
#include "ir/contraction.h"
#include "ir/convolution_gradients.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct ConvolutionWeightsPrimitive {
  ConvSpec spec;

  ResultType type(const TensorType& x, const TensorType& g) const {
    if (auto mismatch = check_window(spec.window, x)) return *mismatch;
    const auto refused = [&](std::string operation) {
      return Mismatch{
          kiln::compose("{} is no gradient of a convolution of {} with a kernel of {} in {} groups", g.str(),
                        x.str(), spec.window.kernel.str(), spec.groups),
          std::move(operation)};
    };
    if (x.dtype != g.dtype) return refused(mixed(x.dtype, g.dtype));
    if (g.shape.rank() != x.shape.rank()) return refused("needs (n, c, spatial...) and (n, o, spatial'...)");
    const std::int64_t channels = x.shape[1];
    if (spec.groups != 1 && (spec.groups != channels || g.shape[1] != channels))
      return refused("has groups that are neither one nor its channels");
    const ResultType convolved = slid(x, g.shape[1], spec.window);
    if (convolved.mismatch()) return convolved;
    if (!(convolved.value().shape == g.shape)) return refused("has a gradient of another shape");
    Shape to{g.shape[1], channels / spec.groups};
    for (const std::int64_t extent : spec.window.kernel) to.push_back(extent);
    return TensorType{x.dtype, to};
  }
  /// The weights w = convolution_weights(x, places) and its gradient g give <w, g> = <places, convolution(x,
  /// g)>, which is linear in both.
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) const {
    const Value x = t.operands[0], places = t.operands[1];
    Values out(2);
    if (wanted[0]) out[0] = data_gradient(p, p.shape(x), g, places, spec);
    if (wanted[1]) out[1] = p.convolution(x, g, spec);
    return out;
  }
  double multiply_adds(std::span<const TensorType> operands, const TensorType& result) const {
    const Shape& weight = result.shape;  // (o, c / groups, kernel...)
    if (weight[0] == 0) return 0;
    return static_cast<double>(operands[1].elements()) * static_cast<double>(weight.elements() / weight[0]);
  }
  void emit(Emission& e) const {
    const Window& w = spec.window;
    const auto [algorithm, x, g] = contraction_of(e, {});
    e.make<ConvolutionWeightsOp>(x, g, spec.groups > 1, e.list(w.kernel), e.list(w.stride), e.list(w.dilate),
                                 e.list(w.pad_low), e.list(w.pad_high));
  }
};

}  // namespace

Value Primitives::convolution_weights(Value x, Value g, const ConvSpec& spec) {
  const ConvolutionWeightsPrimitive weights{spec};
  return record(weights, {{x, g}}, weights.type(type(x), type(g)));
}

mlir::LogicalResult ConvolutionWeightsOp::verify() {
  return verify_type(*this, [&] {
    const TensorType x = type_of(getX());
    const std::int64_t groups = getDepthwise() && x.shape.rank() > 1 ? x.shape[1] : 1;
    return ConvolutionWeightsPrimitive{{window_of(*this), groups}}.type(x, type_of(getG()));
  });
}

}  // namespace kiln::ir
