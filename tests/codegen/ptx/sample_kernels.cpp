// Kernels written by hand, with their inputs and results.
#include "sample_kernels.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace kiln::ptx {
namespace {

// The sum of a block's values: a tree of shuffles in each warp, the warps' sums in shared memory.
constexpr const char* block_sum = R"(
.shared .align 4 .b8 sums[32];
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
$next:
mul.wide.u32 %rd9, %r8, 4;
mov.b64 %rd11, sums;
add.s64 %rd10, %rd11, %rd9;
ld.shared.b32 %r9, [%rd10];
add.s32 %r7, %r7, %r9;
add.s32 %r8, %r8, 1;
setp.lt.u32 %p4, %r8, 8;
@%p4 bra $next;
st.global.b32 [%rd2], %r7;
$done:
ret;)";

// Sums of all values up to each one: the doubled distance of each step in shared memory, with two barriers.
constexpr const char* prefix_sum = R"(
.shared .align 16 .b8 sums[256];
ld.global.b32 %r3, [%rd4];
mov.b64 %rd6, sums;
add.s64 %rd7, %rd6, %rd3;
st.shared.b32 [%rd7], %r3;
mov.b32 %r4, 1;
$step:
bar.sync 0;
setp.lt.u32 %p1, %r2, %r4;
mov.b32 %r5, 0;
@%p1 bra $added;
mul.wide.u32 %rd8, %r4, 4;
sub.s64 %rd9, %rd7, %rd8;
ld.shared.b32 %r5, [%rd9];
$added:
bar.sync 0;
add.s32 %r3, %r3, %r5;
st.shared.b32 [%rd7], %r3;
shl.b32 %r4, %r4, 1;
setp.lt.u32 %p2, %r4, 64;
@%p2 bra $step;
st.global.b32 [%rd5], %r3;
ret;)";

// A product of two 32x32 matrices: tiles of 16x16 in shared memory, a chain of fma for each element.
constexpr const char* product = R"(
mov.u32 %r3, %tid.y;
mov.u32 %r4, %ctaid.x;
mov.u32 %r5, %ctaid.y;
shl.b32 %r6, %r5, 4;
add.s32 %r6, %r6, %r3;
shl.b32 %r7, %r4, 4;
add.s32 %r7, %r7, %r2;
shl.b32 %r8, %r3, 4;
add.s32 %r8, %r8, %r2;
mul.wide.u32 %rd6, %r8, 4;
mov.b64 %rd7, a;
add.s64 %rd8, %rd7, %rd6;
mov.b64 %rd9, b;
add.s64 %rd10, %rd9, %rd6;
mul.wide.u32 %rd11, %r3, 64;
add.s64 %rd12, %rd7, %rd11;
mul.wide.u32 %rd13, %r2, 4;
add.s64 %rd14, %rd9, %rd13;
mov.b32 %r9, 0;
mov.b32 %r10, 0;
$tile:
shl.b32 %r11, %r6, 5;
add.s32 %r11, %r11, %r10;
add.s32 %r11, %r11, %r2;
mul.wide.u32 %rd15, %r11, 4;
add.s64 %rd16, %rd1, %rd15;
ld.global.b32 %r12, [%rd16];
st.shared.b32 [%rd8], %r12;
add.s32 %r13, %r10, %r3;
shl.b32 %r13, %r13, 5;
add.s32 %r13, %r13, %r7;
mul.wide.u32 %rd17, %r13, 4;
add.s64 %rd18, %rd1, %rd17;
ld.global.b32 %r14, [%rd18+4096];
st.shared.b32 [%rd10], %r14;
bar.sync 0;
mov.b32 %r15, 0;
mov.b64 %rd19, %rd12;
mov.b64 %rd20, %rd14;
$k:
ld.shared.v4.b32 {%r16, %r17, %r18, %r19}, [%rd19];
ld.shared.b32 %r20, [%rd20];
ld.shared.b32 %r21, [%rd20+64];
ld.shared.b32 %r22, [%rd20+128];
ld.shared.b32 %r23, [%rd20+192];
fma.rn.f32 %r9, %r16, %r20, %r9;
fma.rn.f32 %r9, %r17, %r21, %r9;
fma.rn.f32 %r9, %r18, %r22, %r9;
fma.rn.f32 %r9, %r19, %r23, %r9;
add.s64 %rd19, %rd19, 16;
add.s64 %rd20, %rd20, 256;
add.s32 %r15, %r15, 4;
setp.lt.u32 %p1, %r15, 16;
@%p1 bra $k;
bar.sync 0;
add.s32 %r10, %r10, 16;
setp.lt.u32 %p2, %r10, 32;
@%p2 bra $tile;
shl.b32 %r24, %r6, 5;
add.s32 %r24, %r24, %r7;
mul.wide.u32 %rd21, %r24, 4;
add.s64 %rd22, %rd2, %rd21;
st.global.b32 [%rd22], %r9;
ret;)";

