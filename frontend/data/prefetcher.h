// Batches made ahead on threads.
#pragma once
#include <kiln/batchify.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <sys/types.h>

namespace kiln::data {

/// Makes batches ahead on its worker threads, and hands them out in order.
class Prefetcher {
 public:
  /// Batches `first` to `end` - 1, each by `make`, which any of the threads calls. At most `ahead` batches
  /// are prefetched. Without workers, take() makes them. Throws if a thread cannot start.
  Prefetcher(std::int64_t first, std::int64_t end, int workers, int ahead,
             std::function<Batch(std::int64_t)> make);
  /// Waits for the batches in work, and ends the threads.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The number of the batch that take() returns; `end` after the last one.
  std::int64_t next() const { return next_; }
  /// Batch next(); throws what make() threw for it. Either way the next call takes the following batch. There
  /// must be one.
  Batch take();

 private:
  struct Work;
  /// Whether this is a child of a fork() since: it has none of the threads, and their batches are lost.
  bool forked() const;

  std::int64_t next_;
  std::function<Batch(std::int64_t)> make_;
  std::unique_ptr<Work> work_;  // null without workers
  pid_t owner_;
};

}  // namespace kiln::data
