#pragma once
#include <mutex>

/// fork() copies the thread that calls it and no other: a lock that another thread holds would stay locked in
/// the child for ever, and a compilation in progress would never end there. The gate makes fork() wait until
/// all other threads are outside of such places, which they enter again after it. The child then computes on
/// one thread if the parent had workers: oneTBB's threads do not exist in it.
namespace kiln {

/// While one lives, another thread's fork() waits. Guards nest, and cost an atomic increment outermost.
class ForkGuard {
 public:
  ForkGuard() noexcept { enter(); }
  ~ForkGuard() { leave(); }
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  static void enter() noexcept;
  static void leave() noexcept;
};

/// The same for a worker of a loop, for which a thread inside of the gate waits: it never waits for a fork().
class ForkGuardOfWorker {
 public:
  ForkGuardOfWorker() noexcept;
  ~ForkGuardOfWorker() { ForkGuard::leave(); }
  ForkGuardOfWorker(const ForkGuardOfWorker&) = delete;
  ForkGuardOfWorker& operator=(const ForkGuardOfWorker&) = delete;
};

/// A mutex that no other thread holds while the process forks.
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
