// Records the times of kernels.
#include "runtime/profile.h"

#include "runtime/median.h"

#include <algorithm>

namespace kiln {

Profile::Record*& Profile::Record::current() {
  thread_local Record* record = nullptr;
  return record;
}

void Profile::Record::add(const Step& step, double seconds, const std::string& schedule) {
  const auto [at, unseen] = kernels.try_emplace(&step);
  // A later step may have the address of a destroyed one: its name tells them apart.
  Measured& m = at->second;
  if (unseen || m.kernel.name != step.name) m = {{step.name, step.locations}, {}};
  if (m.seconds.size() < max_samples)
    m.seconds.push_back(seconds);
  else
    m.seconds[static_cast<std::size_t>(m.kernel.runs) % max_samples] = seconds;
  ++m.kernel.runs;
  m.kernel.seconds += seconds;
  m.kernel.schedule = schedule;
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
