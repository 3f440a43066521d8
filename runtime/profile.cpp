// Records the times of kernels.
#include "runtime/profile.h"

#include "runtime/median.h"

#include <algorithm>

namespace kiln {

Profile::Record*& Profile::Record::current() {
  thread_local Record* record = nullptr;
  return record;
}

Profile::Record::Caller::Caller(Record& record, std::string_view compiled_line, std::string line,
                                std::string_view compiled_name, std::string_view name)
    : record_(record),
      outer_(std::exchange(record.caller, this)),
      compiled_line_(compiled_line),
      compiled_name_(compiled_name),
      name_(name),
      line_(std::move(line)) {}

std::vector<std::string> Profile::Record::Caller::lines_of(const Step& step) const {
  std::vector<std::string> lines;
  for (const std::string& compiled : step.locations)
    if (compiled != compiled_line_) lines.push_back(compiled);
  // Steps of operators that have no line of their own are of the call alone.
  if (!line_.empty() && (step.locations.empty() || lines.size() < step.locations.size()) &&
      std::find(lines.begin(), lines.end(), line_) == lines.end())
    lines.insert(lines.begin(), line_);
  return lines;
}

std::string Profile::Record::Caller::name_of(const Step& step) const {
  if (name_.empty() || !step.name.starts_with(compiled_name_)) return step.name;
  return std::string(name_) + step.name.substr(compiled_name_.size());
}

void Profile::Record::add_event(const Event& event) {
  if (events.size() < max_events)
    events.push_back(event);
  else
    ++dropped_events;
}

void Profile::Record::add(const Step& step, Clock::time_point begin, double seconds,
                          const std::string& schedule) {
  Key key{&step};
  if (caller) key = {&step, caller->line(), std::string(caller->name())};
  const auto [at, unseen] = kernels.try_emplace(std::move(key));
  // A later step may have the address of a destroyed one: its name tells them apart.
  Measured& m = at->second;
  if (unseen || m.step_name != step.name) {
    Kernel kernel{step.name, step.locations};
    if (caller) kernel = {caller->name_of(step), caller->lines_of(step)};
    m = {std::move(kernel), step.name, {}, static_cast<std::uint32_t>(traced.size())};
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
  for (const auto& [key, measured] : record_->kernels) {
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
