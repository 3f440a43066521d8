// The display of a training run on a terminal or in a file.
#pragma once
#include <kiln/metric.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace kiln {

/// The numbers to show after a batch.
struct ShownState {
  std::int64_t epoch = 0, epochs = 0;   ///< counted from 0; 0 epochs: not known
  std::int64_t batch = 0, batches = 0;  ///< done, and of the epoch
  double speed = 0;                     ///< samples a second
  std::optional<double> seconds_left;
  metric::NamedValues metrics;
};

/// "loss=0.693147", as MXNet prints metrics, each preceded by `separator`.
std::string metric_text(const metric::NamedValues& metrics, const char* separator);
/// "1:02:03", "0:42".
std::string duration_text(double seconds);
/// A line as of MXNet's Speedometer.
std::string speed_line(const ShownState& state);
/// At most `width` characters: "epoch 3/8 [####----] 58% 1234 samples/s loss=0.1 left 1:23".
std::string bar_line(const ShownState& state, int width);

/// The file on which a run is shown: lines, or on a terminal a bar in its last line.
class Display {
 public:
  explicit Display(int descriptor);
  /// Removes the bar.
  ~Display();
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  bool is_terminal() const { return terminal_; }
  /// A line; a bar goes away.
  void line(const std::string& text);
  /// Whether the bar is old enough to be shown again: it is, ten times a second at most.
  bool bar_due() const;
  void bar(const ShownState& state);

 private:
  using Clock = std::chrono::steady_clock;

  /// Errors are ignored: training continues where nobody looks.
  void write(const std::string& text) const;

  int descriptor_;
  bool terminal_, bar_shown_ = false;
  Clock::time_point shown_{};
};

}  // namespace kiln
