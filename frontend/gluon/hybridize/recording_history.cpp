// Chooses the nearest earlier recording, logs recordings, and warns of many.
#include "frontend/gluon/hybridize/recording_history.h"

#include "codegen/driver/compile.h"
#include "codegen/driver/report.h"
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/recording_remedy.h"
#include "runtime/log.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace kiln::detail {
namespace {

using Difference = RecordingReason::Difference;
using Kind = RecordingReason::Kind;

/// The differences from the earlier recording with the fewest; of several, from one with the same signature,
/// which the call would have used, else from the newest.
std::vector<Difference> nearest_differences(const std::deque<std::shared_ptr<const RecordingFacts>>& earlier,
                                            const RecordingFacts& now) {
  std::vector<Difference> nearest;
  bool nearest_has_signature = false;
  for (auto it = earlier.rbegin(); it != earlier.rend(); ++it) {
    std::vector<Difference> found = differences(**it, now);
    const bool has_signature = (*it)->signature == now.signature;
    if (!nearest.empty() && (found.size() > nearest.size() ||
                             (found.size() == nearest.size() && (nearest_has_signature || !has_signature))))
      continue;
    nearest = std::move(found);
    nearest_has_signature = has_signature;
  }
  return nearest;
}

/// Whether another copy of the block has a recording.
bool has_recordings(const HybridBlock& block) {
  BlockState& state = BlockAccess::state(block);
  const std::lock_guard lock(state.recordings_mutex);
  return std::any_of(state.recordings.begin(), state.recordings.end(),
                     [](const auto& weak) { return !weak.expired(); });
}

/// "1, 2, 8 and 13 others": numbers in their order.
std::string list_of(const std::set<std::string>& values) {
  std::vector<std::string> sorted(values.begin(), values.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
    const auto number = [](const std::string& s) { return s.find_first_not_of("0123456789") == s.npos; };
    return number(a) && number(b) && a.size() < b.size();
  });
  constexpr std::size_t most = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) list += (i == 0 ? "" : ", ") + sorted[i];
  if (sorted.size() > most) list += fmt::format(" and {} others", sorted.size() - most);
  return list;
}

}  // namespace

RecordingReason RecordingHistory::reason(const HybridBlock& block, const TracedCall& call, std::string name) {
  RecordingReason reason;
  reason.network = std::move(name);
  reason.inputs = call.signature.str();
  reason.line = program_line(CallSite::caller());
  const std::lock_guard lock(mutex_);
  if (!earlier_.empty())
    reason.differences = nearest_differences(earlier_, RecordingFacts(block, call, earlier_.back().get()));
  else if (ReportScope::current())
    reason.differences = {{Kind::first_call, "this is the first call, made for a page", {}, {}}};
  else if (has_recordings(block))
    reason.differences = {
        {Kind::copy, "this copy of the block has no recordings yet, but other copies have", {}, {}}};
  else
    reason.differences = {{Kind::first_call, "this is the first call", {}, {}}};
  reason.remedy = remedy_for(reason.differences.front());
  return reason;
}

void RecordingHistory::count(const RecordingReason& reason) {
  for (const Difference& d : reason.differences) {
    Varied& varied = varied_[d.what];
    varied.kind = d.kind;
    ++varied.times;
    if (!d.was.empty()) varied.values.insert(d.was);
    if (!d.now.empty()) varied.values.insert(d.now);
  }
}

std::string RecordingHistory::warning(const RecordingReason& reason) const {
  const auto most = std::max_element(varied_.begin(), varied_.end(), [](const auto& a, const auto& b) {
    return a.second.times < b.second.times;
  });
  const auto& [what, varied] = *most;
  std::string text =
      fmt::format("{}{} was recorded {} times, which takes time and memory. Most often {}",
                  reason.line.empty() ? "" : reason.line + ": ", reason.network, made_,
                  varied.values.empty() ? "the reason was: " + what
                                        : fmt::format("{} varied: {}", what, list_of(varied.values)));
  if (const std::string remedy = remedy_for({varied.kind, what, "", ""}); !remedy.empty())
    text += ". Remedy: " + remedy;
  return text + ". KILN_LOG=compile prints the reason of each recording";
}

void RecordingHistory::report(const HybridBlock& block, const TracedCall& call,
                              const RecordingReason& reason) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const RecordingFacts* const before = earlier_.empty() ? nullptr : earlier_.back().get();
    earlier_.push_back(std::make_shared<const RecordingFacts>(block, call, before));
    if (earlier_.size() > max_remembered) earlier_.pop_front();
    ++made_;
    if (made_ > 1 && made_ <= max_quiet + 1) count(reason);
    if (made_ == max_quiet + 1) {
      text = warning(reason);
      varied_.clear();
    }
  }
  if (log_enabled(LogCategory::compile))
    log_info(LogCategory::compile, reason.str(), fmt::format("{{\"recording\":{}}}", reason.json()));
  if (!text.empty()) warn_once("recordings of " + reason.network, text);
}

void set_purpose(CompileOptions& options, const RecordingReason& reason) {
  const Difference& first = reason.differences.front();
  std::string_view what = first.what;
  if (what.starts_with("the ")) what.remove_prefix(4);
  options.purpose = {reason.inputs, std::string(first.was.empty() ? name_of(first.kind) : what),
                     reason.str()};
}

}  // namespace kiln::detail
