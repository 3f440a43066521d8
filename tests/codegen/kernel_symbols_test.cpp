// Kernels with symbols (KILN_DEBUG=symbols): the map of perf has them, and a backtrace passes through them.
#include "function_net.h"
#include "temporary_folder.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <execinfo.h>
#include <fstream>
#include <signal.h>
#include <sstream>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

using namespace kiln;

namespace {

Tensor drawn(const Shape& shape) { return random::uniform(-1, 1, shape); }

struct Code {
  std::uintptr_t begin = 0, bytes = 0;
  std::string name;
  bool contains(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - begin < bytes;
  }
};

std::string path_of_map() { return "/tmp/perf-" + std::to_string(::getpid()) + ".map"; }

/// The lines of this process's map, as perf reads them.
std::vector<Code> map_of_perf() {
  std::ifstream file(path_of_map());
  std::vector<Code> codes;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Code code;
    INFO(line);
    REQUIRE((words >> std::hex >> code.begin >> code.bytes >> code.name));
    codes.push_back(code);
  }
  return codes;
}

std::vector<Code> kernels_named(const std::string& part) {
  std::vector<Code> codes = map_of_perf();
  std::erase_if(codes, [&](const Code& c) { return c.name.find(part) == std::string::npos; });
  return codes;
}

/// The frames of the first signal that came while the kernel ran.
std::array<void*, 128> frames;
volatile int frame_count = 0;
Code watched;

void on_alarm(int /*signal*/) {
  if (frame_count > 0) return;
  std::array<void*, 128> seen;
  const int count = ::backtrace(seen.data(), static_cast<int>(seen.size()));
  void* const* const begin = seen.data();
  if (std::none_of(begin, begin + count, [](const void* at) { return watched.contains(at); })) return;
  frames = seen;
  frame_count = count;
}

}  // namespace

TEST_CASE("kernels are in the map of perf, with the same bits as without symbols") {
  const Net::Body body = [](F& F, const Tensors& in) { return Tensors{F.relu(F.dot(in[0], in[1]) + 1)}; };
  everywhere(body, {drawn({6, 40}), drawn({40, 24})});
  const auto codes = kernels_named("kiln_net_dot0_net__plusscalar0_net_relu0_dot_add_max_");
  REQUIRE(codes.size() == 1);
  CHECK(codes[0].bytes > 32);
  // Each kernel has a range of its own.
  auto all = map_of_perf();
  std::sort(all.begin(), all.end(), [](const Code& a, const Code& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i + 1 < all.size(); ++i) CHECK(all[i].begin + all[i].bytes <= all[i + 1].begin);
}

TEST_CASE("networks that share a kernel have each its own name for it") {
  const Tensors in{drawn({3, 11})};
  for (const std::string prefix : {"left_", "right_"}) {
    struct Scaled : HybridBlock {
      explicit Scaled(const std::string& p) : HybridBlock({.prefix = p}) {}
      Tensor hybrid_forward(F& F, const Tensor& x) override { return F.sigmoid(x); }
    } net(prefix);
    net.hybridize();
    net(in[0]);
    CHECK(kernels_named("kiln_" + prefix + "sigmoid0").size() == 1);
    net(in[0]);
    net(drawn({4, 11}));  // the same kernel
    CHECK(kernels_named("kiln_" + prefix + "sigmoid0").size() == 1);
  }
}

TEST_CASE("a dump has symbols, and its texts are the code alone") {
  const TemporaryFolder folder;
  Net net([](F& F, const Tensors& in) { return Tensors{F.tan(in[0])}; });
  net.hybridize({.dump_dir = folder.path.string()});
  net({drawn({5})});
  const auto dump = folder.inner();
  for (const char* name : {"5_kernels.ll", "6_kernels.s"}) {
    std::ifstream file(dump / name);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    INFO(name);
    CHECK(text.find("kiln_net_tan0_tan_") != std::string::npos);
    for (const char* word : {"!dbg", "DISubprogram", ".loc", ".cfi_"})
      CHECK(text.find(word) == std::string::npos);
  }
}

#ifndef __SANITIZE_THREAD__  // which delivers signals between kernels
TEST_CASE("a backtrace from a kernel reaches the caller of the network") {
  const ThreadLimit one(1);
  Net net([](F& F, const Tensors& in) { return Tensors{F.dot(in[0], in[1])}; });
  net.hybridize();
  const Tensors in{drawn({600, 700}), drawn({700, 640})};
  net(in);
  // Of the pack and the product the latter takes the time.
  const auto codes = kernels_named("_dot_");
  REQUIRE(!codes.empty());
  watched = codes.back();
  std::array<void*, 128> here;
  const int depth = ::backtrace(here.data(), static_cast<int>(here.size()));  // loads the unwinder, too
  struct sigaction action {
  }, old{};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, &old);
  const itimerval every{{0, 1000}, {0, 1000}}, never{};
  ::setitimer(ITIMER_REAL, &every, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (frame_count == 0 && std::chrono::steady_clock::now() < end) net(in);
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &old, nullptr);
  REQUIRE(frame_count > depth);
  // The frames of this function's callers are the outermost ones.
  const auto* const end_of_frames = here.data() + depth;
  const auto* const caller = std::find(here.data(), here.data() + depth, __builtin_return_address(0));
  REQUIRE(caller != end_of_frames);
  for (int i = 1; i <= end_of_frames - caller; ++i)
    CHECK(frames[static_cast<std::size_t>(frame_count - i)] == here[static_cast<std::size_t>(depth - i)]);
}
#endif

TEST_CASE("the map is the user's own file") {
  CHECK(std::filesystem::is_regular_file(path_of_map()));
  CHECK(std::filesystem::remove(path_of_map()));
}
