// Steps that run bodies: loops and branches.
#pragma once
#include "runtime/runner.h"

#include <memory>
#include <string>
#include <vector>

/// Steps that run other programs: loops and branches. Their bodies have no prepacked constants and
/// write-backs, and their arenas are part of the step's scratch memory.
namespace kiln {

/// Alignment of blocks in an arena: a cache line, which is also the widest vector.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// The bodies of a plan, in its order. The steps that run them keep them alive.
using Bodies = std::vector<std::shared_ptr<const Runner>>;

/// A step that launches no kernel, of the plan `owner`. `Memory` is the device's: HostMemory or an
/// Accelerator. Throws an internal error for a body that is missing or does not fit.
template <class Memory>
std::unique_ptr<const Control> make_control(const Step& step, const Bodies& bodies, Memory& memory,
                                            const std::string& owner);

}  // namespace kiln
