#pragma once

namespace kiln {

/// Calls `work(context)` `times` times at once, on the caller's thread and workers of an arena of `threads`,
/// and returns when all calls are over. With too few free workers the caller makes several of the calls, one
/// after the other. This is all of oneTBB that Kiln uses. Its file is compiled without the thread sanitizer,
/// which cannot follow oneTBB's own ordering; callers order what they share by atomics of their own.
void run_on_workers(int threads, int times, void (*work)(void*), void* context);

/// In the child of a fork(), which has no workers: lets go of the calling thread's arena without waiting for
/// them.
void forget_arena() noexcept;

/// In such a call: the thread's place among those of the arena, mostly the same in every call. The caller's
/// is 0.
int worker_slot();

}  // namespace kiln
