// Files of arrays are read into the arrays; from memory they are parsed. Both give the same.
#include "counted_allocations.h"
#include "golden_files.h"
#include "temporary_folder.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace kiln;
using golden::error_of;

namespace {

void write(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// Small arrays between larger ones than a reader keeps in memory.
std::vector<NamedArray> samples() {
  random::seed(3);
  std::vector<NamedArray> arrays;
  for (const auto& [name, n] : {std::pair{"first", 5}, {"large", 60'001}, {"small", 3}, {"larger", 90'000}})
    arrays.push_back({name, random::uniform(-1, 1, {n})});
  arrays.push_back({"bools", arrays[1].array > 0});
  arrays.push_back({"none", zeros({0, 4})});
  arrays.push_back({"double", arrays[2].array.astype(DType::f64)});
  return arrays;
}

/// The outcome: the error, or all names and elements.
struct Outcome {
  std::string error;
  std::vector<std::tuple<std::string, Shape, DType, std::string>> arrays;  // the elements as bytes
  bool operator==(const Outcome&) const = default;
};
template <class Read>
Outcome outcome(const Read& read) {
  Outcome out;
  std::vector<NamedArray> arrays;
  out.error = error_of([&] { arrays = read(); });
  for (const auto& [name, a] : arrays) {
    const auto bytes = static_cast<std::size_t>(a.size()) * size_of(a.dtype());
    const char* const data = bytes == 0 ? "" : static_cast<const char*>(a.data());
    out.arrays.emplace_back(name, a.shape(), a.dtype(), std::string(data, bytes));
  }
  return out;
}

void check_same(const std::string& path, const std::string& content) {
  write(path, content);
  const Outcome file = outcome([&] { return load_arrays(path, {}); });
  CHECK(file == outcome([&] { return parse_arrays(std::as_bytes(std::span(content)), path); }));
}

/// Peak of the bytes that calls of `run` held, without the bytes held before.
template <class Run>
std::size_t peak_of(const Run& run) {
  reset_peak_memory();
  const std::size_t before = memory_report().peak_bytes;
  run();
  return memory_report().peak_bytes - before;
}

constexpr std::int64_t many = 1'500'000;
constexpr std::size_t many_bytes = many * sizeof(float), little = 200'000;

}  // namespace

TEST_CASE("a file is read as its bytes are parsed, damaged or not", "[formats]") {
  const TemporaryFolder folder;
  for (const ArrayFormat format :
       {ArrayFormat::params, ArrayFormat::safetensors, ArrayFormat::npz, ArrayFormat::npy}) {
    INFO(static_cast<int>(format));
    std::vector<NamedArray> arrays = samples();
    if (format == ArrayFormat::npy) arrays = {arrays[1]};
    const std::string whole = format_arrays(arrays, {.format = format});
    const std::string path = (folder.path / "file").string();
    check_same(path, whole);
    CHECK(load_arrays(path).size() == arrays.size());
    for (std::size_t n = 0; n < whole.size(); n += n < 400 ? 7 : 49'999) check_same(path, whole.substr(0, n));
    check_same(path, whole.substr(0, whole.size() - 1));
    check_same(path, whole + "x");
    for (std::size_t at = 0; at < 400; at += 3) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
      check_same(path, damaged);
    }
  }
}

TEST_CASE("loading needs the memory of the arrays and little more", "[formats]") {
  const TemporaryFolder folder;
  const std::vector<NamedArray> arrays = {{"a", random::uniform(0, 1, {many})}, {"b", ones({7})}};
  for (const char* extension : {".params", ".safetensors", ".npy"}) {
    INFO(extension);
    const std::string path = (folder.path / "file").string() + extension;
    save_arrays(path, std::span(arrays).first(std::string_view(extension) == ".npy" ? 1 : 2));
    const std::size_t before = Allocations::bytes;
    std::vector<NamedArray> loaded;
    CHECK(peak_of([&] { loaded = load_arrays(path); }) < many_bytes + little);
    if (allocations_counted) CHECK(Allocations::bytes - before < little);
    // The arrays are no views of the file.
    std::filesystem::resize_file(path, 0);
    CHECK(loaded[0].array.to_vector<float>() == arrays[0].array.to_vector<float>());
  }
}

TEST_CASE("a network without values takes the arrays that were loaded", "[formats]") {
  const TemporaryFolder folder;
  const std::string path = (folder.path / "net.params").string();
  const auto layer = [] { return nn::Dense(1500, {.use_bias = false, .in_units = 1000}); };
  nn::Dense saved = layer();
  saved.initialize();
  saved.save_parameters(path);

  nn::Dense loaded = layer();
  CHECK(peak_of([&] { loaded.load_parameters(path); }) < many_bytes + little);
  CHECK(loaded.weight.data().to_vector<float>() == saved.weight.data().to_vector<float>());

  // One with values keeps its array, which programs may hold.
  const Tensor held = loaded.weight.data();
  saved.initialize(init::Constant(3), {.force_reinit = true});
  saved.save_parameters(path);
  loaded.load_parameters(path);
  CHECK(held.to_vector<float>() == std::vector<float>(many, 3));
}

TEST_CASE("a file of one array") {
  const TemporaryFolder folder;
  const Tensor x = random::uniform(-1, 1, {2, 3});
  for (const std::string name : {"x.params", "x.npy", "x.npz", "x.safetensors", "x"}) {
    const std::string path = (folder.path / name).string();
    save(path, x);
    const Tensor y = load(path);
    CHECK(y.shape() == x.shape());
    CHECK(y.to_vector<float>() == x.to_vector<float>());
    CHECK(load_arrays(path).size() == 1);
  }
  CHECK(load_arrays((folder.path / "x").string()).at(0).name.empty());  // as mx.nd.save writes one array
  const std::string path = (folder.path / "two.npz").string();
  save_arrays(path, std::vector<NamedArray>{{"a", x}, {"b", x}});
  const std::string text = error_of([&] { load(path); });
  CHECK_THAT(text, Catch::Contains("array_files_test.cpp:") && Catch::Contains("two.npz") &&
                       Catch::Contains("2 (a, b): load_arrays()"));
  CHECK_THAT(error_of([&] { save((folder.path / "x.npy").string(), Tensor()); }),
             Catch::Contains("undefined"));
  CHECK_THAT(error_of([&] { load((folder.path / "none.npy").string()); }), Catch::Contains("none.npy"));
}
