// Writes the line of progress to the terminal.
#include "codegen/driver/progress.h"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace kiln::codegen {
namespace {

/// Overwrites the terminal's line from its beginning.
void show(const std::string& text) {
  const std::string line = "\r\x1b[K" + text;
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string graph, std::size_t kernels)
    : graph_(std::move(graph)), kernels_(kernels), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) show("");
}

void Progress::kernel_done() {
  if (!terminal_) return;
  std::lock_guard lock(mutex_);
  ++done_;
  if (Clock::now() - started_ < std::chrono::seconds(1)) return;
  shown_ = true;
  show(fmt::format("kiln: compiling {:.40}: {} of {} kernels", graph_, done_, kernels_));
}

}  // namespace kiln::codegen
