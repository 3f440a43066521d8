// The emulated device runs kernels that are right, and tells what is wrong with others.
#include "driver_functions.h"
#include "sample_kernels.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace kiln::ptx;
using Catch::Matchers::Contains;

namespace {

/// A kernel of that body for 64 threads with 64 words each in and out, and 256 bytes of shared memory, `x`.
Sample sample(std::string_view body) {
  Sample s{
      .ptx = kernel(body, ".shared .align 16 .b8 x[256];"), .block = {64, 1, 1}, .in = {}, .out_words = 64};
  for (std::uint32_t i = 0; i < 64; ++i) s.in.push_back(i);
  return s;
}

/// The address of the thread's word of x in %rd7, of the next thread's word in %rd8.
const std::string own_word = R"(
mov.b64 %rd6, x;
add.s64 %rd7, %rd6, %rd3;
add.s32 %r3, %r2, 1;
and.b32 %r3, %r3, 63;
mul.wide.u32 %rd8, %r3, 4;
add.s64 %rd8, %rd6, %rd8;
)";

struct Wrong {
  const char* what;
  std::string body;
  const char* message;
};

}  // namespace

TEST_CASE("kernels with barriers, shuffles and shared memory give what they should") {
  for (const RightSample& s : right_samples()) {
    INFO(s.name);
    const Outcome o = run(s.sample);
    CHECK(o.message == "");
    CHECK(o.how == Outcome::done);
    CHECK(o.out == s.expected);
  }
}

TEST_CASE("special registers have the thread's place in three dimensions") {
  // out[thread] = tid.x + 4 tid.y + 8 tid.z + 100 (ctaid.x + 2 ctaid.y + 6 ctaid.z) + 10000 laneid.
  Sample s{.ptx = kernel(R"(
mov.u32 %r3, %tid.y;
mov.u32 %r4, %tid.z;
mov.u32 %r5, %ntid.x;
mov.u32 %r6, %ntid.y;
mad.lo.s32 %r7, %r4, %r6, %r3;
mad.lo.s32 %r7, %r7, %r5, %r2;
mov.u32 %r8, %ctaid.x;
mov.u32 %r9, %ctaid.y;
mov.u32 %r10, %ctaid.z;
mov.u32 %r11, %nctaid.x;
mov.u32 %r12, %nctaid.y;
mad.lo.s32 %r13, %r10, %r12, %r9;
mad.lo.s32 %r13, %r13, %r11, %r8;
mov.u32 %r14, %ntid.z;
mul.lo.s32 %r15, %r5, %r6;
mul.lo.s32 %r15, %r15, %r14;
mad.lo.s32 %r16, %r13, %r15, %r7;
mad.lo.s32 %r17, %r13, 100, %r7;
mov.u32 %r18, %laneid;
mad.lo.s32 %r17, %r18, 10000, %r17;
mul.wide.u32 %rd6, %r16, 4;
add.s64 %rd7, %rd2, %rd6;
st.global.b32 [%rd7], %r17;
ret;)"),
           .grid = {2, 3, 2},
           .block = {4, 2, 5},
           .in = {},
           .out_words = 480};
  const Outcome o = run(s);
  REQUIRE(o.how == Outcome::done);
  for (std::uint32_t i = 0; i < 480; ++i) CHECK(o.out[i] == i % 40 + 100 * (i / 40) + 10000 * (i % 40 % 32));
}

TEST_CASE("vectors and small types of shared memory") {
  const Outcome o = run(sample(R"(
mov.b64 %rd6, x;
setp.ne.b32 %p1, %r2, 0;
@%p1 bra $done;
ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd1+16];
st.shared.v4.b32 [%rd6], {%r3, %r4, %r5, %r6};
st.shared.b8 [x+1], 255;
ld.shared.v2.b64 {%rd7, %rd8}, [%rd6];
st.global.v2.b64 [%rd2], {%rd7, %rd8};
ld.shared.v4.u8 {%rs1, %rs2, %rs3, _}, [x];
cvt.u32.u16 %r7, %rs2;
ld.shared.s8 %r8, [x+1];
ld.shared.v2.b16 {%rs4, %rs5}, [x+4];
cvt.u32.u16 %r9, %rs4;
st.global.v2.b32 [%rd2+16], {%r7, %r8};
st.global.b32 [%rd2+24], %r9;
$done:
ret;)"));
  CHECK(o.message == "");
  REQUIRE(o.how == Outcome::done);
  CHECK(std::vector(o.out.begin(), o.out.begin() + 7) ==
        std::vector<std::uint32_t>{4 + 0xff00, 5, 6, 7, 255, 0xffffffff, 5});
}