// Each warp's maximum, exchanged over segments, then a value of another lane, of another warp.
constexpr const char* exchange = R"(
ld.global.b32 %r3, [%rd4];
shfl.sync.up.b32 %r4|%p1, %r3, 1, 0, -1;
selp.b32 %r4, %r4, 7, %p1;
shfl.sync.bfly.b32 %r5, %r3, 3, 6175, -1;
shfl.sync.down.b32 %r6|%p2, %r3, 2, 6175, -1;
selp.b32 %r6, %r6, 9, %p2;
shfl.sync.idx.b32 %r7, %r3, 5, 31, -1;
mad.lo.s32 %r8, %r4, 3, %r5;
mad.lo.s32 %r8, %r8, 5, %r6;
mad.lo.s32 %r8, %r8, 7, %r7;
cvta.shared.u64 %rd7, words;
add.s64 %rd8, %rd7, %rd3;
st.b32 [%rd8], %r8;
barrier.sync 1;
xor.b32 %r9, %r2, 33;
mul.wide.u32 %rd9, %r9, 4;
mov.b64 %rd10, words;
add.s64 %rd11, %rd10, %rd9;
ld.shared.b32 %r10, [%rd11];
setp.gt.u32 %p3, %r10, 3000;
vote.sync.ballot.b32 %r11, %p3, -1;
vote.sync.any.pred %p4, %p3, -1;
selp.b32 %r12, 1, 0, %p4;
add.s32 %r10, %r10, %r11;
add.s32 %r10, %r10, %r12;
st.global.b32 [%rd5], %r10;
ret;)";

/// A sum of 256 values in shared memory: half of the threads, half of those, with a barrier between.
std::string tree_sum() {
  std::string body = R"(
.shared .align 4 .b8 x[1024];
ld.global.b32 %r3, [%rd4];
mov.b64 %rd6, x;
add.s64 %rd7, %rd6, %rd3;
st.shared.b32 [%rd7], %r3;
)";
  for (int half = 128; half > 0; half /= 2)
    body += fmt::format(R"(bar.sync 0;
setp.gt.s32 %p1, %r2, {1};
@%p1 bra $step{0};
ld.shared.b32 %r4, [%rd7+{2}];
ld.shared.b32 %r5, [%rd7];
add.s32 %r5, %r4, %r5;
st.shared.b32 [%rd7], %r5;
$step{0}:
)",
                        half, half - 1, 4 * half);
  return body + R"(setp.gt.s32 %p2, %r2, 0;
@%p2 bra $done;
ld.shared.b32 %r6, [x];
st.global.b32 [%rd2], %r6;
$done:
ret;)";
}

/// Sums of all values up to each one, in a row of shared memory that begins with 32 zeros.
std::string padded_prefix_sum() {
  std::string body = R"(
.shared .align 4 .b8 row[384];
ld.global.b32 %r3, [%rd4];
mov.b64 %rd6, row;
add.s64 %rd7, %rd6, %rd3;
mov.b32 %r4, 0;
setp.gt.s32 %p1, %r2, 31;
@%p1 bra $zeros;
st.shared.b32 [%rd7], %r4;
$zeros:
st.shared.b32 [%rd7+128], %r3;
)";
  for (int by = 1; by < 64; by *= 2)
    body += fmt::format(R"(bar.sync 0;
ld.shared.b32 %r5, [%rd7+{}];
bar.sync 0;
add.s32 %r3, %r3, %r5;
st.shared.b32 [%rd7+128], %r3;
)",
                        128 - 4 * by);
  return body + "ld.shared.b32 %r6, [%rd7+128];\nst.global.b32 [%rd5], %r6;\nret;";
}

