#pragma once
#include "ir/attrs.h"
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

/// One operator: a row of facts and one function that composes primitives. Rows live in the explicit lists of
/// frontend/ops, one list per family; nothing registers itself.
struct OpDef {
  std::string_view name;
  std::vector<std::string_view> aliases = {};
  /// One sentence for `kiln ops NAME`.
  std::string_view summary;
  /// Names of the inputs in order; missing ones become variables NODE_NAME when a symbol is composed.
  std::vector<std::string_view> inputs;
  /// The inputs are a list; its length is the attribute of this name ("num_args"), empty if there is none.
  bool variadic = false;
  std::string_view count_attr = {};
  /// Which inputs the attributes leave (FullyConnected without bias has two). Empty: all of `inputs`.
  std::size_t (*active_inputs)(const Attrs&) = nullptr;
  std::vector<AttrSpec> attrs = {};
  /// Inputs that the operator updates (BatchNorm's moving statistics).
  std::vector<int> aux = {};

  /// Outputs that node_row_ptr counts, and those that a symbol shows.
  int (*counted_outputs)(const Attrs&) = nullptr;  // null: 1
  int (*visible_outputs)(const Attrs&) = nullptr;  // null: 1
  /// Suffixes of output names where they are not output, output0, ...
  std::vector<std::string_view> output_names = {};

  /// Composes the operator. Returns the counted outputs, then the new contents of each aux input (an invalid
  /// Value where one stays as it is). A hidden output that nobody can name may be an invalid Value.
  std::vector<Value> (*compose)(Primitives& p, Args in, const Attrs& a) = nullptr;

  /// In the place of `compose` where an operator has bodies: as many as `bodies`.
  std::vector<Value> (*compose_with)(Primitives& p, Args in, const Attrs& a, Bodies bodies) = nullptr;
  std::size_t bodies = 0;

  /// Relates the shapes of inputs and outputs as far as they are known: weights from data, a recurrent
  /// state's batch from its use. Null: nothing follows until all input shapes are known.
  void (*shape_rule)(ShapeFacts& f, const Attrs& a) = nullptr;
  /// The rule of an operator that takes the result of this one sees the shapes of this one's inputs
  /// (ShapeFacts::parts): RNN knows each part of its vector of parameters.
  bool shows_parts = false;
  /// The dtype of an input that nothing declares, where the attributes say it (Embedding's weight). Null:
  /// that of the other inputs.
  std::optional<DType> (*undeclared_dtype)(std::size_t input, const Attrs& a) = nullptr;
  /// Whether the result depends on Primitives::train().
  bool train_sensitive = false;

  const AttrSpec* attr(std::string_view attr_name) const;
  /// How many inputs the attributes leave; the count attribute of an operator with bodies counts these too.
  std::size_t input_count(const Attrs& a) const;
  int outputs_counted(const Attrs& a) const { return counted_outputs ? counted_outputs(a) : 1; }
  int outputs_visible(const Attrs& a) const { return visible_outputs ? visible_outputs(a) : 1; }
  /// The attributes with the row's defaults filled in and each value checked and converted to the row's kind.
  /// Throws kiln::Error naming operator and attribute for an unknown name, a missing or a bad value.
  Attrs complete(const Attrs& given) const;
};

/// The operator of that name or alias; null when Kiln has none.
const OpDef* find_op(std::string_view name);
/// All rows, by family and in the order of their lists.
std::span<const OpDef* const> all_ops();
/// The known name nearest to a misspelt one, for messages; empty when none is near.
std::string_view nearest_op(std::string_view name);

}  // namespace kiln::ir
