// NVIDIA's tools, where they are installed: its assembler takes the kernels of the reference data, and its
// disassembler shows them.
#include "codegen/cuda/toolkit.h"

#include "golden_files.h"
#include "model_case.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <thread>

using namespace kiln;
using namespace kiln::ptx;

namespace {

/// Cases of the reference data, or others.
using AddCase = std::function<void(const Case&)>;
using Cases = std::function<void(const AddCase& add)>;

Cases cases_of(const std::vector<std::string>& folders) {
  return [=](const AddCase& add) {
    for (const std::string& folder : folders)
      for (const auto& row : golden::manifest(folder)) add(golden_case(folder, row));
  };
}

/// Every `step`-th distinct kernel of the cases, for both architectures: `least` or more. ptxas takes a sixth
/// of a second for a kernel: each of the machine's cores runs one.
void assemble(const Cases& cases, std::size_t step, std::size_t least) {
  const auto ptxas = codegen::find_cuda_tool("ptxas");
  if (!ptxas) {
    std::cout << "SKIPPED: ptxas is not installed\n";
    return;
  }
  std::vector<std::string> sources;
  std::vector<std::string> architectures;
  for (const std::string arch : {"sm_80", "sm_90"}) {
    std::map<std::string, std::string> kernels;
    cases([&](const Case& c) { add_kernels(c, arch, kernels); });
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
  CHECK(sources.size() >= least);
}

}  // namespace

TEST_CASE("NVIDIA's assembler takes kernels of the models", "[accepted]") {
  assemble(cases_of({"models"}), 3, 60);
}
TEST_CASE("NVIDIA's assembler takes every kernel", "[.accepted_all]") {
  assemble(cases_of({"ops", "models"}), 1, 1000);
}

TEST_CASE("NVIDIA's assembler takes kernels on tensor cores", "[accepted]") {
  const PrecisionScope scope(Precision::tf32);
  const auto products = [](const AddCase& add) {
    for (const DType factors : {DType::f16, DType::bf16, DType::f32})
      for (const std::int64_t rows : {5, 50, 2100}) {  // one for each tile
        const Symbol a = F::cast(sym::var("a"), factors), b = F::cast(sym::var("b"), factors);
        Case c{"product", Model::from_symbol(F::dot(a, b)), {}};
        c.inputs = c.model.make_inputs({{"a", {rows, 530}}, {"b", {530, 2100}}});
        add(c);
      }
  };
  assemble(products, 1, 18);
}

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
