// The parallel loop of kernels.
#pragma once
#include <kiln/threads.h>

#include <cstdint>

/// The parallel loop of kernels, on oneTBB's workers. They are shared with a program that uses oneTBB itself,
/// and sleep while idle.
namespace kiln {

/// A part of a loop: called with bounds, from any thread; must not throw. Parts that run concurrently have
/// different worker numbers, from 0 on.
using PieceFn = void (*)(void* context, int worker, std::int64_t begin, std::int64_t end);

/// The number of workers of a loop with this extent and grain (at least 1).
int workers_for(std::int64_t extent, std::int64_t grain, int threads);

/// Calls `piece` on parts that cover [0, extent) once, on at most `threads` threads, the caller's among them.
/// Parts begin at multiples of `grain`. Each part runs with the floating-point environment of float_env.h.
void parallel_pieces(std::int64_t extent, std::int64_t grain, int threads, PieceFn piece, void* context);

/// The same for `piece(begin, end)`, on the threads of a call from this thread.
template <class Piece>
void parallel_ranges(std::int64_t extent, std::int64_t grain, const Piece& piece) {
  const auto run = [](void* context, int, std::int64_t begin, std::int64_t end) {
    (**static_cast<const Piece**>(context))(begin, end);
  };
  const Piece* context = &piece;
  parallel_pieces(extent, grain, num_threads(), run, &context);
}

/// In the child of a fork(): the parent's workers do not exist, so that calls use one thread from now on. If
/// the parent had none, the child may start its own.
void forget_workers() noexcept;

}  // namespace kiln
