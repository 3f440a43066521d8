// Records the times of kernels.
#include "runtime/profile.h"

#include <algorithm>

namespace kiln {

Profile::Record*& Profile::Record::current() {
  thread_local Record* record = nullptr;
  return record;
}

void Profile::Record::add(const Step& step, double seconds, const std::string& schedule) {
  const auto [at, unseen] = kernels.try_emplace(&step);
  // A later step may have the address of a destroyed one: its name tells them apart.
  if (unseen || at->second.name != step.name) at->second = {step.name, step.locations};
  ++at->second.runs;
  at->second.seconds += seconds;
  at->second.schedule = schedule;
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
  for (const auto& [step, kernel] : record_->kernels) list.push_back(kernel);
  std::stable_sort(list.begin(), list.end(),
                   [](const Kernel& a, const Kernel& b) { return a.seconds > b.seconds; });
  return list;
}

}  // namespace kiln
