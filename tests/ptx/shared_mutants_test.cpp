// Small mistakes in kernels with barriers, shuffles and shared memory: the device notices each, or the result
// shows it.
#include "mutants.h"
#include "sample_kernels.h"

#include <array>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <iostream>

using namespace kiln::ptx;

namespace {

/// A change after which the kernel computes the same.
struct Equivalent {
  std::string_view sample, from, to, reason;
};
constexpr Equivalent equivalents[] = {
    {"block_sum", "shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;", "shfl.sync.bfly.b32 %r4, %r3, 17, 31, -1;",
     "the sums of eight neighbours are of the same lanes, in another order"},
    {"block_sum", "shfl.sync.bfly.b32 %r4, %r3, 8, 31, -1;", "shfl.sync.bfly.b32 %r4, %r3, 9, 31, -1;",
     "the sums of eight neighbours are of the same lanes, in another order"},
    {"warp_sums", "shfl.sync.bfly.b32 %r5, %r4, 16, 31, -1;", "shfl.sync.bfly.b32 %r5, %r4, 17, 31, -1;",
     "the step by 1 that follows makes it the same lanes, in another order"},
    {"warp_sums", "shfl.sync.bfly.b32 %r5, %r4, 8, 31, -1;", "shfl.sync.bfly.b32 %r5, %r4, 9, 31, -1;",
     "the step by 1 that follows makes it the same lanes, in another order"},
    {"warp_sums", "shfl.sync.bfly.b32 %r5, %r4, 4, 31, -1;", "shfl.sync.bfly.b32 %r5, %r4, 5, 31, -1;",
     "the step by 1 that follows makes it the same lanes, in another order"},
    {"warp_sums", "shfl.sync.bfly.b32 %r5, %r4, 2, 31, -1;", "shfl.sync.bfly.b32 %r5, %r4, 3, 31, -1;",
     "the step by 1 that follows makes it the same lanes, in another order"},
    {"block_sum", "setp.ne.b32 %p2, %r5, 0;", "setp.ne.b32 %p2, %r5, 1;",
     "lane 1 has its warp's sum as well"},
    {"block_sum", "setp.ne.b32 %p3, %r2, 0;", "setp.ne.b32 %p3, %r2, 1;", "thread 1 adds the same words"},
    {"prefix_sum", "setp.lt.u32 %p2, %r4, 64;", "setp.lt.u32 %p2, %r4, 65;", "a step by 64 adds 0"},
    {"prefix_sum", "setp.lt.u32 %p2, %r4, 64;", "setp.lt.u32 %p2, %r4, 63;", "distances are powers of 2"},
    {"product", "setp.lt.u32 %p1, %r15, 16;", "setp.lt.u32 %p1, %r15, 15;", "the index is a multiple of 4"},
    {"product", "setp.lt.u32 %p2, %r10, 32;", "setp.lt.u32 %p2, %r10, 31;", "the index is a multiple of 16"},
    {"exchange", "setp.gt.u32 %p3, %r10, 3000;", "setp.gt.u32 %p3, %r10, 3001;", "no word is 3001"},
    {"exchange", "setp.gt.u32 %p3, %r10, 3000;", "setp.gt.u32 %p3, %r10, 2999;", "no word is 3000"},
};

bool is_equivalent(const RightSample& s, const Mutant& m) {
  for (const Equivalent& e : equivalents)
    if (e.sample == s.name && e.from == m.from && e.to == m.to) return true;
  return false;
}

}  // namespace

TEST_CASE("mistakes of threads that work together are noticed", "[mutants]") {
  std::array<int, 4> made{}, told{}, seen{}, equivalent{};
  for (const RightSample& s : right_samples()) {
    REQUIRE(run(s.sample).out == s.expected);
    for (const Mutant& m : mutants_of(s.sample.ptx)) {
      const auto kind = static_cast<std::size_t>(m.kind);
      Sample changed = s.sample;
      changed.ptx = m.ptx;
      const Outcome o = run(changed);
      const bool is_noticed = o.how != Outcome::done || o.out != s.expected;
      ++made[kind];
      told[kind] += o.how != Outcome::done;
      seen[kind] += o.how == Outcome::done && is_noticed;
      equivalent[kind] += !is_noticed;
      INFO(s.name << ": '" << m.from << "' changed to '" << m.to << "'");
      // A change that is listed and noticed all the same is no equivalent one.
      CHECK(is_noticed != is_equivalent(s, m));
    }
  }
  for (std::size_t kind = 0; kind < made.size(); ++kind) {
    std::cout << fmt::format("{}: {} mutants, {} told by the device, {} with other bits, {} equivalent\n",
                             mutant_kinds[kind], made[kind], told[kind], seen[kind], equivalent[kind]);
    CHECK(made[kind] >= 20);
  }
}
