// The emulated device runs kernels that are right, and tells what is wrong with others.
#include "device_run.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>

using namespace kiln::ptx;

namespace {

constexpr std::string_view registers = R"(
.reg .pred %p<9>;
.reg .b16 %rs<9>;
.reg .b32 %r<33>;
.reg .b64 %rd<17>;
ld.param.b64 %rd1, [in];
ld.param.b64 %rd2, [out];
ld.param.b32 %r1, [n];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd3, %r2, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
)";

/// Sum of a block's values: a tree of shuffles in each warp, the warps' sums in shared memory.
const std::string block_sum = entry("block_sum", std::string(registers) + R"(
.shared .align 4 .b8 sums[128];
ld.global.nc.b32 %r3, [%rd4];
shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;
add.s32 %r3, %r3, %r4;
shfl.sync.bfly.b32 %r4, %r3, 8, 31, -1;
add.s32 %r3, %r3, %r4;
shfl.sync.down.b32 %r4|%p1, %r3, 4, 31, -1;
add.s32 %r3, %r3, %r4;
shfl.sync.down.b32 %r4|%p1, %r3, 2, 31, -1;
add.s32 %r3, %r3, %r4;
shfl.sync.down.b32 %r4|%p1, %r3, 1, 31, -1;
add.s32 %r3, %r3, %r4;
mov.u32 %r5, %laneid;
setp.ne.b32 %p2, %r5, 0;
@%p2 bra $stored;
mov.u32 %r6, %warpid;
mul.wide.u32 %rd6, %r6, 4;
mov.b64 %rd7, sums;
add.s64 %rd8, %rd7, %rd6;
st.shared.b32 [%rd8], %r3;
$stored:
bar.sync 0;
setp.ne.b32 %p3, %r2, 0;
@%p3 bra $done;
mov.b32 %r7, 0;
mov.b32 %r8, 0;
mov.u32 %r11, %ntid.x;
shr.u32 %r11, %r11, 5;
$next:
mul.wide.u32 %rd9, %r8, 4;
add.s64 %rd10, %rd7, %rd9;
mov.b64 %rd11, sums;
add.s64 %rd10, %rd11, %rd9;
ld.shared.b32 %r9, [%rd10];
add.s32 %r7, %r7, %r9;
add.s32 %r8, %r8, 1;
setp.lt.u32 %p4, %r8, %r11;
@%p4 bra $next;
st.global.b32 [%rd2], %r7;
$done:
ret;
)");

}  // namespace

TEST_CASE("a block's sum") {
  Sample s{.ptx = block_sum, .kernel = "block_sum", .block = {256, 1, 1}, .out_words = 1};
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 256; ++i) s.in.push_back(i * i), sum += i * i;
  const Outcome o = run(s);
  CHECK(o.message == "");
  REQUIRE(o.how == Outcome::done);
  CHECK(o.out[0] == sum);
}
