// All of oneTBB that Kiln uses.
#pragma once

namespace kiln {

/// Calls `work(context)` `times` times concurrently, on the caller's thread and workers of an arena of
/// `threads`, and returns after all calls. With too few free workers, a thread makes several of the calls in
/// sequence. Its file is compiled without the thread sanitizer, which cannot follow oneTBB's ordering;
/// callers order shared data by their own atomics.
void run_on_workers(int threads, int times, void (*work)(void*), void* context);

/// In the child of a fork(), which has no workers: abandons the calling thread's arena without waiting for
/// them.
void forget_arena() noexcept;

/// Inside such a call: the thread's slot in the arena, usually the same in every call. The caller's is 0.
int worker_slot();

}  // namespace kiln
