// Progress: where a run is, how fast it goes, and when that is shown and logged.
#include "frontend/call/line.h"
#include "frontend/gluon/progress/shown.h"
#include "frontend/gluon/progress/training_log.h"
#include "runtime/fail.h"

#include <kiln/progress.h>

#include <chrono>
#include <optional>
#include <utility>

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Samples, and since when.
struct Meter {
  Clock::time_point begin = Clock::now();
  std::int64_t samples = 0;

  double speed() const {
    const double seconds = seconds_since(begin);
    return seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  }
};

}  // namespace

struct Progress::Impl {
  data::DataLoader loader;
  ProgressOptions options;
  Display display;
  std::optional<TrainingLog> log;
  bool log_continued = false;
  double seconds_before = 0;  // of the runs that this one continues

  const Clock::time_point begin = Clock::now();
  std::int64_t steps = 0;  // of this process
  Meter since_line, since_epoch;
  std::int64_t batches = 0;  // of the epoch

  Impl(const data::DataLoader& loader, const ProgressOptions& options)
      : loader(loader), options(options), display(options.descriptor) {
    if (options.interval < 1)
      fail("the interval of a Progress is {}: it is a number of batches, 1 or more", options.interval);
    if (!options.log.empty()) log.emplace(options.log);
  }

  void step(std::int64_t samples, const metric::NamedValues& metrics) {
    const data::LoaderState place = loader.state();
    batches = loader.size({});
    ++steps;
    since_line.samples += samples;
    since_epoch.samples += samples;
    const bool line_due = place.position % options.interval == 0;
    if (log) continue_log({place.epoch, false, place.position});
    if (!line_due && !display.bar_due()) return;

    const ShownState state{place.epoch,        options.epochs,      place.position, batches,
                           since_line.speed(), seconds_left(place), metrics};
    if (display.bar_due()) display.bar(state);
    if (!line_due) return;
    if (!display.is_terminal()) display.line(speed_line(state));
    if (log) log->append({place.epoch, false, place.position}, cells(state.speed, metrics));
    since_line = {};
  }

  void end_epoch(const metric::NamedValues& metrics) {
    // A loop that has ended says that the next epoch comes, one that was left where it was left.
    const data::LoaderState next = loader.state();
    const bool ended = next.position == 0 && next.epoch > 0;
    const LogPlace place{ended ? next.epoch - 1 : next.epoch, true, ended ? batches : next.position};
    const double seconds = seconds_since(since_epoch.begin);
    display.line(
        fmt::format("Epoch[{}] Time cost={:.3f}{}", place.epoch, seconds, metric_text(metrics, "\t")));
    if (log) {
      continue_log(place);
      log->append(place, cells(since_epoch.speed(), metrics));
    }
    since_line = since_epoch = {};
  }

 private:
  void continue_log(const LogPlace& place) {
    if (!std::exchange(log_continued, true)) seconds_before = log->continue_at(place);
  }

  LogRow cells(double speed, const metric::NamedValues& metrics) const {
    LogRow row = {{seconds_column, seconds_before + seconds_since(begin)}, {"speed", speed}};
    for (const auto& [name, value] : metrics) row.emplace_back(name, value);
    return row;
  }

  /// As the batches of this process took, all between them included.
  std::optional<double> seconds_left(const data::LoaderState& place) const {
    if (options.epochs == 0) return {};
    const auto left = static_cast<double>((options.epochs - place.epoch) * batches - place.position);
    return left * seconds_since(begin) / static_cast<double>(steps);
  }
};

Progress::Progress(const data::DataLoader& loader, const ProgressOptions& options, Where where)
    : impl_(at_line(where, [&] { return std::make_unique<Impl>(loader, options); })) {}
Progress::~Progress() = default;

void Progress::step(std::int64_t samples, const metric::NamedValues& metrics, Where where) {
  at_line(where, [&] { impl_->step(samples, metrics); });
}
void Progress::end_epoch(const metric::NamedValues& metrics, Where where) {
  at_line(where, [&] { impl_->end_epoch(metrics); });
}

}  // namespace kiln
