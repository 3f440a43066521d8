// The files that a program gets when it dumps every stage of its compilations.
#include "function_net.h"
#include "temporary_folder.h"

using namespace kiln;
namespace fs = std::filesystem;

TEST_CASE("equal networks are dumped each for itself, and run") {
  const TemporaryFolder folder;
  const std::size_t count = 60;
  const Tensor x{1, 2, 3};
  std::vector<std::unique_ptr<Net>> nets;  // all kernels stay loaded
  for (std::size_t i = 0; i < count; ++i) {
    nets.push_back(std::make_unique<Net>([](F&, const Tensors& in) { return Tensors{in[0] * 2 + 1}; }));
    nets.back()->hybridize({.dump_dir = folder.path.string()});
    CHECK((*nets.back())(Tensors{x})[0].to_vector<float>() == std::vector<float>{3, 5, 7});
  }
  std::size_t compilations = 0;
  for (const auto& of_compilation : fs::directory_iterator(folder.path)) {
    if (!of_compilation.is_directory()) continue;  // the index
    ++compilations;
    std::size_t stages = 0;
    for (const auto& stage : fs::directory_iterator(of_compilation)) {
      CHECK(stage.file_size() > 0);
      ++stages;
    }
    CHECK(stages == 8);
  }
  CHECK(compilations == count);
}

TEST_CASE("a compilation that fails leaves the stages before") {
  const TemporaryFolder folder;
  const auto call = [&] {
    Net net([](F&, const Tensors& in) { return Tensors{in[0] * 3 + 1}; });
    net.hybridize({.dump_dir = folder.path.string()});
    net(Tensors{ones({3})});
  };
  call();
  std::string first;
  for (const auto& entry : fs::directory_iterator(folder.path))
    if (entry.is_directory()) first = entry.path().filename().string();
  const std::size_t number = std::stoul(first) + 1;
  const fs::path next = folder.path / ((number < 10 ? "00" : "0") + std::to_string(number) + first.substr(3));
  // A folder in the place of the fourth file.
  fs::create_directories(next / "3_buffers.mlir" / "full");
  CHECK_THROWS_WITH(call(), Catch::Contains("3_buffers.mlir"));
  for (const char* file : {"0_trace.txt", "1_kiln.mlir", "2_fused.mlir"})
    CHECK(fs::file_size(next / file) > 0);
  CHECK_FALSE(fs::exists(next / "4_kernels.mlir"));
}

TEST_CASE("a folder that cannot be made is named") {
  const TemporaryFolder folder;
  const std::string inside = (folder.path / "file" / "deep").string();
  std::fclose(std::fopen((folder.path / "file").c_str(), "w"));
  Net net([](F&, const Tensors& in) { return Tensors{in[0] + 1}; });
  net.hybridize({.dump_dir = inside});
  CHECK_THROWS_WITH(net({ones({2})}), Catch::Contains("file/deep"));
}
