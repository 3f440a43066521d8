#pragma once
#include <kiln/export.h>

namespace kiln {

/// How many threads a call may compute on, the caller's among them. At the start: KILN_NUM_THREADS, or as
/// many as the process may use (its affinity mask and its cgroup's quota). Results do not depend on it, bit
/// for bit. Any thread may ask; a change is seen by calls that begin after it. In a child of fork() whose
/// parent has computed on several threads it is 1 for good: the others do not exist there.
KILN_API int num_threads();
/// Throws kiln::Error for n < 1.
KILN_API void set_num_threads(int n);

/// While it lives, calls from this thread use at most n threads, whatever the number of the process is.
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
