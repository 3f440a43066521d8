// The one stream of a GPU.
#pragma once
#include "runtime/cuda/context.h"
#include "runtime/cuda/in_flight.h"

#include <cstddef>
#include <string_view>

namespace kiln::nvidia {

/// All work of a GPU, in the order of the calls. It is not the default stream: nothing else in the process
/// waits for it. The caller makes the context current, except for the constructor. Any thread.
class Stream {
 public:
  explicit Stream(const Context& context);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void* handle() const { return handle_; }

  /// After a launch, for errors.
  void launched(std::string_view name, std::string_view line) { in_flight_.add(name, line); }
  /// Throws kiln::Error for a result that is no success. The error of a kernel names the kernels that may be
  /// running.
  void check(int result, const char* what) const;
  /// Waits for all work so far.
  void wait(const char* what);
  /// Its work is done, and there is no more of it.
  void close() noexcept;

 private:
  friend class Event;
  void* handle_ = nullptr;
  InFlight in_flight_;
};

/// A place in the work of a stream. The caller uses the context. One thread at a time.
class Event {
 public:
  explicit Event(bool has_time = false);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// The place after all work so far.
  void record(Stream& stream);
  /// Waits for the work before the place; not at all if there is none.
  void wait(const char* what);
  /// Between two places whose work is done, of events that have a time.
  static double seconds(const Event& from, const Event& to);

 private:
  void* handle_ = nullptr;
  Stream* stream_ = nullptr;
  std::size_t launches_ = 0;  // before the place
};

}  // namespace kiln::nvidia
