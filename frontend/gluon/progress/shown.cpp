// The texts of a progress bar and of the lines in a log.
#include "frontend/gluon/progress/shown.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace kiln {
namespace {

constexpr std::string_view clear_line = "\r\x1b[K";
constexpr int bar_cells = 20;

int width_of(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string metric_text(const metric::NamedValues& metrics, const char* separator) {
  std::string text;
  for (const auto& [name, value] : metrics) text += fmt::format("{}{}={:f}", separator, name, value);
  return text;
}

std::string duration_text(double seconds) {
  const auto s = static_cast<std::int64_t>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string speed_line(const ShownState& state) {
  std::string text =
      fmt::format("Epoch[{}] Batch [{}]\tSpeed: {:.2f} samples/sec", state.epoch, state.batch, state.speed);
  text += metric_text(state.metrics, "\t");
  if (state.seconds_left) text += "\tleft " + duration_text(*state.seconds_left);
  return text;
}

std::string bar_line(const ShownState& state, int width) {
  std::string text = fmt::format("epoch {}", state.epoch + 1);
  if (state.epochs > 0) text += fmt::format("/{}", state.epochs);
  if (state.batches > 0) {
    const double share = std::min(1.0, static_cast<double>(state.batch) / static_cast<double>(state.batches));
    const auto full = static_cast<int>(share * bar_cells);
    text +=
        fmt::format(" [{}{}] {:3.0f}%", std::string(static_cast<std::size_t>(full), '#'),
                    std::string(static_cast<std::size_t>(bar_cells - full), '-'), std::floor(100 * share));
  }
  text += fmt::format(" {:.0f} samples/s", state.speed) + metric_text(state.metrics, " ");
  if (state.seconds_left) text += " left " + duration_text(*state.seconds_left);
  if (text.size() > static_cast<std::size_t>(width)) text.resize(static_cast<std::size_t>(width));
  return text;
}

Display::Display(int descriptor) : descriptor_(descriptor), terminal_(::isatty(descriptor) == 1) {}

Display::~Display() {
  if (bar_shown_) write(std::string(clear_line));
}

void Display::line(const std::string& text) {
  write((bar_shown_ ? std::string(clear_line) : std::string()) + text + "\n");
  bar_shown_ = false;
}

bool Display::bar_due() const {
  return terminal_ && (!bar_shown_ || Clock::now() - shown_ >= std::chrono::milliseconds(100));
}

void Display::bar(const ShownState& state) {
  write(std::string(clear_line) + bar_line(state, width_of(descriptor_) - 1));
  bar_shown_ = true;
  shown_ = Clock::now();
}

void Display::write(const std::string& text) const {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(descriptor_, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

}  // namespace kiln
