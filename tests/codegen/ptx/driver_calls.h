// Counts of a program's calls of the driver, by the emulated device.
#pragma once
#include "driver_functions.h"
#include "golden_files.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace kiln::ptx {

/// The driver's calls since the last look.
class Calls {
 public:
  explicit Calls(const char* symbol) : symbol_(symbol) { (*this)(); }
  std::uint64_t operator()() {
    const std::uint64_t now = kiln_ptx_calls(symbol_);
    return now - std::exchange(last_, now);
  }

 private:
  const char* symbol_;
  std::uint64_t last_ = 0;
};

/// The error of `body`, whose first launch fails.
inline std::string error_of_next_launch(const std::function<void()>& body) {
  const std::uint64_t launches = kiln_ptx_calls("cuLaunchKernel") + kiln_ptx_calls("cuGraphLaunch");
  setenv("KILN_PTX_FAIL_LAUNCH", std::to_string(launches + 1).c_str(), 1);
  const std::string error = golden::error_of(body);
  unsetenv("KILN_PTX_FAIL_LAUNCH");
  return error;
}

}  // namespace kiln::ptx
