// The primary context of a GPU.
#pragma once
#include "runtime/fork_gate.h"

#include <mutex>
#include <shared_mutex>
#include <string>
#include <sys/types.h>

namespace kiln::nvidia {

/// The primary context of a GPU, which all libraries of the process share: it has memory, modules and work.
/// It is closed when the process exits. From then on nothing can be computed. Resources that the program
/// still holds are given back, and the context with the last of them. Thread rule: any thread.
class Context {
 public:
  /// `name` is the GPU's name in errors. Throws kiln::Error if the driver has no context for it.
  Context(std::string name, int device);

  const std::string& name() const { return name_; }
  void* handle() const { return context_; }

  /// Keeps the context open.
  using Open = std::shared_lock<ForkSafe<std::shared_mutex>>;
  /// Makes it the context of the thread, which the driver's calls are about. Not to be nested. Throws
  /// kiln::Error after close(), and in a child of fork(), to which the driver gives no GPU of its parent.
  [[nodiscard]] Open use() const;
  /// The same for giving something back: also after close(), and false in place of errors. If it is false,
  /// the driver has taken everything back already.
  bool enter() const noexcept;

  /// Waits until nobody uses the context and the GPU's work is done. False in a child of fork().
  bool close() noexcept;
  /// After close(), once nothing is left in the context.
  void release() noexcept;

 private:
  const std::string name_;
  const int device_;
  const pid_t process_;
  void* context_ = nullptr;
  mutable ForkSafe<std::shared_mutex> mutex_;
  bool closed_ = false;
};

}  // namespace kiln::nvidia
