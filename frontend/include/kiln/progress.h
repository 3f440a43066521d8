// Progress: a bar, lines and a log of a training run.
#pragma once
#include <kiln/data_loader.h>
#include <kiln/export.h>
#include <kiln/metric.h>

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>

namespace kiln {

/// Options of Progress.
struct ProgressOptions {
  std::int64_t epochs = 0;     ///< of the whole run; 0: not known, then no time left is shown
  std::int64_t interval = 50;  ///< batches from one line, and row of the log, to the next; at least 1
  /// A file that gets the log: .csv or .jsonl (a JSON object in each line). None: no log.
  std::string log = {};
  int descriptor = 2;  ///< the file that is shown on: stderr
};

/// Shows the progress of a training run:
///
/// ```
/// Progress progress(batches, {.epochs = 10, .log = "training.csv"});
///
/// for (...) {
///   for (const auto& [x, y] : batches) {
///     ...
///     progress.step(32, {mean_loss.get(), accuracy.get()});
///   }
///   progress.end_epoch({mean_loss.get(), {"held out", accuracy_of(net)}});
/// }
/// ```
///
/// On a terminal a bar in the last line, with the epoch, samples a second, metrics and the time left. In
/// other files lines as of MXNet's Speedometer, every `interval` batches. After each epoch a line on either.
///
///     Epoch[0] Batch [50]   Speed: 1234.56 samples/sec   loss=0.693147   left 1:23
///
/// The log has a row for each of these lines. Its columns are `event` ("batch" or "epoch"), `epoch` (counted
/// from 0), `batch` (the number done in the epoch), `seconds`, and `speed` in samples a second. Further
/// columns are the metrics, by name. Seconds are counted from the beginning of the run, or of the first run
/// that it continues. A run that continues another, by a checkpoint, appends to its log. Rows from the place
/// where it continues on are dropped first: the rows equal the rows of a run that was never interrupted.
///
/// Thread rule: one thread at a time.
class KILN_API Progress {
 public:
  using Where = std::source_location;

  /// Where the run is, the loader says. Throws for an unknown ending of the log's name, and a file that is no
  /// such log.
  explicit Progress(const data::DataLoader& loader, const ProgressOptions& options = {},
                    Where where = Where::current());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Another batch is done, with this number of samples. Throws if the log cannot be written.
  void step(std::int64_t samples, const metric::NamedValues& metrics = {}, Where where = Where::current());
  /// The epoch is over: call it after the loop over its batches.
  void end_epoch(const metric::NamedValues& metrics = {}, Where where = Where::current());

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kiln
