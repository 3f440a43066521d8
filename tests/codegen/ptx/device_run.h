// Kernels written by hand, on the emulated device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Kernels written by hand, on the emulated device.
namespace kiln::ptx {

/// The kernel and the arguments of a launch. A kernel has the parameters in, out (addresses) and n (.u32).
struct Sample {
  std::string ptx;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  std::vector<std::uint32_t> in;
  std::size_t out_words = 0;
  std::uint32_t n = 0;
};

struct Outcome {
  enum { refused, failed, done } how = refused;
  std::vector<std::uint32_t> out;
  std::string message;  ///< the device's message on stderr
};

Outcome run(const Sample&);

/// The text that `body` writes to stderr.
std::string stderr_of(const std::function<void()>& body);

/// A module for sm_80 with one entry of that body, `k`, which has registers. Parameters: in in %rd1, out in
/// %rd2, n in %r1. %tid.x is in %r2; the addresses of the thread's words are in %rd4 (in) and %rd5 (out).
std::string kernel(std::string_view body, std::string_view module_variables = "");

}  // namespace kiln::ptx