/// Sums of all lanes' values up to each lane, and the warp's sum, which each lane gets.
std::string warp_sums() {
  std::string body = "ld.global.b32 %r3, [%rd4];\nmov.b32 %r4, %r3;\n";
  for (int by = 1; by < 32; by *= 2)
    body += fmt::format(R"(shfl.sync.up.b32 %r5|%p1, %r3, {}, 0, -1;
selp.b32 %r5, %r5, 0, %p1;
add.s32 %r3, %r3, %r5;
)",
                        by);
  for (int by = 16; by > 0; by /= 2)
    body += fmt::format("shfl.sync.bfly.b32 %r5, %r4, {}, 31, -1;\nadd.s32 %r4, %r4, %r5;\n", by);
  return body + "mad.lo.s32 %r6, %r4, 1000, %r3;\nst.global.b32 [%rd5], %r6;\nret;";
}

// A product of matrices by each warp. Lane l reads words l, l + 32, ... of A, B and C, and writes such words
// of D.
std::string matrices(std::string_view form) {
  std::string body;
  for (int i = 0; i < 10; ++i) body += fmt::format("ld.global.nc.b32 %r{}, [%rd4+{}];\n", 10 + i, 128 * i);
  body += fmt::format(R"(mma.sync.aligned.{}
  {{%r30, %r31, %r32, %r33}},
  {{%r10, %r11, %r12, %r13}},
  {{%r14, %r15}},
  {{%r16, %r17, %r18, %r19}};
)",
                      form);
  for (int i = 0; i < 4; ++i) body += fmt::format("st.global.b32 [%rd5+{}], %r{};\n", 128 * i, 30 + i);
  return body + "ret;";
}

/// `threads` values of 1 + 3 i^2, and what is expected of their sums.
RightSample sums_sample(const char* name, const std::string& body, std::uint32_t threads, bool each,
                        std::uint32_t warp_factor = 0) {
  RightSample s{
      name, {.ptx = kernel(body), .block = {threads, 1, 1}, .in = {}, .out_words = each ? threads : 1}, {}};
  for (std::uint32_t i = 0; i < threads; ++i) s.sample.in.push_back(1 + 3 * i * i);
  const std::uint32_t length = warp_factor > 0 ? 32 : threads;
  for (std::uint32_t first = 0; first < threads; first += length) {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < length; ++i) {
      sum += s.sample.in[first + i];
      if (each || i + 1 == length) s.expected.push_back(sum);
    }
    if (warp_factor > 0)
      for (std::uint32_t i = 0; i < length; ++i) s.expected[first + i] += warp_factor * sum;
  }
  return s;
}

RightSample product_sample() {
  constexpr std::string_view tiles = ".shared .align 16 .b8 a[1024];\n.shared .align 16 .b8 b[1024];";
  constexpr std::size_t n = 32;
  RightSample s{
      "sample product",
      {.ptx = kernel(product, tiles), .grid = {2, 2, 1}, .block = {16, 16, 1}, .in = {}, .out_words = n * n},
      {}};
  std::vector<float> values;
  for (std::size_t i = 0; i < 2 * n * n; ++i) {
    values.push_back(static_cast<float>(i * 37 % 101) / 8 - 5);
    s.sample.in.push_back(bits(values.back()));
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum = std::fma(values[i * n + k], values[n * n + k * n + j], sum);
      s.expected.push_back(bits(sum));
    }
  return s;
}

