#pragma once
#include <cstdint>

/// The parallel loop of kernels, on oneTBB's workers: threads of a program that uses oneTBB itself are shared
/// with it, and idle ones sleep.
namespace kiln {

/// A part of a loop: called with bounds, from any thread, must not throw. Parts that run at the same time
/// have different workers, numbered from 0 on.
using PieceFn = void (*)(void* context, int worker, std::int64_t begin, std::int64_t end);

/// How many workers such a loop of pieces of `grain` (at least 1) has.
int workers_for(std::int64_t extent, std::int64_t grain, int threads);

/// Calls `piece` on parts that cover [0, extent) once, on at most `threads` threads, the caller's among them.
/// Parts begin at multiples of `grain`. Each part runs with the floating-point environment of float_env.h.
void parallel_pieces(std::int64_t extent, std::int64_t grain, int threads, PieceFn piece, void* context);

/// In the child of a fork(): it has none of the workers that its parent had, so that calls have one thread
/// from now on. A child whose parent had none may start its own.
void forget_workers() noexcept;

}  // namespace kiln
