// Upgrades of older symbol files.
#pragma once
#include "ir/graph.h"

#include <cstdint>
#include <string_view>

/// Upgrades of older symbol files. Each applies to files before a version, counted as mxnet_version: 10901 is
/// 1.9.1.
namespace kiln::legacy {

inline constexpr std::int64_t current_version = 10901;
/// The version of a file without one.
inline constexpr std::int64_t unknown_version = 800;
inline constexpr std::int64_t auxiliary_states_are_nodes = 900;
inline constexpr std::int64_t initializers_are_attributes = 904;
inline constexpr std::int64_t reductions_have_no_axis = 905;

/// Whether the attribute is hidden from operators: `__x__`, and names that start or end with an old hidden
/// key (lr_mult, ...).
bool is_hidden_attribute(std::string_view key);

/// Before 1.9.1: renames `lr_mult` to `__lr_mult__`, and moves `weight_lr_mult` of an operator to its
/// variable `weight`.
void rename_hidden_attributes(ir::Node& node);
/// MXNet's fused operators for Intel CPUs: files of any version may have the old names of their attributes.
void rename_fused_attributes(ir::Node& node);
/// Before 0.9: adds variables for missing inputs.
void add_missing_variables(ir::Node& node);
/// Before 0.9.4: adds initializers to variables of some operators.
void set_initializers(ir::Node& node);
/// Before 0.9.5: axis -1 of argmax and argmin meant all axes.
void remove_axis_of_all(ir::Node& node);

}  // namespace kiln::legacy
