// Records the times of kernels.
#include "runtime/profile.h"

#include "runtime/median.h"

#include <algorithm>

namespace kiln {

Profile::Record*& Profile::Record::current() {
  thread_local Record* record = nullptr;
  return record;
}

void Profile::Record::add_event(const Event& event) {
  if (events.size() < max_events)
    events.push_back(event);
  else
    ++dropped_events;
}

void Profile::Record::add(const Step& step, Clock::time_point begin, double seconds,
                          const std::string& schedule) {
  const auto [at, unseen] = kernels.try_emplace(&step);
  // A later step may have the address of a destroyed one: its name tells them apart.
  Measured& m = at->second;
  if (unseen || m.kernel.name != step.name) {
    m = {{step.name, step.locations}, {}, static_cast<std::uint32_t>(traced.size())};
    m.kernel.schedule = schedule;
    traced.push_back(m.kernel);
  }
  if (m.seconds.size() < max_samples)
    m.seconds.push_back(seconds);
  else
    m.seconds[static_cast<std::size_t>(m.kernel.runs) % max_samples] = seconds;
  ++m.kernel.runs;
  m.kernel.seconds += seconds;
  m.kernel.schedule = schedule;
  add_event({m.number, false, std::chrono::duration<double>(begin - made).count(), seconds});
}

void Profile::Record::add_call(const std::string& graph, Clock::time_point begin, double seconds) {
  // Few graphs are called in turn, mostly one.
  const auto known = std::find(calls.rbegin(), calls.rend(), graph);
  const auto number =
      known == calls.rend() ? calls.size() : static_cast<std::size_t>(calls.rend() - known) - 1;
  if (known == calls.rend()) calls.push_back(graph);
  add_event({static_cast<std::uint32_t>(number), true, std::chrono::duration<double>(begin - made).count(),
             seconds});
}

Profile::Profile() : record_(std::make_unique<Record>()) {
  Record::alive.fetch_add(1, std::memory_order_relaxed);
  record_->outer = Record::current();
  Record::current() = record_.get();
}

Profile::~Profile() {
  Record::alive.fetch_sub(1, std::memory_order_relaxed);
  for (Record** at = &Record::current(); *at; at = &(*at)->outer)
    if (*at == record_.get()) {
      *at = record_->outer;
      return;
    }
}

std::vector<Profile::Kernel> Profile::kernels() const {
  std::vector<Kernel> list;
  for (const auto& [step, measured] : record_->kernels) {
    Kernel& k = list.emplace_back(measured.kernel);
    std::vector<double> times = measured.seconds;
    k.median_seconds = median_of(times);
    k.min_seconds = *std::min_element(times.begin(), times.end());
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Kernel& a, const Kernel& b) { return a.seconds > b.seconds; });
  return list;
}

}  // namespace kiln
