// Upgrades of older symbol files.
#include "frontend/symbol/json/symbol_legacy.h"

#include <algorithm>
#include <array>
#include <vector>

namespace kiln::legacy {
namespace {

constexpr std::array<std::string_view, 5> hidden_keys = {"ctx_group", "lr_mult", "wd_mult", "force_mirroring",
                                                         "mirror_stage"};

// The old hidden key at the start or end of `key`.
std::string_view hidden_part(std::string_view key) {
  for (const std::string_view hidden : hidden_keys)
    if (key.starts_with(hidden) || key.ends_with(hidden)) return hidden;
  return {};
}

std::string in_underscores(std::string_view key) { return "__" + std::string(key) + "__"; }

// The variable meant by an operator's key such as `weight_lr_mult`.
ir::Node* variable_of(const ir::Node& node, std::string_view key, std::string_view hidden) {
  if (!node.op || key.size() < hidden.size() + 2) return nullptr;
  const std::string_view input = key.substr(0, key.size() - hidden.size() - 1);
  const auto& names = node.op->inputs;
  const auto found = std::find(names.begin(), names.end(), input);
  const auto i = static_cast<std::size_t>(found - names.begin());
  if (found == names.end() || i >= node.inputs.size()) return nullptr;
  ir::Node* const variable = node.inputs[i].node.get();
  return variable->is_variable() ? variable : nullptr;
}

}  // namespace

bool is_hidden_attribute(std::string_view key) {
  return (key.size() >= 4 && key.starts_with("__") && key.ends_with("__")) || !hidden_part(key).empty();
}

void rename_hidden_attributes(ir::Node& node) {
  std::vector<std::pair<std::string, std::string>> hidden;
  std::erase_if(node.attr_text, [&](const auto& item) {
    if (hidden_part(item.first).empty()) return false;
    hidden.push_back(item);
    return true;
  });
  for (const auto& [key, value] : hidden) {
    const std::string_view part = hidden_part(key);
    ir::Node* target = key == part ? &node : nullptr;
    if (!target && key.ends_with(part)) target = variable_of(node, key, part);
    if (target) {
      target->attr_text[in_underscores(part)] = value;
    } else {
      node.attr_text[key] = value;
    }
  }
}

void rename_fused_attributes(ir::Node& node) {
  struct Row {
    std::string_view op, old, name;
  };
  static constexpr std::array<Row, 3> rows = {{
      {"_sg_mkldnn_conv", "with_relu", "with_act"},
      {"_sg_mkldnn_conv", "with_postsum_relu", "with_postsum_act"},
      {"_sg_mkldnn_fully_connected", "with_relu", "with_eltwise"},
  }};
  for (const Row& row : rows) {
    if (node.op_name != row.op) continue;
    const auto old = node.attr_text.find(row.old);
    if (old == node.attr_text.end()) continue;
    node.attr_text[std::string(row.name)] = old->second;
    node.attr_text.erase(old);
  }
}

void add_missing_variables(ir::Node& node) {
  if (!node.op || node.op->variadic) return;
  const std::vector<std::string_view> names = node.op->input_names(node.attrs);
  const std::size_t count = std::min(node.op->input_count(node.attrs), names.size());
  for (std::size_t i = node.inputs.size(); i < count; ++i) {
    auto variable = std::make_shared<ir::Node>();
    const std::string input(names[i]);
    variable->name = node.name.empty() ? input : node.name + "_" + input;
    // MXNet copies the operator's attributes to the variable; files converted by it contain them.
    variable->attr_text = node.attr_text;
    variable->location = node.location;
    node.inputs.push_back({std::move(variable), 0, 0});
  }
}

void set_initializers(ir::Node& node) {
  struct Row {
    std::string_view op;
    std::size_t input;
    std::string_view init;
  };
  static constexpr std::array<Row, 5> rows = {{
      {"BatchNorm", 3, R"(["zero", {}])"},
      {"BatchNorm", 4, R"(["one", {}])"},
      {"LeakyReLU", 1, R"(["Constant", {"value": 0.25}])"},
      {"UpSampling", 1, R"(["bilinear", {}])"},
      {"IdentityAttachKLSparseReg", 1, R"(["zero", {}])"},
  }};
  for (const Row& row : rows) {
    if ((node.op ? node.op->name : std::string_view(node.op_name)) != row.op ||
        row.input >= node.inputs.size())
      continue;
    ir::Node& variable = *node.inputs[row.input].node;
    if (variable.is_variable()) variable.attr_text.emplace("__init__", row.init);
  }
}

void remove_axis_of_all(ir::Node& node) {
  if (node.op_name != "argmax" && node.op_name != "argmin") return;
  const auto axis = node.attr_text.find("axis");
  if (axis != node.attr_text.end() && axis->second == "-1") node.attr_text.erase(axis);
}

}  // namespace kiln::legacy
