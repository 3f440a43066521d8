// Lesson 10: finding the slow line. Profile times kernels, memory_report() counts bytes, a dump has the code.
//
// With --time this program prints times too, which differ from run to run.
#include <kiln/kiln.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

using namespace kiln;

/// A normalization by hand, between two layers.
struct Net : HybridBlock {
  Child<nn::Dense> first{this, "first"}, second{this, "second"};

  Net() : HybridBlock({.prefix = "net_"}) {
    auto scope = name_scope();
    first = nn::Dense(256);
    second = nn::Dense(16);
  }

  Tensor hybrid_forward(F& F, const Tensor& x) override {
    Tensor y = first(x);
    Tensor centred = y - F.mean(y, {.axis = 1, .keepdims = true});
    Tensor scaled = centred / F.sqrt(F.mean(centred * centred, {.axis = 1, .keepdims = true}) + 1e-5);
    return second(F.relu(scaled));
  }
};

/// Lists the kernels of ten calls, each with the lines of this file that it computes, and the memory of a
/// call.
void profile(const char* name, Net& net, const Tensor& x, bool times) {
  for (int i = 0; i < 5; ++i) net(x);  // the first calls compile
  const auto before = memory_report().live_bytes;
  reset_peak_memory();
  Profile profile;
  for (int i = 0; i < 10; ++i) net(x);
  const auto bytes = memory_report().peak_bytes - before;

  auto kernels = profile.kernels();  // the slowest first
  if (!times) std::ranges::sort(kernels, {}, [](const auto& k) { return std::pair(k.name, k.lines); });
  std::printf("%s: %d kernels, %d KiB of results and temporaries\n", name, static_cast<int>(kernels.size()),
              static_cast<int>(bytes / 1024));
  for (const Profile::Kernel& k : kernels) {
    std::set<std::string> lines;  // of "file:line"
    for (const std::string& line : k.lines) lines.insert(line.substr(line.rfind(':') + 1));
    if (times) std::printf("%8.1f us", k.seconds / static_cast<double>(k.runs) * 1e6);
    for (const std::string& line : lines) std::printf("%4s", line.c_str());
    std::printf("  %s\n", k.name.c_str());
  }
}

int main(int argc, char** argv) {
  const bool times = argc == 2 && std::string_view(argv[1]) == "--time";
  random::seed(10);
  Net net;
  net.initialize(init::Xavier());
  Tensor x = random::normal(0, 1, {64, 128});
  profile("eager", net, x, times);

  // Fused: a kernel computes what several operators did, and names the lines of all.
  std::filesystem::remove_all("dump");
  net.hybridize({.dump_dir = "dump"});  // or KILN_DUMP=dump, without a change of the program
  profile("compiled", net, x, times);

  // The dump has a text for each stage of the compilation: the operators as recorded, the fused kernels, the
  // buffers, the loops, the machine code, and the steps of a call.
  std::set<std::string> stages;
  for (const auto& file : std::filesystem::recursive_directory_iterator("dump"))
    if (file.is_regular_file()) stages.insert(file.path().filename().string());
  for (const std::string& stage : stages) std::printf("%s\n", stage.c_str());
}