/// An integer of 1 to 255 as f16 or bf16.
std::uint32_t half(int n, bool is_f16) {
  if (!is_f16) return bits(static_cast<float>(n)) >> 16;
  const auto exponent = static_cast<unsigned>(std::ilogb(n));
  return (exponent + 15) << 10 | (static_cast<unsigned>(n) << (10 - exponent) & 1023);
}

/// Fragments by the PTX manual's formulas for each element that a lane has.
RightSample matrices_sample(const char* name, const char* form, bool is_f16) {
  constexpr std::size_t n = 8, k = 16, lanes = 32;
  const auto a = [](std::size_t row, std::size_t col) {
    return static_cast<int>(row * 5 + col * 3) % 29 + 1;
  };
  const auto b = [](std::size_t row, std::size_t col) {
    return static_cast<int>(row * 7 + col * 2) % 23 + 1;
  };
  const auto c = [](std::size_t row, std::size_t col) { return static_cast<int>(row * n + col); };
  RightSample s{name,
                {.ptx = kernel(matrices(form)), .block = {lanes, 1, 1}, .in = {}, .out_words = 4 * lanes},
                std::vector<std::uint32_t>(4 * lanes)};
  s.sample.in.resize(10 * lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t group = lane >> 2, in_group = lane % 4;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
      const std::size_t col = in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);
      s.sample.in[i / 2 * lanes + lane] |= half(a(row, col), is_f16) << (i % 2 * 16);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = in_group * 2 + (i & 1) + (i < 2 ? 0 : 8);
      s.sample.in[(4 + i / 2) * lanes + lane] |= half(b(row, group), is_f16) << (i % 2 * 16);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = i < 2 ? group : group + 8, col = in_group * 2 + (i & 1);
      int sum = c(row, col);
      s.sample.in[(6 + i) * lanes + lane] = bits(static_cast<float>(sum));
      for (std::size_t j = 0; j < k; ++j) sum += a(row, j) * b(j, col);
      s.expected[i * lanes + lane] = bits(static_cast<float>(sum));
    }
  }
  return s;
}

RightSample exchange_sample() {
  constexpr std::uint32_t n = 64;
  RightSample s{"exchange",
                {.ptx = kernel(exchange, ".extern .shared .align 4 .b8 words[];"),
                 .block = {n, 1, 1},
                 .shared_bytes = 4 * n,
                 .in = {},
                 .out_words = n},
                {}};
  auto& in = s.sample.in;
  for (std::uint32_t i = 0; i < n; ++i) in.push_back(i % 32 * 3 + i / 32);
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t lane = i % 32;
    const std::uint32_t up = lane >= 1 ? in[i - 1] : 7, across = in[i ^ 3];
    const std::uint32_t down = lane % 8 + 2 < 8 ? in[i + 2] : 9;  // in segments of 8 lanes
    words.push_back(((up * 3 + across) * 5 + down) * 7 + in[i - lane + 5]);
  }
  for (std::uint32_t warp = 0; warp < n; warp += 32) {
    std::uint32_t ballot = 0;
    for (std::uint32_t i = 0; i < 32; ++i) ballot |= std::uint32_t{words[(warp + i) ^ 33] > 3000} << i;
    for (std::uint32_t i = 0; i < 32; ++i)
      s.expected.push_back(words[(warp + i) ^ 33] + ballot + (ballot != 0));
  }
  return s;
}

}  // namespace

std::uint32_t bits(float x) {
  std::uint32_t b = 0;
  std::memcpy(&b, &x, sizeof b);
  return b;
}

std::vector<RightSample> right_samples() {
  return {sums_sample("block_sum", block_sum, 256, false),
          sums_sample("prefix_sum", prefix_sum, 64, true),
          sums_sample("padded_prefix_sum", padded_prefix_sum(), 64, true),
          sums_sample("tree_sum", tree_sum(), 256, false),
          sums_sample("warp_sums", warp_sums(), 64, true, 1000),
          product_sample(),
          matrices_sample("matrices of f16", "m16n8k16.row.col.f32.f16.f16.f32", true),
          matrices_sample("matrices of bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", false),
          exchange_sample()};
}

}  // namespace kiln::ptx
