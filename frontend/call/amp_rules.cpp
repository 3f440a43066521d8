// The lists of automatic mixed precision, and the casts that they require.
#include "frontend/call/amp_rules.h"

#include "frontend/call/invoke.h"
#include "frontend/call/trace.h"
#include "runtime/dtype_table.h"
#include "runtime/fail.h"

#include <algorithm>
#include <sstream>

namespace kiln {
namespace {

using detail::TensorAccess;

/// MXNet 1.9.1's lists for float16 and for bfloat16: the operators that Kiln has, by name.
struct Row {
  AmpKind float16, bfloat16;
  std::string_view operators;
};
constexpr Row rows[] = {
    {AmpKind::target, AmpKind::target, "Convolution FullyConnected"},
    {AmpKind::target, AmpKind::fp32, "Deconvolution RNN"},
    {AmpKind::fp32, AmpKind::fp32,
     "CTCLoss GroupNorm InstanceNorm L2Normalization LayerNorm LinearRegressionOutput "
     "LogisticRegressionOutput MAERegressionOutput MakeLoss SoftmaxActivation SoftmaxOutput "
     "_contrib_SyncBatchNorm _hypot _hypot_scalar _linalg_gemm _linalg_gemm2 _linalg_syrk _power "
     "_power_scalar _rdiv_scalar _rpower_scalar arccos arcsin arctanh argsort broadcast_hypot "
     "broadcast_power cosh erfinv exp expm1 gamma gammaln khatri_rao log log10 log1p log2 log_softmax "
     "make_loss mean moments nanprod nansum norm prod rcbrt reciprocal rsqrt sinh smooth_l1 softmax "
     "softmax_cross_entropy softmin sum tan topk"},
    {AmpKind::fp32, AmpKind::both, "LRN square"},
    {AmpKind::both, AmpKind::fp32,
     "BlockGrad Cast Crop Dropout Embedding Flatten Pad Reshape SequenceLast SequenceMask "
     "SequenceReverse SliceChannel SwapAxis UpSampling _arange _cond _contrib_AdaptiveAvgPooling2D "
     "_contrib_BilinearResize2D _contrib_div_sqrt_dim _contrib_gradientmultiplier _contrib_index_copy "
     "_contrib_quadratic _copy _div_scalar _equal_scalar _eye _foreach _full _greater_equal_scalar "
     "_greater_scalar _lesser_equal_scalar _lesser_scalar _linspace _logical_and_scalar "
     "_logical_or_scalar _logical_xor_scalar _maximum_scalar _minimum_scalar _minus_scalar _mod_scalar "
     "_mul_scalar _not_equal_scalar _ones _plus_scalar _random_exponential _random_exponential_like "
     "_random_gamma _random_gamma_like _random_normal _random_normal_like _random_poisson "
     "_random_poisson_like _random_randint _random_uniform _random_uniform_like _ravel_multi_index "
     "_rminus_scalar _rmod_scalar _rnn_param_concat _scatter_set_nd _slice_assign _slice_assign_scalar "
     "_split_v2 _unravel_index _while_loop _zeros arccosh arcsinh arctan argmax argmax_channel argmin "
     "batch_take broadcast_axis broadcast_like broadcast_to cbrt ceil cos degrees depth_to_space diag "
     "erf expand_dims fix floor gather_nd hard_sigmoid logical_not max min negative one_hot ones_like "
     "pick radians repeat reshape_like reverse rint round scatter_nd shape_array sigmoid sign sin "
     "size_array slice slice_axis slice_like softsign sort space_to_depth squeeze take tile transpose "
     "trunc zeros_like"},
    {AmpKind::both, AmpKind::both, "BatchNorm Pooling _shuffle abs clip relu sqrt tanh"},
    {AmpKind::widest, AmpKind::widest,
     "_equal _greater _greater_equal _lesser _lesser_equal _logical_and _logical_or _logical_xor "
     "_maximum _minimum _mod _not_equal add_n batch_dot broadcast_add broadcast_div broadcast_equal "
     "broadcast_greater broadcast_greater_equal broadcast_lesser broadcast_lesser_equal "
     "broadcast_logical_and broadcast_logical_or broadcast_logical_xor broadcast_maximum "
     "broadcast_minimum broadcast_mod broadcast_not_equal broadcast_sub dot elemwise_add elemwise_div "
     "elemwise_mul elemwise_sub stack where"},
    {AmpKind::widest, AmpKind::both, "Concat"},
    {AmpKind::widest, AmpKind::fp32, "broadcast_mul"},
    {AmpKind::widest, AmpKind::none,
     "_contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt"},
};

const ir::OpDef& operator_named(const std::string& name, std::string_view function) {
  const ir::OpDef* const op = ir::find_op(name);
  if (!op) fail("{} names '{}', which is no operator of Kiln; `kiln ops` lists them", function, name);
  if (name.starts_with("amp_"))
    fail("{} names '{}', which is the cast of mixed precision itself: leave it out", function, name);
  return *op;
}

/// The operator of a condition, which has its attribute.
const ir::OpDef& operator_of(const amp::ConditionalOp& c, std::string_view function) {
  const ir::OpDef& op = operator_named(c.op, function);
  if (!op.attr(c.attribute))
    fail("{} names the attribute '{}', which {} does not have; `kiln ops {}` lists its attributes", function,
         c.attribute, c.op, c.op);
  return op;
}

bool contains(const std::vector<std::string>& values, const std::string& text) {
  return std::find(values.begin(), values.end(), text) != values.end();
}

/// Whether the dtype of `t` is not known before a symbol is bound. A parameter of unknown shape in a call has
/// one.
bool is_symbol(const Tensor& t) {
  const detail::Array* const array = TensorAccess::array(t).get();
  if (!array || !array->traced()) return !array;
  const bool is_parameter = array->value.node->is_variable() && array->trace && array->trace->shapes_known();
  return !array->shape_known && !is_parameter;
}

}  // namespace

void check_amp_target(DType target) {
  if (target != DType::f16 && target != DType::bf16)
    fail("mixed precision has the target dtypes float16 and bfloat16, not {}", name_of(target));
}

std::vector<std::string> amp_operators(DType target, AmpKind kind) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if ((target == DType::f16 ? row.float16 : row.bfloat16) != kind) continue;
    std::istringstream words{std::string(row.operators)};
    for (std::string name; words >> name;) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<amp::ConditionalOp> amp_conditional_operators() {
  return {{"Activation", "act_type", {"softrelu"}}, {"LeakyReLU", "act_type", {"elu", "selu"}}};
}

AmpRules::AmpRules(DType target, const amp::InitOptions& options, std::string_view function)
    : target_(target) {
  const auto add = [&](AmpKind kind, const std::optional<std::vector<std::string>>& given) {
    for (const std::string& name : given ? *given : amp_operators(target, kind))
      kinds_[&operator_named(name, function)] = kind;
  };
  add(AmpKind::widest, {});
  add(AmpKind::fp32, options.fp32_ops);
  add(AmpKind::target, options.target_precision_ops);
  for (const amp::ConditionalOp& c :
       options.conditional_fp32_ops ? *options.conditional_fp32_ops : amp_conditional_operators())
    conditions_.push_back({&operator_of(c, function), c.attribute, c.values});
}

template <class Has>
AmpKind AmpRules::kind_where(const ir::OpDef* op, const Has& has) const {
  for (const Condition& c : conditions_)
    if (c.op == op && has(c.attribute, c.values)) return AmpKind::conditional_fp32;
  const auto found = kinds_.find(op);
  return found == kinds_.end() ? AmpKind::none : found->second;
}

AmpKind AmpRules::kind_of(const OpCall& call) const {
  return kind_where(&call.op, [&](const std::string& attribute, const std::vector<std::string>& values) {
    return std::any_of(call.given.begin(), call.given.end(), [&](const ir::Attrs::Item& item) {
      return item.name == attribute && contains(values, ir::to_text(item.value));
    });
  });
}

AmpKind AmpRules::kind_of(const ir::Node& node) const {
  return kind_where(node.op, [&](const std::string& attribute, const std::vector<std::string>& values) {
    const auto text = node.attr_text.find(attribute);
    return text != node.attr_text.end() && contains(values, text->second);
  });
}

MixedCall::MixedCall(const AmpRules& rules, const OpCall& call) : call_(call) {
  const AmpKind kind = rules.kind_of(call);
  if (rules.target() == DType::f16)
    cast_inputs(kind, rules.target());
  else if (kind == AmpKind::target)
    precision_.emplace(Precision::bf16);
}

void MixedCall::cast_inputs(AmpKind kind, DType target) {
  const auto has = [&](DType dtype) {
    return std::any_of(call_.inputs.begin(), call_.inputs.end(),
                       [&](const Tensor* t) { return TensorAccess::dtype(*t) == dtype; });
  };
  // The dtypes of a symbol are not known before it is bound.
  if (kind == AmpKind::none ||
      std::any_of(call_.inputs.begin(), call_.inputs.end(), [](const Tensor* t) { return is_symbol(*t); }))
    return;
  const DType from = kind == AmpKind::target ? DType::f32 : target,
              to = kind == AmpKind::target ? target : DType::f32;
  if (!has(from) || (kind == AmpKind::widest && !has(to))) return;
  inputs_.assign(call_.inputs.begin(), call_.inputs.end());
  casts_.reserve(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    // The operator writes its states.
    const std::vector<int>& states = call_.op.aux;
    const bool is_state = std::find(states.begin(), states.end(), static_cast<int>(i)) != states.end();
    if (TensorAccess::dtype(*inputs_[i]) != from || is_state) continue;
    casts_.push_back(
        invoke("amp_cast", {*inputs_[i]}, ir::Attrs({{"dtype", std::string(name_of(to))}}), call_.where));
    inputs_[i] = &casts_.back();
  }
  call_.inputs = inputs_;
}

}  // namespace kiln
