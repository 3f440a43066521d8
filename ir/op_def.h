// The definition of an operator.
#pragma once
#include "ir/attrs.h"
#include "ir/op_reference.h"
#include "ir/primitives.h"
#include "ir/shape_rule.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kiln::ir {

using Args = std::span<const Value>;
struct Subgraph;
using Bodies = std::span<const std::shared_ptr<const Subgraph>>;

/// The arguments of a gradient that an operator defines.
struct GradientArgs {
  Args in, out;                     ///< the values of the node, as composed
  Args heads;                       ///< the gradient of each output, of its type; invalid where there is none
  const std::vector<bool>& wanted;  ///< by input; others need no contribution
  const Attrs& attrs;
  Bodies bodies;
  std::int64_t first_draw;  ///< the counter offset of the node's first random draw
  /// By input: the first input that is the same value. Equal inputs have one sum.
  const std::vector<std::size_t>& same;
};

/// The definition of an operator: facts, and one function that composes primitives. The lists of
/// frontend/ops, one per family, hold all definitions; there is no static registration.
struct OpDef {
  std::string_view name;
  std::vector<std::string_view> aliases = {};
  /// One sentence for `kiln ops NAME`.
  std::string_view summary;
  OpReference reference = {};
  /// The C++ function that tools/reference writes, as "contrib::quadratic". Empty: it follows from the name,
  /// as frontend/ops/README.md says. "none": there is none.
  std::string_view spelling = {};
  /// Input names in order. Composing a symbol makes a variable NODE_NAME for each missing input.
  std::vector<std::string_view> inputs;
  /// The inputs are a list. `count_attr` ("num_args") names the attribute with its length; empty if none.
  bool variadic = false;
  std::string_view count_attr = {};
  /// The number of inputs for each one that count_attr counts: 3 for an array with both ends of its range.
  std::size_t inputs_per_count = 1;
  /// The number of inputs under these attributes (FullyConnected without bias: 2). Null: all of `inputs`.
  std::size_t (*active_inputs)(const Attrs&) = nullptr;
  /// Instead of active_inputs, where inputs before others are left out: the names of the inputs under these
  /// attributes.
  std::vector<std::string_view> (*active_names)(const Attrs&) = nullptr;
  std::vector<AttrSpec> attrs = {};
  /// The inputs that the operator updates (BatchNorm's moving statistics).
  std::vector<int> aux = {};

  /// The number of outputs in node_row_ptr, and of outputs that a symbol lists.
  int (*counted_outputs)(const Attrs&) = nullptr;  // null: 1
  int (*visible_outputs)(const Attrs&) = nullptr;  // null: 1
  /// Suffixes of output names other than output, output0, ...
  std::vector<std::string_view> output_names = {};

  /// Composes the operator. Returns the counted outputs, then the new contents of each aux input (an invalid
  /// Value for an unchanged one). A hidden output that cannot be named may be an invalid Value.
  std::vector<Value> (*compose)(Primitives& p, Args in, const Attrs& a) = nullptr;

  /// Replaces `compose` for an operator with bodies; `bodies` is their number.
  std::vector<Value> (*compose_with)(Primitives& p, Args in, const Attrs& a, Bodies bodies) = nullptr;
  std::size_t bodies = 0;
  /// Replaces `count_attr` for an operator with bodies that tell the number of its inputs. Throws for bodies
  /// that the operator does not run.
  std::size_t (*inputs_with)(const Attrs& a, Bodies bodies) = nullptr;
  /// The first inputs are the variables of the body, in order. An auxiliary state of its nodes counts as one of
  /// this operator, which does not update it.
  bool shows_aux = false;

  /// A gradient that the operator defines, where the primitives' rules would give another function than
  /// MXNet's, lose accuracy or need more passes. Returns the contribution to each input, of the input's type;
  /// an invalid Value stands for zero. It takes no new random draws: composed draws repeat the node's, in
  /// order (Primitives::ReplayedDraws). Null, or nothing returned under these attributes: by the rules of
  /// ir/gradients.h.
  std::vector<Value> (*gradient)(Primitives& p, const GradientArgs& args) = nullptr;
  /// The same for a node with bodies, whose nodes continue the sum of each input. Returns `sums` with the
  /// contributions added (invalid: no term yet).
  std::vector<Value> (*gradient_sums)(Primitives& p, const GradientArgs& args, Args sums) = nullptr;

  /// For a node with bodies, by output: whether a gradient may pass from it to one of the `reaching` inputs.
  /// Null: every output leads to every input.
  std::vector<bool> (*reached_outputs)(const Primitives& p, Args in, const std::vector<bool>& reaching,
                                       const Attrs& a, Bodies bodies) = nullptr;
  /// No gradient passes: its results are constants for differentiation.
  bool stops_gradient = false;
  /// The result's gradient is the first input's: its terms are terms of that sum, in their order.
  bool shares_sum = false;
  /// How many inputs, the first ones, a gradient may pass to; the others are constants. Null: all.
  std::size_t (*differentiable_inputs)(const Attrs&) = nullptr;

  /// Relates partial shapes of inputs and outputs: a weight's shape follows from data, a recurrent state's
  /// batch from its use. Null: no inference until all input shapes are known.
  void (*shape_rule)(ShapeFacts& f, const Attrs& a) = nullptr;
  /// The shape rule of a user of this result also sees this operator's input shapes (ShapeFacts::parts): RNN
  /// infers each part of its concatenated parameter vector.
  bool shows_parts = false;
  /// The dtype of an undeclared input, from the attributes (Embedding's weight). Null: the dtype of the other
  /// inputs.
  std::optional<DType> (*undeclared_dtype)(std::size_t input, const Attrs& a) = nullptr;
  /// Replaces it for an operator with bodies.
  std::optional<DType> (*undeclared_dtype_with)(std::size_t input, const Attrs& a, Bodies bodies) = nullptr;
  /// Whether the result depends on Primitives::train().
  bool train_sensitive = false;

  const AttrSpec* attr(std::string_view attr_name) const;
  /// The number of inputs under these attributes, with these bodies; nothing if any number is allowed, or if
  /// bodies are missing. A count attribute includes the bodies.
  std::optional<std::size_t> input_count(const Attrs& a, Bodies bodies) const;
  /// The names of the inputs by position under these attributes, as many or more; none if they are a list.
  std::vector<std::string_view> input_names(const Attrs& a) const;
  int outputs_counted(const Attrs& a) const { return counted_outputs ? counted_outputs(a) : 1; }
  int outputs_visible(const Attrs& a) const { return visible_outputs ? visible_outputs(a) : 1; }
  /// The attributes completed by defaults, each value checked and converted to the kind of its AttrSpec.
  /// Throws kiln::Error naming operator and attribute for an unknown name, a missing or a bad value.
  Attrs complete(const Attrs& given) const;
};

/// The operator with that name or alias; null if there is none.
const OpDef* find_op(std::string_view name);
/// All operators, by family and in the order of their lists.
std::span<const OpDef* const> all_ops();
/// A list of operators of one kind, and the words for it.
struct OpFamily {
  std::string_view title;
  std::span<const OpDef> ops;
};
std::span<const OpFamily> op_families();
/// The known name nearest to a misspelt one, for messages; empty if none is near.
std::string_view nearest_op(std::string_view name);

}  // namespace kiln::ir
