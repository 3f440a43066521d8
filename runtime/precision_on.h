// The precision of this thread's operators on a device.
#pragma once
#include <kiln/device.h>
#include <kiln/precision.h>

#include <atomic>
#include <cstdint>

namespace kiln {
namespace detail {

/// Whether operators of any thread may have Precision::bf16. Each call on the CPU asks; the innermost scope
/// of a thread is a thread-local variable of a shared library, which costs a function call.
enum class RoundsOperands : std::uint8_t { not_known, never, maybe };
extern constinit std::atomic<RoundsOperands> rounds_operands;

Precision precision_of_scope_on(Device device);

}  // namespace detail

/// This thread's precision for operators on `device`. On the CPU `Precision::bf16` or
/// `exact`, which all others compute there. Throws kiln::Error if KILN_PRECISION is not known.
inline Precision precision_on(Device device) {
  if (device.is_cpu() &&
      detail::rounds_operands.load(std::memory_order_relaxed) == detail::RoundsOperands::never) [[likely]]
    return Precision::exact;
  return detail::precision_of_scope_on(device);
}

}  // namespace kiln
