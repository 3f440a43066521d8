// The times of a network's calls, eager and compiled.
#pragma once
#include <kiln/block.h>
#include <kiln/profile.h>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace kiln {

/// Options of benchmark().
struct BenchmarkOptions {
  double seconds = 0.5;  ///< of measurement, for each mode
  bool kernels = false;  ///< also times each kernel
  /// A file that gets a trace of the calls whose kernels are timed (Profile::chrome_trace), with or without
  /// `kernels`; of benchmark() a trace of the compiled calls.
  std::string trace = {};
};

/// The times of one call, repeated.
struct Timing {
  std::string mode;                  ///< "eager" or "compiled"
  std::size_t samples = 0;           ///< calls that were timed
  double first_us = 0;               ///< of the first call, which may compile; in microseconds, as the others
  double median_us = 0, min_us = 0;  ///< over the samples, in microseconds
  double deviation_us = 0;           ///< the median distance from the median
  std::size_t peak_bytes = 0;        ///< of all arrays of the process, MemoryReport::peak_bytes
  /// With BenchmarkOptions::kernels: the kernels of `profiled_calls` further calls.
  std::vector<Profile::Kernel> kernels = {};
  std::int64_t profiled_calls = 0;  ///< the further calls that `kernels` counts
};

/// Calls `call` once, for a tenth of the time to warm up, then for the given time: at least 5 and at most a
/// million calls. Resets the peak of memory_report(). Throws for an empty function; errors of `call` pass.
/// One thread at a time.
KILN_API Timing time_calls(std::string mode, const std::function<void()>& call,
                           const BenchmarkOptions& options = {});

/// How many times as fast as the eager calls of the list; nothing for these, without them, and for a Timing
/// without times.
KILN_API std::optional<double> speed_up(std::span<const Timing> timings, const Timing& timing);
/// The times as a table with a legend, 80 columns wide.
KILN_API std::string times_table(std::span<const Timing> timings);
/// The kernels by decreasing share of the time. A share is by medians: an interruption of one run does not
/// change it.
KILN_API std::string kernels_table(const Timing& timing);

/// The result of benchmark(). `std::cout << result` prints its tables.
struct Benchmark {
  std::vector<Timing> timings;  ///< eager, then compiled
  CompiledCall compiled;        ///< the recording that was timed
};
/// Prints the table of `kiln bench`.
KILN_API std::ostream& operator<<(std::ostream& os, const Benchmark& benchmark);

/// Times net(inputs), eagerly and compiled, with the present threads, device and training mode:
///
/// ```
/// net.hybridize();
/// std::cout << benchmark(net, {x}, {.kernels = true});
/// ```
///
/// The network stays hybridized, with its recordings; eager calls run without hooks. Throws before
/// hybridize(), and for a call that runs eagerly (CompiledCall::compiled). One thread at a time.
KILN_API Benchmark benchmark(HybridBlock& net, const Tensors& inputs, const BenchmarkOptions& options = {},
                             std::source_location where = std::source_location::current());

}  // namespace kiln
