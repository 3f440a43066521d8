#pragma once

namespace kiln::ir {

/// The version of the rules in KilnOps.td: a change of a rule that changes bits raises it. It is part of the disk cache's stamp.
/// 2: the results of the blocks of `reduce` are combined by the same tree. (1: in one chain.)
inline constexpr int numerics_version = 2;

}  // namespace kiln::ir