TEST_CASE("a defect ends the launch and is told with the thread") {
  const std::string shared = own_word;
  const Wrong wrong[] = {
      {"a write beside a read of shared memory", shared + R"(
st.shared.b32 [%rd7], %r2;
ld.shared.b32 %r4, [%rd8];
st.global.b32 [%rd5], %r4;
ret;)",
       "shared memory"},
      {"two writes of shared memory", shared + "st.shared.b32 [x+8], %r2;\nret;",
       "writes 4 bytes of shared memory at 0x8, which thread ("},
      {"a write after a read of shared memory", shared + R"(
st.shared.b32 [%rd7], %r2;
bar.sync 0;
ld.shared.b32 %r4, [%rd8];
st.shared.b32 [%rd7], %r4;
ret;)",
       "without a barrier between them: '"},
      {"shared memory that nobody wrote", shared + "ld.shared.b32 %r4, [%rd7];\nret;",
       "reads 4 bytes of shared memory at 0x"},
      {"beyond shared memory", shared + "st.shared.b32 [%rd7+4], %r2;\nret;",
       "thread (63, 0, 0) of block (0, 0, 0): writes 4 bytes at 0x100 of shared memory, which has 256 bytes"},
      {"global addresses as shared", "ld.shared.b32 %r4, [%rd4];\nret;",
       "of shared memory, which has 256 bytes"},
      {"shared addresses as global", shared + "ld.global.b32 %r4, [%rd7];\nret;",
       "which is outside of all allocations: 'ld.global.b32 %r4, [%rd7]'"},
      {"not aligned", shared + "st.shared.v2.b32 [x+4], {%r2, %r2};\nret;", "at 0x4, which is not aligned"},
      {"global memory that nobody wrote", "ld.global.b32 %r4, [%rd5];\nret;",
       ": reads 4 bytes of global memory at 0x"},
      {"global memory of another thread", R"(
st.global.b32 [%rd5], %r2;
xor.b32 %r3, %r2, 1;
mul.wide.u32 %rd8, %r3, 4;
add.s64 %rd9, %rd2, %rd8;
ld.global.b32 %r4, [%rd9];
ret;)",
       "reads 4 bytes of global memory at 0x"},
      {"two writes of global memory", "st.global.b32 [%rd2], %r2;\nret;",
       "writes 4 bytes of global memory at 0x"},
      {"a byte that two threads write",
       "shr.u32 %r3, %r2, 1;\ncvt.u64.u32 %rd6, %r3;\nadd.s64 %rd7, %rd2, %rd6;\n"
       "st.global.b8 [%rd7], 1;\nret;",
       "writes 1 bytes of global memory at 0x"},
      {"ld.global.nc of what the launch writes",
       "st.global.b32 [%rd5], %r2;\nld.global.nc.b32 %r4, [%rd5];\nret;",
       "which the thread wrote before: 'ld.global.nc.b32 %r4, [%rd5]'"},
      {"a write of what ld.global.nc read", "ld.global.nc.b32 %r4, [%rd4];\nst.global.b32 [%rd4], %r4;\nret;",
       "which this launch reads by ld.global.nc: 'st.global.b32 [%rd4], %r4'"},
      {"a barrier that a thread does not reach", R"(
setp.eq.b32 %p1, %r2, 5;
@%p1 bra $done;
bar.sync 0;
$done:
ret;)",
       "waits for thread (5, 0, 0) of block (0, 0, 0), which has ended: 'bar.sync 0'"},
      {"two barriers", R"(
setp.eq.b32 %p1, %r2, 5;
@%p1 bra $other;
bar.sync 0;
ret;
$other:
bar.sync 1;
ret;)",
       "which waits at 'bar.sync 1': 'bar.sync 0'"},
      {"one barrier at two places of a warp", R"(
setp.eq.b32 %p1, %r2, 5;
@%p1 bra $other;
bar.sync 0;
ret;
$other:
bar.sync 0;
ret;)",
       "thread (5, 0, 0) of block (0, 0, 0): waits at another bar.sync than the first thread of its warp"},
      {"a shuffle that a lane does not reach", R"(
setp.eq.b32 %p1, %r2, 40;
@%p1 bra $done;
shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;
$done:
ret;)",
       "waits for thread (40, 0, 0) of block (0, 0, 0), which has ended: 'shfl.sync.bfly.b32"},
      {"a shuffle of other lanes", "shfl.sync.bfly.b32 %r4, %r2, 1, 31, 0xfffffffe;\nret;",
       "is not in the mask: 'shfl.sync.bfly.b32"},
      {"masks that differ", R"(
setp.eq.b32 %p1, %r2, 3;
selp.b32 %r3, 15, -1, %p1;
shfl.sync.bfly.b32 %r4, %r2, 1, 31, %r3;
ret;)",
       "which waits at 'shfl.sync.bfly.b32 %r4, %r2, 1, 31, %r3'"},
      {"a shuffle from a lane outside of the mask", R"(
setp.gt.u32 %p1, %r2, 15;
@%p1 bra $done;
shfl.sync.down.b32 %r4, %r2, 1, 31, 0xffff;
$done:
ret;)",
       "thread (15, 0, 0) of block (0, 0, 0): shuffles from lane 16, which does not take part"},
      {"a product of matrices that a lane does not reach", R"(
setp.eq.b32 %p1, %r2, 40;
@%p1 bra $done;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  {%r4, %r5, %r6, %r7}, {%r2, %r2, %r2, %r2}, {%r2, %r2}, {%r2, %r2, %r2, %r2};
$done:
ret;)",
       "waits for thread (40, 0, 0) of block (0, 0, 0), which has ended: 'mma.sync.aligned.m16n8k16"},
      {"a division by zero", "sub.s32 %r3, %r2, 9;\ndiv.s32 %r4, 5, %r3;\nret;",
       "thread (9, 0, 0) of block (0, 0, 0): divides by zero: 'div.s32 %r4, 5, %r3'"},
      {"an endless loop", "$again:\nbra.uni $again;\nret;", "goes on for ever"},
  };
  for (const Wrong& w : wrong) {
    INFO(w.what);
    const Outcome o = run(sample(w.body));
    CHECK(o.how == Outcome::failed);
    CHECK_THAT(o.message, Contains("ptx device: kernel k, thread (") && Contains(w.message));
  }
}

