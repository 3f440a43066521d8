// The number of threads.
#pragma once
#include <kiln/export.h>

namespace kiln {

/// The maximum number of threads per call, the caller included. Default: KILN_NUM_THREADS, else the CPUs
/// available to the process (affinity mask and cgroup quota). Results do not depend on it, bit for bit. Any
/// thread; a change affects calls that start after it. Always 1 in a child of fork() if the parent had worker
/// threads.
KILN_API int num_threads();
/// Throws kiln::Error for n < 1.
KILN_API void set_num_threads(int n);

/// Limits calls from this thread to n threads during its lifetime.
class KILN_API ThreadLimit {
 public:
  /// Throws kiln::Error for n < 1.
  explicit ThreadLimit(int n);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int outer_;
};

}  // namespace kiln
