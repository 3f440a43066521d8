#pragma once
#include "ir/graph.h"

#include <cstdint>
#include <string_view>

/// What changed in symbol files over the years. The names of the steps are the versions before which they
/// apply, as MXNet's mxnet_version counts: 10901 is 1.9.1.
namespace kiln::legacy {

inline constexpr std::int64_t current_version = 10901;
/// Of a file that does not say.
inline constexpr std::int64_t unknown_version = 800;
inline constexpr std::int64_t auxiliary_states_are_nodes = 900;
inline constexpr std::int64_t initializers_are_attributes = 904;
inline constexpr std::int64_t reductions_have_no_axis = 905;

/// Whether no operator checks the attribute: `__x__`, and what begins or ends with one of the old hidden keys
/// (lr_mult, ...).
bool is_hidden_attribute(std::string_view key);

/// Before 1.9.1: `lr_mult` becomes `__lr_mult__`, and `weight_lr_mult` of an operator that of its variable
/// `weight`.
void rename_hidden_attributes(ir::Node& node);
/// Before 0.9: gives the operator's missing inputs variables.
void add_missing_variables(ir::Node& node);
/// Before 0.9.4: variables of some operators get their initializer.
void set_initializers(ir::Node& node);
/// Before 0.9.5: axis -1 of argmax and argmin is all axes.
void remove_axis_of_all(ir::Node& node);

}  // namespace kiln::legacy