TEST_CASE("blocks are in no order") {
  // Block b reads what block b - 1 writes, though all its threads pass barriers.
  Sample s{.ptx = kernel(R"(
bar.sync 0;
mov.u32 %r3, %ctaid.x;
mul.wide.u32 %rd6, %r3, 4;
add.s64 %rd7, %rd2, %rd6;
setp.ne.b32 %p1, %r2, 0;
@%p1 bra $done;
st.global.b32 [%rd7+4], %r3;
ld.global.b32 %r4, [%rd7];
$done:
bar.sync 0;
ret;)"),
           .grid = {8, 1, 1},
           .block = {32, 1, 1},
           .in = {},
           .out_words = 9};
  const Outcome o = run(s);
  CHECK(o.how == Outcome::failed);
  CHECK(o.message != "");
}

TEST_CASE("a barrier orders the threads of a block, for global memory as well") {
  const Outcome o = run(sample(R"(
st.global.b32 [%rd5], %r2;
bar.sync 0;
xor.b32 %r3, %r2, 63;
mul.wide.u32 %rd8, %r3, 4;
add.s64 %rd9, %rd2, %rd8;
ld.global.b32 %r4, [%rd9];
bar.sync 0;
st.global.b32 [%rd5], %r4;
ret;)"));
  CHECK(o.message == "");
  REQUIRE(o.how == Outcome::done);
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(o.out[i] == 63 - i);
}

TEST_CASE("the card's limits") {
  Sample s = sample("ret;");
  const auto fails = [&](const char* message) {
    const Outcome o = run(s);
    CHECK(o.how == Outcome::failed);
    CHECK_THAT(o.message, Contains(message));
  };
  SECTION("threads") {
    s.block[0] = 1025;
    fails("a block of (1025, 1, 1) threads: the card takes 1024");
  }
  SECTION("threads along z") {
    s.block[0] = 1, s.block[2] = 65;
    fails("a block of (1, 1, 65) threads");
  }
  SECTION("blocks along y") {
    s.grid[1] = 65536;
    fails("a grid of (1, 65536, 1) blocks");
  }
  SECTION("no blocks") {
    s.grid[0] = 0;
    fails("a grid of (0, 1, 1) blocks");
  }
  SECTION("the launch's shared memory") {
    s.shared_bytes = (48 << 10) - 255;
    fails("256 bytes of shared memory and 48897 of the launch: the card gives a block 49152");
  }
  SECTION(".maxntid") {
    s.ptx.replace(s.ptx.find(")\n{"), 2, ")\n.maxntid 32, 1, 1\n");
    fails("a block of 64 threads: the kernel is for 32");
  }
}

TEST_CASE("PTX that the card or the module cannot have is refused") {
  Sample s = sample("shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;\nret;");
  const auto change = [&](std::string_view from, std::string_view to) {
    s.ptx.replace(s.ptx.find(from), from.size(), to);
  };
  const auto is_refused = [&](const char* message) {
    const Outcome o = run(s);
    CHECK(o.how == Outcome::refused);
    CHECK_THAT(o.message, Contains(message));
  };
  SECTION("an instruction of a later version") {
    change(".version 7.0", ".version 5.0");
    change("sm_80", "sm_60");
    is_refused("'shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1' needs .version 6.0 and .target sm_30: this is 5.0");
  }
  SECTION("an instruction of a later target") {
    change("shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;", "add.bf16 %rs1, %rs2, %rs3;");
    is_refused("'add.bf16 %rs1, %rs2, %rs3' needs .version 7.8 and .target sm_90: this is 7.0 for sm_80");
  }
  SECTION("a target of a later version") {
    change("sm_80", "sm_86");
    is_refused(".target sm_86 needs .version 7.1: this is 7.0");
  }
  SECTION("another card's kernel") {
    change(".version 7.0", ".version 7.8");
    change("sm_80", "sm_90");
    is_refused("a kernel for sm_90: the card is sm_80");
  }
  SECTION("too many parameters") {
    change(".param .u32 n", ".param .u32 n,\n.param .align 8 .b8 more[4080]");
    is_refused("4104 bytes of parameters: an entry has at most 4096");
  }
  SECTION("too much shared memory") {
    change("x[256]", "x[49153]");
    is_refused("49153 bytes of shared memory: an entry declares at most 49152");
  }
  SECTION("instructions that are not known") {
    const char* const unknown[] = {"bar.sync 0, 32",
                                   "bar.arrive 0, 64",
                                   "ld.volatile.shared.b32 %r4, [x]",
                                   "shfl.sync.bfly.b64 %rd4, %rd5, 1, 31, -1",
                                   "shfl.bfly.b32 %r4, %r2, 1, 31",
                                   "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%r4, %r5, %r6, %r7}, "
                                   "{%r2, %r2, %r2, %r2}, {%r2, %r2}, {%r2, %r2, %r2, %r2}",
                                   "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r4, %r5, %r6, %r7}, "
                                   "{%r2, %r2}, {%r2, %r2}, {%r2, %r2, %r2, %r2}",
                                   "vote.sync.all.b32 %r4, %p1, -1",
                                   "ld.global.v8.b16 {%rs1}, [%rd4]",
                                   "ld.global.v2.b32 %r4, [%rd4]",
                                   "st.global.nc.b32 [%rd4], %r4",
                                   "atom.global.add.u32 %r4, [%rd4], 1"};
    for (const char* instruction : unknown) {
      INFO(instruction);
      CHECK(run(sample(std::string(instruction) + ";\nret;")).how == Outcome::refused);
    }
  }
}

TEST_CASE("text that is cut, or lacks a character, is refused or runs") {
  const std::string ptx = right_samples().back().sample.ptx;
  const auto try_text = [](const std::string& text) {
    void* module = nullptr;
    if (cuModuleLoadData(&module, text.c_str()) == 0) cuModuleUnload(module);
  };
  const std::string said = stderr_of([&] {
    for (std::size_t i = 0; i < ptx.size(); i += 7) try_text(ptx.substr(0, i));
    for (std::size_t i = 0; i < ptx.size(); i += 5) try_text(std::string(ptx).erase(i, 1));
  });
  CHECK_THAT(said, Contains("ptx device: PTX: no whole entry"));
}

TEST_CASE("more shared memory than 48 KiB for kernels that opt in") {
  void *module = nullptr, *function = nullptr;
  REQUIRE(cuModuleLoadData(&module, kernel("ret;", ".extern .shared .align 4 .b8 x[];").c_str()) == 0);
  REQUIRE(cuModuleGetFunction(&function, module, "k") == 0);
  std::uint64_t zero = 0;
  void* parameters[] = {&zero, &zero, &zero};
  const auto launch = [&](unsigned bytes) {
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, bytes, nullptr, parameters, nullptr);
  };
  int result = 0;
  CHECK_THAT(stderr_of([&] { result = launch(100 << 10); }), Contains("102400 of the launch"));
  CHECK(result == 1);
  CHECK(cuFuncSetAttribute(function, 8, 164 << 10) == 1);
  CHECK(cuFuncSetAttribute(function, 8, 100 << 10) == 0);
  CHECK(launch(100 << 10) == 0);
  CHECK(cuModuleUnload(module) == 0);
  CHECK(launch(0) == 400);
}

