// Streams: work in order, done as late as possible.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

/// Work in the order of its calls, done no sooner than somebody waits for it.
namespace kiln::ptx {

class Stream {
 public:
  /// Blocking: it waits for what the default stream has, and the default stream for it. Recovers: an error is
  /// told once; else by each later wait, as a context is lost then.
  explicit Stream(bool is_blocking, bool recovers = false) : is_blocking_(is_blocking), recovers_(recovers) {}
  bool is_blocking() const { return is_blocking_; }

  /// Work returns the driver's result.
  void add(std::function<int()> work) { work_.push_back(std::move(work)), ++added_; }
  std::uint64_t added() const { return added_; }
  bool is_done(std::uint64_t position) const { return done_ >= position; }
  /// Does the work that was added before `position`. The first result that is no success.
  int run_until(std::uint64_t position);
  int run() { return run_until(added_); }

 private:
  std::deque<std::function<int()>> work_;
  std::uint64_t added_ = 0, done_ = 0;
  int lost_ = 0;  // the result of work that failed
  bool is_blocking_, recovers_;
};

/// A place in a stream's work.
struct Event {
  bool has_time = true;
  std::shared_ptr<Stream> stream;  ///< null: not recorded
  std::uint64_t position = 0;
  std::shared_ptr<std::optional<double>> milliseconds;  ///< when it was reached
  bool is_done() const { return !stream || stream->is_done(position); }
};

/// The streams and events of the device, by their handles. Null is the default stream.
class Streams {
 public:
  void* create(bool is_blocking);
  /// Does its work. Null if there is no such stream.
  std::shared_ptr<Stream> find(void* handle) const;
  bool destroy(void* stream);
  void* create_event(bool has_time);
  Event* find_event(void* handle);
  bool destroy_event(void* event) { return events_.erase(event) > 0; }

  /// Adds work to the stream, after what the default stream's rules say.
  void add(const std::shared_ptr<Stream>& stream, std::function<int()> work);
  void record(Event& event, const std::shared_ptr<Stream>& stream);
  /// The stream's further work waits for the event.
  void wait(const std::shared_ptr<Stream>& stream, const Event& event);
  /// All work of all streams, in an order of streams that the seed chooses. The first result that is no
  /// success.
  int run_all();

  /// The clock of events: a launch takes 1/64 ms, so that times are the same in each run.
  void tick() { ++ticks_; }

  std::size_t stream_count() const { return streams_.size(); }
  std::size_t event_count() const { return events_.size(); }

 private:
  /// It recovers, for programs that try one defect after the other.
  std::shared_ptr<Stream> default_ = std::make_shared<Stream>(true, true);
  std::map<void*, std::shared_ptr<Stream>> streams_;
  std::map<void*, std::unique_ptr<Event>> events_;
  std::uint64_t ticks_ = 0;
};

}  // namespace kiln::ptx
