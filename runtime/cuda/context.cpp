// Opens a GPU's primary context and makes it current.
#include "runtime/cuda/context.h"

#include "runtime/cuda/driver.h"
#include "runtime/fail.h"

#include <unistd.h>

namespace kiln::nvidia {

Context::Context(std::string name, int device)
    : name_(std::move(name)), device_(device), process_(::getpid()) {
  check(driver().retain_context(&context_, device), "opening the GPU");
}

Context::Open Context::use() const {
  Open open(mutex_);
  if (closed_) fail("{} is closed: the process is about to end", name_);
  const int result = driver().set_context(context_);
  if (result == not_initialized)
    fail(
        "{} is in use by the parent of this process, and a child of fork() cannot share it: start a new "
        "process (exec), or fork before the first use of the GPU",
        name_);
  check(result, "choosing the GPU");
  return open;
}

bool Context::enter() const noexcept { return driver().set_context(context_) == success; }

bool Context::close() noexcept {
  if (::getpid() != process_) return false;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  if (enter()) driver().synchronize();
  return true;
}

void Context::release() noexcept { driver().release_context(device_); }

}  // namespace kiln::nvidia
