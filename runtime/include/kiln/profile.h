// Times of kernels.
#pragma once
#include <kiln/export.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kiln {

/// Times every kernel launched by its thread during its lifetime, in eager and hybridized calls. Destroy it
/// on the thread that created it; of several, the most recent one records.
///
///     Profile profile;
///     net(x);
///     for (const Profile::Kernel& k : profile.kernels()) std::cout << k.name << ' ' << k.seconds << '\n';
class KILN_API Profile {
 public:
  /// A kernel that ran, or a step that is no kernel: a loop, a copy.
  struct Kernel {
    /// The names of its nodes, joined. " (generic)" follows for a kernel that sizes share: first calls of a
    /// size may run it, later ones the kernel of that size (docs/hybridize.md).
    std::string name;
    std::vector<std::string> lines;  ///< "file:line" of the program, or of the symbol file
    std::int64_t runs = 0;           ///< how often it ran
    double seconds = 0;              ///< wall time of all runs, on a GPU each until it ended
    std::string schedule = {};       ///< on a GPU, how its threads divide the work; else empty
    /// The median and the least time of the latest runs, 4096 at most. An interruption of the program by
    /// another changes the median little.
    double median_seconds = 0, min_seconds = 0;
  };

  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// The kernels that ran, longest total first. A loop is one entry, its body included.
  std::vector<Kernel> kernels() const;

  /// Writes a trace of the calls of compiled code, and in each call its kernels: a JSON file of the Trace
  /// Event Format, which chrome://tracing and Perfetto show. Times are in microseconds since the Profile was
  /// made. The durations of a kernel add up to its `seconds`. Of more than 262,144 runs and calls the trace
  /// has the first ones, and says how many are left out. Throws kiln::Error if the file cannot be written.
  void chrome_trace(const std::string& path) const;

  struct Record;

 private:
  std::unique_ptr<Record> record_;
};

}  // namespace kiln
