// amp::convert_symbol(): a graph of float32 with casts, so that its operators compute in half precision.
#include "frontend/symbol/amp_symbol.h"

#include "frontend/call/amp_rules.h"
#include "frontend/call/line.h"
#include "frontend/symbol/amp_dtypes.h"
#include "frontend/symbol/symbol_access.h"
#include "frontend/symbol/symbol_graph.h"
#include "frontend/tensor/text.h"
#include "ir/nearest_name.h"
#include "runtime/dtype_table.h"
#include "runtime/fail.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace kiln {
namespace {

using Names = std::vector<std::string>;

/// Operators whose result has the name "output" in MXNet's casts, and operators whose result is "out". The
/// name of all others is the result's number, unless their definition has names.
constexpr std::string_view results_named_output =
    " Activation BilinearSampler Concat Convolution Correlation Crop Deconvolution Dropout FullyConnected "
    "GridGenerator GroupNorm InstanceNorm L2Normalization LRN LayerNorm LeakyReLU MakeLoss Pad Pooling RNN "
    "SequenceLast SequenceMask SequenceReverse SliceChannel SoftmaxActivation SoftmaxOutput SwapAxis "
    "UpSampling "
    "_contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt _rnn_param_concat "
    "col2im "
    "elemwise_add im2col softmax softmin ";
constexpr std::string_view results_named_out = " _npi_concatenate _npi_dstack _npi_hstack _npi_matmul ";

/// The name of a cast of `e`, without its end.
std::string cast_name(const ir::Entry& e) {
  const ir::Node& node = *e.node;
  if (node.is_variable()) return node.name;
  const auto is_in = [&](std::string_view names) {
    return node.op && names.find(fmt::format(" {} ", node.op->name)) != names.npos;
  };
  if (is_in(results_named_out)) return node.name + "_out";
  if (is_in(results_named_output) || (node.op && !node.op->output_names.empty())) return ir::output_name(e);
  return fmt::format("{}_{}", node.name, e.output);
}

ir::NodePtr cast_node(std::string_view op, std::string name, const ir::Node& user, const char* attribute,
                      std::string value) {
  auto node = std::make_shared<ir::Node>();
  node->op = ir::find_op(op);
  node->op_name = op;
  node->name = std::move(name);
  const ir::AttrSpec& spec = *node->op->attr(attribute);
  node->attr_text.emplace(attribute, value);
  node->attrs = node->op->complete(ir::Attrs({{spec.name, ir::parse_attr(spec, value)}}));
  node->np_shape = user.np_shape;
  node->location = user.location;
  return node;
}

/// Adds the casts of one graph.
class CastInserter {
 public:
  CastInserter(const AmpRules& rules, const amp::ConvertOptions& options, const Names& data)
      : rules_(rules),
        target_(options.target_dtype),
        cast_optional_(options.cast_optional_params),
        excluded_(options.excluded_sym_names.begin(), options.excluded_sym_names.end()),
        data_(data.begin(), data.end()) {}

  std::vector<ir::Entry> run(const std::vector<ir::Entry>& heads) {
    const std::vector<ir::NodePtr> order = ir::topological_order(heads);
    if (cast_optional_) find_optional(order);
    for (const ir::NodePtr& node : order) add(node);
    std::vector<ir::Entry> outputs;
    for (const ir::Entry& e : heads) outputs.push_back(converted(e, DType::f32, *e.node));
    declare_parameters();
    return outputs;
  }

 private:
  /// An output of a node of the new graph, and the casts of it.
  struct Value {
    ir::Entry own;
    std::optional<DType> dtype;  ///< if it is known
    std::optional<ir::Entry> as_target, as_float32;
  };

  AmpKind kind_of(const ir::Node& node) const {
    if (node.is_variable() || !node.op) return AmpKind::none;
    // Bodies of loops and branches stay as they are.
    if (excluded_.contains(node.name) || !node.subgraphs.empty()) return AmpKind::fp32;
    return rules_.kind_of(node);
  }

  bool is_parameter(const ir::Node& node) const { return node.is_variable() && !data_.contains(node.name); }

  /// Whether an operator of the target list casts its input `i`.
  bool casts(const ir::Node& node, std::size_t i) const {
    return !is_auxiliary_input(node, i) && amp_input_dtype(node, i, target_) == target_;
  }

