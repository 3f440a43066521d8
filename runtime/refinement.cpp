// Counts calls, and makes the faster executable once.
#include "runtime/refinement.h"

#include "runtime/executable.h"
#include "runtime/log.h"

#include <kiln/error.h>

#include <mutex>
#include <utility>

namespace kiln {

Refinement::Refinement(Make make, std::int64_t calls, const Executable& of)
    : make_(std::move(make)), calls_before_(calls), of_(of) {}

const Executable& Refinement::next() {
  if (const Executable* const ready = ready_.load(std::memory_order_acquire)) return *ready;
  // While one thread makes it, the calls of others run as before.
  return calls_before_.fetch_sub(1, std::memory_order_relaxed) == 0 ? made() : of_;
}

const Executable& Refinement::made() {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  try {
    if (!made_) made_ = make_();
  } catch (const Error& e) {  // calls run as before
    log_line(LogCategory::compile, "{} is not compiled for its own sizes: {}", of_.plan().name, e.what());
    return of_;
  }
  ready_.store(made_.get(), std::memory_order_release);
  return *made_;
}

}  // namespace kiln
