// Observations of a run of a random program.
#pragma once
#include <kiln/kiln.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// For tests of random programs: what a run leaves, where two runs differ, and which steps matter.
namespace program_fuzz {

/// The elements of a tensor at one moment of a run.
struct Seen {
  std::string name;
  kiln::Shape shape;
  kiln::DType dtype;
  std::vector<std::uint64_t> bits;  ///< as bits_of() gives them
};

Seen see(std::string name, const kiln::Tensor& t);

/// The first tensor and element that differ; nothing when there is none.
std::optional<std::string> first_difference(const std::vector<Seen>& expected,
                                            const std::vector<Seen>& actual);

/// Notes the elements of the tensors, then again after a write of a different number into the first row of
/// each: this shows which of them share an array.
void see_and_write(const std::string& when, const kiln::F::Tensors& tensors, std::vector<Seen>& seen);

/// The seeds 0, ..., count - 1; or those from `first` to before `last` where the environment has
/// KILN_FUZZ_SEEDS=first-last.
std::vector<unsigned> seeds(unsigned count);

/// Numbers of steps that a program leaves out.
using Skipped = std::set<int>;

/// As many of the steps [0, count) as can be left out while `differs` stays true, found one by one.
template <class Differs>
Skipped steps_without_effect(int count, Differs&& differs) {
  Skipped skipped;
  for (bool again = true; again;) {
    again = false;
    for (int step = count; step-- > 0;) {
      if (!skipped.insert(step).second) continue;
      if (differs(skipped))
        again = true;
      else
        skipped.erase(step);
    }
  }
  return skipped;
}

}  // namespace program_fuzz