  /// Finds the parameters that have no other use than casts to the target dtype.
  void find_optional(const std::vector<ir::NodePtr>& order) {
    std::unordered_set<const ir::Node*> others;
    for (const ir::NodePtr& node : order)
      for (std::size_t i = 0; i < node->inputs.size(); ++i) {
        const ir::Node& input = *node->inputs[i].node;
        if (!is_parameter(input)) continue;
        const auto declared = ir::declared_dtype(input);
        const bool is_cast = kind_of(*node) == AmpKind::target && casts(*node, i) &&
                             !excluded_.contains(input.name) && declared.value_or(DType::f32) == DType::f32;
        (is_cast ? optional_ : others).insert(&input);
      }
    for (const ir::Node* node : others) optional_.erase(node);
  }

  std::optional<DType> dtype_of(const ir::Entry& e) { return value_of(e).dtype; }
  Value& value_of(const ir::Entry& e) { return values_.at(e.node.get()).at(e.output); }
  /// `e` in the new graph, without a cast.
  ir::Entry unchanged(const ir::Entry& e) {
    const ir::Entry& own = value_of(e).own;
    return {own.node, own.output, e.version};
  }

  ir::Entry converted(const ir::Entry& e, DType to, const ir::Node& user) {
    Value& value = value_of(e);
    std::optional<ir::Entry>& cast = to == DType::f32 ? value.as_float32 : value.as_target;
    if (!cast) {
      const std::string dtype(name_of(to));
      cast = ir::Entry{cast_node("amp_cast", cast_name(e) + "_amp_cast_" + dtype, user, "dtype", dtype), 0,
                       e.version};
      cast->node->inputs.push_back(unchanged(e));
    }
    return *cast;
  }

  static std::vector<std::optional<DType>> results_of(const ir::Node& node, DType first) {
    std::vector<std::optional<DType>> results;
    for (std::uint32_t i = 0; i < ir::counted_outputs(node); ++i)
      results.push_back(amp_result_dtype(node, i, first));
    return results;
  }

  void add(const ir::NodePtr& old) {
    const auto node = std::make_shared<ir::Node>(*old);
    node->inputs.clear();
    node->types.clear();
    for (ir::NodePtr& dependency : node->control_deps) dependency = values_.at(dependency.get())[0].own.node;
    const AmpKind kind = kind_of(*old);
    std::vector<std::optional<DType>> results(ir::counted_outputs(*old));
    switch (kind) {
      case AmpKind::fp32:
      case AmpKind::conditional_fp32:
        take_float32(*old, *node, kind);
        std::fill(results.begin(), results.end(), DType::f32);
        break;
      case AmpKind::target:
        take_target(*old, *node);
        results = results_of(*old, target_);
        break;
      case AmpKind::widest:
        std::fill(results.begin(), results.end(), take_widest(*old, *node));
        break;
      case AmpKind::both:
      case AmpKind::none:
        take_any(*old, *node, results);
    }
    publish(*old, node, results);
  }

  void publish(const ir::Node& old, const ir::NodePtr& node,
               const std::vector<std::optional<DType>>& results) {
    std::vector<Value>& values = values_[&old];
    for (std::size_t i = 0; i < std::max<std::size_t>(results.size(), 1); ++i) {
      Value& value = values.emplace_back();
      value.own = {node, static_cast<std::uint32_t>(i), 0};
      if (i < results.size()) value.dtype = results[i];
      if (optional_.contains(&old)) value.dtype = target_;
      if (value.dtype == target_) value.as_target = value.own;
      if (value.dtype == DType::f32) value.as_float32 = value.own;
    }
    nodes_.push_back(node);
  }

  /// Variables are float32 as they are.
  void take_float32(const ir::Node& old, ir::Node& node, AmpKind kind) {
    for (std::size_t i = 0; i < old.inputs.size(); ++i) {
      const ir::Entry& e = old.inputs[i];
      const bool is_float32 = e.node->is_variable() && kind == AmpKind::fp32 && !value_of(e).as_float32;
      const bool as_it_is = is_auxiliary_input(old, i) || is_float32;
      node.inputs.push_back(as_it_is ? unchanged(e) : converted(e, DType::f32, old));
    }
  }

  void take_target(const ir::Node& old, ir::Node& node) {
    for (std::size_t i = 0; i < old.inputs.size(); ++i)
      node.inputs.push_back(casts(old, i) ? converted(old.inputs[i], target_, old)
                                          : unchanged(old.inputs[i]));
  }

