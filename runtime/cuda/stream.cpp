// Enqueues and waits for work of a GPU.
#include "runtime/cuda/stream.h"

#include "runtime/cuda/driver.h"

namespace kiln::nvidia {

Stream::Stream(const Context& context) {
  constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING: not ordered with the default stream
  const auto open = context.use();
  nvidia::check(driver().create_stream(&handle_, non_blocking), "opening a stream of the GPU");
}

void Stream::check(int result, const char* what) const {
  if (result != success) nvidia::check(result, what, in_flight_.str());
}

void Stream::wait(const char* what) {
  const std::size_t launches = in_flight_.count();
  check(driver().wait_stream(handle_), what);
  in_flight_.done(launches);
}

void Stream::close() noexcept { driver().destroy_stream(handle_); }

Event::Event(bool has_time) {
  constexpr unsigned disable_timing = 2;  // CU_EVENT_DISABLE_TIMING
  check(driver().create_event(&handle_, has_time ? 0 : disable_timing), "making an event of the GPU");
}

Event::~Event() { driver().destroy_event(handle_); }

void Event::record(Stream& stream) {
  launches_ = stream.in_flight_.count();
  stream.check(driver().record_event(handle_, stream.handle()), "marking the GPU's work");
  stream_ = &stream;
}

void Event::wait(const char* what) {
  if (!stream_) return;
  stream_->check(driver().wait_event(handle_), what);
  stream_->in_flight_.done(launches_);
}

double Event::seconds(const Event& from, const Event& to) {
  float milliseconds = 0;
  to.stream_->check(driver().elapsed(&milliseconds, from.handle_, to.handle_), "timing the GPU's work");
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace kiln::nvidia
