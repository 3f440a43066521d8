// Workers that make batches ahead, and their hand-over in order.
#include "frontend/data/prefetcher.h"

#include "runtime/fail.h"

#include <kiln/threads.h>

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace kiln::data {

struct Prefetcher::Work {
  struct Made {
    Batch batch;
    std::exception_ptr error;
  };

  const std::int64_t end;
  const int ahead;
  const std::function<Batch(std::int64_t)>& make;

  std::mutex mutex;
  std::condition_variable wanted, finished;
  std::map<std::int64_t, Made> made = {};  // finished, and not taken yet
  std::int64_t begun;                      // the first batch that no thread has begun
  std::int64_t requested;                  // the first batch that take() has not requested
  bool stop = false;
  std::vector<std::thread> threads = {};

  void run() {
    // Samples are made side by side: threads within one would compete with the training's threads.
    const ThreadLimit alone(1);
    std::unique_lock lock(mutex);
    for (;;) {
      wanted.wait(lock, [&] { return stop || begun == end || begun < requested + ahead; });
      if (stop || begun == end) return;
      const std::int64_t number = begun++;
      lock.unlock();
      Made result;
      try {
        result.batch = make(number);
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      made.emplace(number, std::move(result));
      finished.notify_one();
    }
  }

  Made take() {
    std::unique_lock lock(mutex);
    const std::int64_t number = requested++;
    wanted.notify_one();
    finished.wait(lock, [&] { return made.contains(number); });
    return std::move(made.extract(number).mapped());
  }

  void join() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    wanted.notify_all();
    for (std::thread& t : threads) t.join();
  }
};

Prefetcher::Prefetcher(std::int64_t first, std::int64_t end, int workers, int ahead,
                       std::function<Batch(std::int64_t)> make)
    : next_(first), make_(std::move(make)), owner_(::getpid()) {
  if (workers == 0 || first == end) return;
  work_.reset(new Work{.end = end,
                       .ahead = ahead,
                       .make = make_,
                       .mutex = {},
                       .wanted = {},
                       .finished = {},
                       .begun = first,
                       .requested = first});
  try {
    for (int i = 0; i < workers; ++i) work_->threads.emplace_back([work = work_.get()] { work->run(); });
  } catch (const std::system_error& e) {
    const std::size_t started = work_->threads.size();
    work_->join();
    fail("thread {} of {} workers of a DataLoader cannot start: {}; use a smaller num_workers", started + 1,
         workers, e.what());
  }
}

Prefetcher::~Prefetcher() {
  if (!work_) return;
  // The memory stays: its threads cannot be joined, and its mutex may be locked for ever.
  if (forked())
    (void)work_.release();
  else
    work_->join();
}

bool Prefetcher::forked() const { return ::getpid() != owner_; }

Batch Prefetcher::take() {
  const std::int64_t number = next_++;
  if (!work_ || forked()) return make_(number);
  Work::Made made = work_->take();
  if (made.error) std::rethrow_exception(std::move(made.error));
  return std::move(made.batch);
}

}  // namespace kiln::data