  /// Takes inputs as they are, unless two of one dtype would differ: these are float32 then.
  void take_any(const ir::Node& old, ir::Node& node, std::vector<std::optional<DType>>& results) {
    bool narrow = false, wide = false;
    for (std::size_t i = 0; i < old.inputs.size(); ++i) {
      if (!casts(old, i)) continue;
      const ir::Node& input = *old.inputs[i].node;
      narrow |= dtype_of(old.inputs[i]) == target_;
      wide |= dtype_of(old.inputs[i]) == DType::f32 || (input.is_variable() && !is_parameter(input));
    }
    const bool differ = narrow && wide;
    for (std::size_t i = 0; i < old.inputs.size(); ++i) {
      const ir::Entry& e = old.inputs[i];
      const bool widens = differ && casts(old, i) && dtype_of(e) == target_;
      node.inputs.push_back(widens ? converted(e, DType::f32, old) : unchanged(e));
    }
    if (old.is_variable() && excluded_.contains(old.name)) results[0] = DType::f32;
    if (old.inputs.empty()) return;
    const auto first = differ ? std::optional(DType::f32) : dtype_of(old.inputs[0]);
    if (first) results = results_of(old, *first);
  }

  /// The dtype of the results, if it is known.
  std::optional<DType> take_widest(const ir::Node& old, ir::Node& node) {
    bool known = true, wide = false;
    for (const ir::Entry& e : old.inputs) {
      const Value& value = value_of(e);
      known &= value.as_target || value.as_float32;
      wide |= value.as_float32.has_value();
    }
    if (!known || old.inputs.empty()) {
      multicast(old, node);
      return std::nullopt;
    }
    const DType common = wide ? DType::f32 : target_;
    for (const ir::Entry& e : old.inputs) node.inputs.push_back(converted(e, common, old));
    return common;
  }

  void multicast(const ir::Node& old, ir::Node& node) {
    if (old.inputs.empty()) return;
    const ir::NodePtr cast = cast_node("amp_multicast", cast_name(old.inputs[0]) + "_amp_multicast", old,
                                       "num_outputs", std::to_string(old.inputs.size()));
    for (const ir::Entry& e : old.inputs) cast->inputs.push_back(unchanged(e));
    for (std::size_t i = 0; i < old.inputs.size(); ++i)
      node.inputs.push_back({cast, static_cast<std::uint32_t>(i), old.inputs[i].version});
  }

  /// Parameters declare the dtype of their values: float32, or the dtype that their users want of them.
  void declare_parameters() {
    std::unordered_set<const ir::Node*> narrow;
    for (const auto& [old, values] : values_)
      if (optional_.contains(old)) narrow.insert(values[0].own.node.get());
    for (const auto& [old, values] : values_) {
      const AmpKind kind = kind_of(*old);
      if (old->inputs.empty() || (kind != AmpKind::none && kind != AmpKind::both)) continue;
      const std::optional<DType> first = value_of(old->inputs[0]).dtype;
      for (std::size_t i = 1; first && i < old->inputs.size(); ++i)
        if (!is_auxiliary_input(*old, i) && amp_input_dtype(*old, i, *first) == target_)
          narrow.insert(value_of(old->inputs[i]).own.node.get());
    }
    for (const ir::NodePtr& node : nodes_) {
      if (!is_parameter(*node) || ir::declared_dtype(*node).value_or(DType::f32) != DType::f32) continue;
      const DType dtype = narrow.contains(node.get()) ? target_ : DType::f32;
      node->attr_text["__dtype__"] = std::to_string(static_cast<int>(dtype));
    }
  }

