// Runs the work of streams when somebody waits.
#include "stream.h"

#include <cstdlib>
#include <utility>
#include <vector>

namespace kiln::ptx {

int Stream::run_until(std::uint64_t position) {
  while (done_ < position && !work_.empty()) {
    // Work may wait for another stream, whose work may wait for what this one has done.
    const std::function<int()> work = std::move(work_.front());
    work_.pop_front();
    const int of_work = work();
    if (lost_ == 0) lost_ = of_work;
    ++done_;
  }
  return recovers_ ? std::exchange(lost_, 0) : lost_;
}

void* Streams::create(bool is_blocking) {
  auto stream = std::make_shared<Stream>(is_blocking, std::getenv("KILN_PTX_RECOVERS") != nullptr);
  void* const handle = stream.get();
  streams_.emplace(handle, std::move(stream));
  return handle;
}

std::shared_ptr<Stream> Streams::find(void* handle) const {
  if (!handle) return default_;
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second;
}

bool Streams::destroy(void* handle) { return streams_.erase(handle) > 0; }

void* Streams::create_event(bool has_time) {
  auto event = std::make_unique<Event>();
  event->has_time = has_time;
  void* const handle = event.get();
  events_.emplace(handle, std::move(event));
  return handle;
}

Event* Streams::find_event(void* handle) {
  const auto found = events_.find(handle);
  return found == events_.end() ? nullptr : found->second.get();
}

void Streams::add(const std::shared_ptr<Stream>& stream, std::function<int()> work) {
  const auto wait_for = [&](const std::shared_ptr<Stream>& other) {
    if (other != stream && !other->is_done(other->added()))
      stream->add([other, position = other->added()] { return other->run_until(position); });
  };
  if (stream == default_) {
    for (const auto& [handle, other] : streams_)
      if (other->is_blocking()) wait_for(other);
  } else if (stream->is_blocking()) {
    wait_for(default_);
  }
  stream->add(std::move(work));
}

void Streams::record(Event& event, const std::shared_ptr<Stream>& stream) {
  event.milliseconds = std::make_shared<std::optional<double>>();
  add(stream, [this, at = event.milliseconds] { return *at = static_cast<double>(ticks_) / 64, 0; });
  event.stream = stream;
  event.position = stream->added();
}

void Streams::wait(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (event.stream)
    add(stream, [other = event.stream, position = event.position] { return other->run_until(position); });
}

int Streams::run_all() {
  std::vector<std::shared_ptr<Stream>> all{default_};
  for (const auto& [handle, stream] : streams_) all.push_back(stream);
  const char* const text = std::getenv("KILN_PTX_SEED");
  const std::size_t first = text ? std::strtoull(text, nullptr, 10) : 1;
  int result = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const int r = all[(first + i) % all.size()]->run(); result == 0) result = r;
  return result;
}

}  // namespace kiln::ptx
