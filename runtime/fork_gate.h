// Makes fork() safe while other threads are inside of Kiln.
#pragma once
#include <mutex>

/// fork() copies only the calling thread. In the child, a lock that another thread held would stay locked for
/// ever, and a compilation in progress would never end. The gate makes fork() wait until all other threads
/// are outside of such regions; they enter again after it. The child computes on one thread if the parent had
/// workers: oneTBB's threads do not exist in it.
namespace kiln {

/// During its lifetime, another thread's fork() waits. Guards nest; only the outermost costs an atomic
/// increment.
class ForkGuard {
 public:
  ForkGuard() noexcept { enter(); }
  ~ForkGuard() { leave(); }
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  static void enter() noexcept;
  static void leave() noexcept;
};

/// The same for a worker of a loop. It never waits for a fork(): a thread inside the gate waits for the
/// worker.
class ForkGuardOfWorker {
 public:
  ForkGuardOfWorker() noexcept;
  ~ForkGuardOfWorker() { ForkGuard::leave(); }
  ForkGuardOfWorker(const ForkGuardOfWorker&) = delete;
  ForkGuardOfWorker& operator=(const ForkGuardOfWorker&) = delete;
};

/// A mutex that no other thread holds during a fork().
template <class M>
class ForkSafe {
 public:
  void lock() {
    ForkGuard::enter();
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
    ForkGuard::leave();
  }
  void lock_shared() requires requires(M& m) { m.lock_shared(); }
  {
    ForkGuard::enter();
    mutex_.lock_shared();
  }
  void unlock_shared() requires requires(M& m) { m.unlock_shared(); }
  {
    mutex_.unlock_shared();
    ForkGuard::leave();
  }

 private:
  M mutex_;
};

using Mutex = ForkSafe<std::mutex>;

}  // namespace kiln
