// Kernels written by hand, as subjects of mutants.
#include "mutant_subjects.h"
#include "sample_kernels.h"

namespace kiln::ptx {

std::vector<Subject> hand_written_subjects() {
  std::vector<Subject> subjects;
  for (const RightSample& s : right_samples())
    subjects.push_back({s.name,
                        s.sample.ptx,
                        [=](const std::string& ptx) {
                          Sample changed = s.sample;
                          changed.ptx = ptx;
                          const Outcome o = kiln::ptx::run(changed);
                          return o.how == Outcome::refused  ? Noticed::by_loading
                                 : o.how == Outcome::failed ? Noticed::by_device
                                 : o.out != s.expected      ? Noticed::by_bits
                                                            : Noticed::not_at_all;
                        },
                        {}});
  return subjects;
}

}  // namespace kiln::ptx
