#pragma once
#include "runtime/executable.h"

/// Steps that run other programs: loops and branches. Their bodies are executables without prepacked
/// constants and write-backs, whose arenas are part of the step's scratch memory.
namespace kiln {

/// Alignment of blocks in an arena: a cache line, which is also the widest vector.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// `body` outlives the result.
std::unique_ptr<const Control> make_loop(const LoopPlan& plan, const Executable& body);
/// `then` and `otherwise` outlive the result.
std::unique_ptr<const Control> make_branch(const Executable& then, const Executable& otherwise);

}  // namespace kiln
