// Automatic mixed precision: the dtypes in which operators run, and the casts of their inputs.
#pragma once
#include "frontend/call/op_call.h"
#include "ir/graph.h"

#include <kiln/amp.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kiln {

/// MXNet's list that has an operator. Inputs are cast to the target dtype, to float32 (always, or for a value
/// of an attribute), or to the widest dtype among them. Operators of `both` and `none` take their inputs as
/// they are.
enum class AmpKind : std::uint8_t { none, target, fp32, conditional_fp32, widest, both };

/// Throws unless mixed precision has this target: float16 or bfloat16.
void check_amp_target(DType target);

/// The operators of a list of MXNet's that Kiln has. `target`: float16 or bfloat16.
std::vector<std::string> amp_operators(DType target, AmpKind kind);
/// MXNet's operators that run in float32 for some values of an attribute.
std::vector<amp::ConditionalOp> amp_conditional_operators();

/// The rules of amp::init(), or of a conversion. Immutable.
class AmpRules {
 public:
  /// Throws for the name of an operator that Kiln does not have. `function` is the program's, for messages.
  AmpRules(DType target, const amp::InitOptions& options, std::string_view function = "amp::init()");
  DType target() const { return target_; }
  AmpKind kind_of(const OpCall& call) const;
  /// Of an operator's node.
  AmpKind kind_of(const ir::Node& node) const;

 private:
  /// `has(attribute, values)`: whether the attribute is given, with one of the values.
  template <class Has>
  AmpKind kind_where(const ir::OpDef* op, const Has& has) const;
  struct Condition {
    const ir::OpDef* op;
    std::string attribute;
    std::vector<std::string> values;
  };
  DType target_;
  std::unordered_map<const ir::OpDef*, AmpKind> kinds_;
  std::vector<Condition> conditions_;
};

namespace detail {
/// Null before amp::init(). Set once.
inline constinit std::atomic<const AmpRules*> amp_rules{nullptr};
}  // namespace detail

/// Whether the process has mixed precision of float16.
inline bool amp_casts() {
  const AmpRules* const rules = detail::amp_rules.load(std::memory_order_relaxed);
  return rules && rules->target() == DType::f16;
}

/// Whether the operands of an operator of the widest list may have these two dtypes.
inline bool amp_joins(DType a, DType b) {
  return amp_casts() && ((a == DType::f16 && b == DType::f32) || (a == DType::f32 && b == DType::f16));
}

/// A call of the program under rules. With float16 its inputs are cast. With bfloat16 the calls of an
/// operator of the target list have Precision::bf16 while this object lives.
class MixedCall {
 public:
  MixedCall(const AmpRules& rules, const OpCall& call);
  const OpCall& call() const { return call_; }

 private:
  void cast_inputs(AmpKind kind, DType target);

  OpCall call_;
  std::vector<const Tensor*> inputs_;
  std::vector<Tensor> casts_;
  std::optional<PrecisionScope> precision_;
};

}  // namespace kiln