TEST_CASE("allocations and launches fail when they are told to") {
  // The device counts from its start, so the program's earlier calls count too.
  const auto fails_at = [](const char* variable, auto&& attempt) {
    setenv(variable, "5000", 1);
    int result = 0;
    for (int n = 0; n < 5000 && result == 0; ++n) result = attempt();
    CHECK(attempt() == 0);  // that one alone
    unsetenv(variable);
    return result;
  };
  std::uint64_t address = 0;
  CHECK(fails_at("KILN_PTX_FAIL_ALLOCATION", [&] {
          const int result = cuMemAlloc_v2(&address, 4);
          if (result == 0) cuMemFree_v2(address);
          return result;
        }) == 2);
  void *module = nullptr, *function = nullptr;
  REQUIRE(cuModuleLoadData(&module, kernel("ret;").c_str()) == 0);
  REQUIRE(cuModuleGetFunction(&function, module, "k") == 0);
  std::uint64_t zero = 0;
  void* parameters[] = {&zero, &zero, &zero};
  CHECK(fails_at("KILN_PTX_FAIL_LAUNCH", [&] {
          return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
        }) == 719);
  CHECK(cuModuleUnload(module) == 0);
}

TEST_CASE("what was not released is told at the end") {
  const auto status_of = [](const char* strict, bool frees) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      setenv("KILN_PTX_STRICT_EXIT", strict, 1);
      cuInit(0);
      std::uint64_t address = 0;
      void* stream = nullptr;
      void *pinned = nullptr, *event = nullptr;
      cuMemAlloc_v2(&address, 4);
      cuMemHostAlloc(&pinned, 4, 0);
      cuStreamCreate(&stream, 0);
      cuEventCreate(&event, 0);
      if (frees)
        cuMemFree_v2(address), cuMemFreeHost(pinned), cuStreamDestroy_v2(stream), cuEventDestroy_v2(event);
      std::exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  int status = -1;
  CHECK_THAT(stderr_of([&] { status = status_of("1", false); }),
             Contains("ptx device: not released at the end: 1 allocations, 1 allocations of pinned memory, "
                      "1 streams, 1 events"));
  CHECK(status == 1);
  CHECK(stderr_of([&] { status = status_of("1", true); }) == "");
  CHECK(status == 0);
  CHECK(stderr_of([&] { status = status_of("0", false); }) == "");
  CHECK(status == 0);
}
