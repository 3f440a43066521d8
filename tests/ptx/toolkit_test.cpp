// NVIDIA's tools, where they are installed: its assembler takes the kernels of the reference data, and its
// disassembler shows them.
#include "codegen/cuda/toolkit.h"

#include "../golden_files.h"
#include "model_case.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <thread>

using namespace kiln;
using namespace kiln::ptx;

namespace {

/// Of every `step`-th distinct kernel of the folders' cases, for both architectures, those that ptxas
/// refuses. It takes a sixth of a second for a kernel: each of the machine's cores runs one.
void assemble(const std::vector<std::string>& folders, std::size_t step) {
  const auto ptxas = codegen::find_cuda_tool("ptxas");
  if (!ptxas) {
    std::cout << "SKIPPED: ptxas is not installed\n";
    return;
  }
  std::vector<std::string> sources;
  std::vector<std::string> architectures;
  for (const std::string arch : {"sm_80", "sm_90"}) {
    std::map<std::string, std::string> kernels;
    for (const std::string& folder : folders)
      for (const auto& row : golden::manifest(folder)) add_kernels(golden_case(folder, row), arch, kernels);
    std::size_t number = 0;
    for (auto& [symbol, ptx] : kernels)
      if (number++ % step == 0) {
        sources.push_back(std::move(ptx));
        architectures.push_back(arch);
      }
  }
  std::vector<int> status(sources.size(), -1);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(std::thread::hardware_concurrency(), 1U); ++t)
    threads.emplace_back([&, t] {
      const std::string name = fmt::format("kernel{}", t);
      for (std::size_t i = next++; i < sources.size(); i = next++) {
        golden::write_text(name + ".ptx", sources[i]);
        status[i] = std::system(
            fmt::format("{0} -arch={1} {2}.ptx -o {2}.cubin", *ptxas, architectures[i], name).c_str());
      }
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    INFO("for " << architectures[i] << "\n" << sources[i]);
    CHECK(status[i] == 0);
  }
  std::cout << fmt::format("{} kernels\n", sources.size());
  CHECK(sources.size() > 100);
}

}  // namespace

TEST_CASE("NVIDIA's assembler takes kernels of the models", "[accepted]") { assemble({"models"}, 3); }
TEST_CASE("NVIDIA's assembler takes every kernel", "[.accepted_all]") { assemble({"ops", "models"}, 1); }

TEST_CASE("NVIDIA's tools show the machine code of a model's kernels", "[sass]") {
  using codegen::find_cuda_tool;
  if (!find_cuda_tool("ptxas") || (!find_cuda_tool("nvdisasm") && !find_cuda_tool("cuobjdump"))) {
    std::cout << "SKIPPED: ptxas, or nvdisasm and cuobjdump, are not installed\n";
    return;
  }
  const Case c = golden_case("models", golden::manifest("models").at(0));
  const auto count = [](const std::string& text, std::string_view word) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  for (const std::string arch : {"sm_80", "sm_90"}) {
    auto stages = c.model.dump(c.inputs, {.device = cuda(), .arch = arch, .sass = true});
    const std::string& sass = stages["sass"];
    INFO(arch << "\n" << sass);
    CHECK(count(sass, " registers") >= count(stages["ptx"], ".entry "));
    CHECK(count(sass, arch) >= count(stages["ptx"], ".entry "));
    CHECK(count(sass, " FFMA ") > 0);
    CHECK(count(sass, " EXIT") > 0);
  }
  CHECK(c.model.dump(c.inputs, {.device = cuda()}).count("sass") == 0);
}
