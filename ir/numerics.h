#pragma once

namespace kiln::ir {

/// The version of the rules in KilnOps.td: increment it with every change of a rule
/// that changes bits. It is part of the disk cache's stamp.
/// 2: block results of `reduce` are combined by the same tree. (1: in one chain.)
inline constexpr int numerics_version = 2;

}  // namespace kiln::ir
