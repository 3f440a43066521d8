#pragma once
#include <kiln/export.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kiln {

/// Where the time of calls goes: while it lives, every kernel that its thread starts is timed, in eager and
/// in hybridized calls. Belongs to the thread that made it; of several, the last one made counts.
///
///     Profile profile;
///     net(x);
///     for (const Profile::Kernel& k : profile.kernels()) std::cout << k.name << ' ' << k.seconds << '\n';
class KILN_API Profile {
 public:
  struct Kernel {
    std::string name;                ///< the nodes that it computes, joined
    std::vector<std::string> lines;  ///< "file:line" of the program, or of the symbol file
    std::int64_t runs = 0;
    double seconds = 0;  ///< on the wall, of all runs
  };

  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Those that ran, the one that took longest first. A loop counts as one, with all that it runs.
  std::vector<Kernel> kernels() const;

  struct Record;

 private:
  std::unique_ptr<Record> record_;
};

}  // namespace kiln
