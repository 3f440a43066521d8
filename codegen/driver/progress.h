// Progress of long compilations.
#pragma once
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace kiln::codegen {

/// A line on the terminal, if stderr is one, while kernels are being compiled for longer than a second. Any
/// thread may report.
class Progress {
 public:
  Progress(std::string graph, std::size_t kernels);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void kernel_done();

 private:
  using Clock = std::chrono::steady_clock;

  std::mutex mutex_;
  std::string graph_;
  std::size_t kernels_, done_ = 0;
  bool terminal_, shown_ = false;
  Clock::time_point started_ = Clock::now();
};

}  // namespace kiln::codegen