  const AmpRules& rules_;
  const DType target_;
  const bool cast_optional_;
  const std::unordered_set<std::string> excluded_, data_;
  std::unordered_set<const ir::Node*> optional_;
  std::unordered_map<const ir::Node*, std::vector<Value>> values_;  ///< by the nodes of the given graph
  std::vector<ir::NodePtr> nodes_;
};

/// Throws for an operator in two lists, and for one that MXNet's lists do not let choose.
void check_lists(const amp::ConvertOptions& options, std::string_view function) {
  const DType target = options.target_dtype;
  std::unordered_set<std::string_view> free;
  for (const AmpKind kind : {AmpKind::target, AmpKind::fp32, AmpKind::both})
    for (const std::string& name : amp_operators(target, kind)) free.insert(ir::find_op(name)->name);
  Names conditional;
  for (const amp::ConditionalOp& c : amp_conditional_operators()) free.insert(ir::find_op(c.op)->name);
  for (const amp::ConditionalOp& c : options.conditional_fp32_ops.value_or(amp_conditional_operators()))
    conditional.push_back(c.op);
  std::unordered_map<std::string_view, std::string_view> list_of;
  const auto add = [&](const Names& names, std::string_view list) {
    for (const std::string& name : names) {
      const ir::OpDef* const op = ir::find_op(name);
      if (!free.contains(op->name))
        fail(
            "{}: {} names '{}', whose dtype follows from its inputs. The lists take operators of "
            "amp::list_lp16_ops(), list_fp32_ops(), list_lp16_fp32_ops() and list_conditional_fp32_ops()",
            function, list, name);
      const auto [known, is_new] = list_of.emplace(op->name, list);
      if (!is_new && known->second != list)
        fail("{}: the operator '{}' is in {} and in {}: leave it in one of them", function, name,
             known->second, list);
    }
  };
  add(options.target_dtype_ops.value_or(amp_operators(target, AmpKind::target)), "target_dtype_ops");
  add(options.fp32_ops.value_or(amp_operators(target, AmpKind::fp32)), "fp32_ops");
  add(conditional, "conditional_fp32_ops");
}

void check_excluded(const std::vector<ir::Entry>& heads, const amp::ConvertOptions& options,
                    std::string_view function) {
  const std::vector<ir::NodePtr> order = ir::topological_order(heads);
  std::vector<std::string_view> names;
  for (const ir::NodePtr& node : order) names.push_back(node->name);
  for (const std::string& name : options.excluded_sym_names) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string_view nearest = ir::nearest_name(name, names);
    fail("{}: excluded_sym_names has '{}', and no node of the symbol has this name{}", function, name,
         nearest.empty() ? "" : fmt::format(". Is '{}' meant?", nearest));
  }
}

}  // namespace

Symbol with_amp_casts(const Symbol& symbol, const amp::ConvertOptions& options, const Names& data,
                      std::string_view function) {
  check_amp_target(options.target_dtype);
  const AmpRules rules(options.target_dtype,
                       {options.target_dtype_ops, options.conditional_fp32_ops, options.fp32_ops}, function);
  check_lists(options, function);
  const std::vector<ir::Entry> heads = detail::SymbolAccess::entries(symbol);
  check_excluded(heads, options, function);
  return detail::SymbolAccess::make(CastInserter(rules, options, data).run(heads));
}

std::vector<NamedArray> with_amp_dtypes(const Symbol& converted, std::vector<NamedArray> values) {
  std::unordered_map<std::string, DType> declared;
  for (const ir::NodePtr& node : ir::topological_order(detail::SymbolAccess::entries(converted)))
    if (node->is_variable())
      if (const auto dtype = ir::declared_dtype(*node)) declared.emplace(node->name, *dtype);
  for (NamedArray& value : values) {
    const auto found = declared.find(std::string(detail::name_without_kind(value.name)));
    if (found != declared.end() && value.array.dtype() != found->second && is_floating(found->second))
      value.array = value.array.astype(found->second);
  }
  return values;
}

void require_no_data_names(const amp::ConvertOptions& options, std::string_view function) {
  if (options.data_names)
    fail(
        "{}: data_names is an option of amp::convert_symbol(). Here the inputs are the variables without "
        "values",
        function);
}

Symbol amp::convert_symbol(const Symbol& symbol, const ConvertOptions& options, std::source_location where) {
  return at_line(where, [&] {
    constexpr std::string_view function = "amp::convert_symbol()";
    const Names inputs = symbol.list_inputs();
    Names data;
    if (options.data_names) {
      data = *options.data_names;
      for (const std::string& name : data)
        if (std::find(inputs.begin(), inputs.end(), name) == inputs.end())
          fail("{}: data_names has '{}', and the symbol's variables are {}", function, name,
               detail::brief_list(inputs));
    } else {
      for (const ir::NodePtr& node : ir::topological_order(detail::SymbolAccess::entries(symbol)))
        if (node->is_variable() && !node->attr_text.contains("__dtype__")) data.push_back(node->name);
    }
    return with_amp_casts(symbol, options, data, function);
  });
}

}  // namespace kiln
