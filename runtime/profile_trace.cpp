// The trace of a Profile as JSON, for chrome://tracing and Perfetto.
#include "runtime/fail.h"
#include "runtime/profile.h"
#include "runtime/text_file.h"

#include <kiln/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kiln {
namespace {

using Json = nlohmann::ordered_json;

/// Begins and durations in microseconds. A kernel's begin and end lie in its call's, which the clock of a
/// device may round otherwise.
Json event_json(const Profile::Record& record, const Profile::Record::Event& event) {
  Json json{{"name", ""},
            {"cat", event.is_call ? "call" : "kernel"},
            {"ph", "X"},
            {"ts", event.begin * 1e6},
            {"dur", event.seconds * 1e6},
            {"pid", 1},
            {"tid", 1}};
  if (event.is_call) {
    json["name"] = record.calls[event.number];
    return json;
  }
  const Profile::Kernel& kernel = record.traced[event.number];
  json["name"] = kernel.name;
  json["args"]["lines"] = kernel.lines;
  if (!kernel.schedule.empty()) json["args"]["schedule"] = kernel.schedule;
  return json;
}

Json name_json(const char* kind, const char* name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", name}}}};
}

}  // namespace

void Profile::chrome_trace(const std::string& path) const {
  const Record& record = *record_;
  // Viewers nest events of equal begins in the order of the file: the longer one first.
  std::vector<Record::Event> events = record.events;
  std::stable_sort(events.begin(), events.end(), [](const Record::Event& a, const Record::Event& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.is_call && !b.is_call;
  });
  Json list{name_json("process_name", "Kiln"), name_json("thread_name", "calls and kernels")};
  for (const Record::Event& event : events) list.push_back(event_json(record, event));
  const Json all{{"traceEvents", std::move(list)},
                 {"displayTimeUnit", "ns"},
                 {"otherData", {{"kiln", version()}, {"events_left_out", record.dropped_events}}}};
  // Names of files and nodes may be no UTF-8.
  const std::string text = all.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  if (const std::string problem = write_text(path, text); !problem.empty())
    fail("{}: the trace cannot be written: {}", path, problem);
}

}  // namespace kiln
