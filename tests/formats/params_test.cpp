// NDArray lists: every form that MXNet wrote is read, MXNet's own form is written, and nothing in a file is
// trusted.
#include "golden_files.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace kiln;
using golden::error_of;

namespace {

// Builds the bytes of a list.
class Bytes {
 public:
  template <class T>
  Bytes& add(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& u32(std::uint32_t v) { return add(v); }
  Bytes& i64(std::int64_t v) { return add(v); }
  Bytes& u64(std::uint64_t v) { return add(v); }
  Bytes& list(std::uint64_t arrays) { return u64(0x112).u64(0).u64(arrays); }
  Bytes& v2(std::initializer_list<std::int64_t> shape) {
    u32(0xF993FAC9).u32(0).u32(static_cast<std::uint32_t>(shape.size()));
    for (const std::int64_t d : shape) i64(d);
    return u32(1).u32(0);
  }
  Bytes& name(const std::string& n) {
    u64(n.size());
    text_ += n;
    return *this;
  }
  std::vector<NamedArray> parse() const {
    return parse_arrays(std::as_bytes(std::span(text_.data(), text_.size())), "hostile.params");
  }
  std::string error() const {
    return error_of([&] { parse(); });
  }

 private:
  std::string text_;
};

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

TEST_CASE("every form of list is read", "[params]") {
  for (const auto& file : golden::manifest("formats", "files")) {
    const std::string name = file["file"];
    INFO(name);
    if (file.value("may_be_refused", false)) {
      const std::string error = error_of([&] { load_arrays(golden::path("formats/" + name)); });
      CHECK_THAT(error, Catch::Contains(name) && Catch::Contains("sparse") && Catch::Contains("array 1"));
      continue;
    }
    const std::vector<NamedArray> arrays = load_arrays(golden::path("formats/" + name));
    REQUIRE(arrays.size() == file["arrays"].size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const auto& expected = file["arrays"][i];
      CHECK(arrays[i].name == (expected["name"].is_null() ? "" : expected["name"].get<std::string>()));
      CHECK(name_of(arrays[i].array.dtype()) == expected["dtype"].get<std::string>());
      const auto shape = expected["shape"].get<std::vector<std::int64_t>>();
      CHECK(arrays[i].array.shape() == Shape(std::span(shape)));
      // The manifest gives the first 16 values of a large array.
      std::vector<double> values = arrays[i].array.to_vector<double>();
      values.resize(std::min<std::size_t>(values.size(), 16));
      CHECK(values == expected["values"].get<std::vector<double>>());
    }
  }
}

TEST_CASE("a list is written as MXNet writes it", "[params]") {
  for (const char* name : {"v2-dtypes", "v2-ranks", "v2-unnamed", "v2-names", "v2-empty", "v3-np",
                           "gluon-export-0000", "gluon-save", "gluon-paramdict"}) {
    INFO(name);
    const std::string file = golden::path(std::string("formats/") + name + ".params");
    save_arrays("again.params", load_arrays(file));
    CHECK(golden::read_text("again.params") == golden::read_text(file));
  }
  for (const char* name : {"v0", "v1", "v2-gpu"}) {
    INFO(name);
    const std::vector<NamedArray> arrays =
        load_arrays(golden::path(std::string("formats/") + name + ".params"));
    CHECK(format_arrays(arrays) == golden::read_text(golden::path("formats/v2-gpu.params"))
                                       .replace(52, 8, std::string("\1\0\0\0\0\0\0\0", 8)));
  }
}

TEST_CASE("every dtype comes back bit for bit", "[params]") {
  std::vector<NamedArray> arrays;
  for (const DType d : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::u8, DType::i8, DType::i32,
                        DType::i64, DType::boolean})
    arrays.push_back({std::string(name_of(d)), arange(6).astype(d).reshape({2, 3})});
  arrays.push_back({"scalar", full({}, 3)});
  arrays.push_back({"nothing", zeros({0, 4})});
  save_arrays("dtypes.params", arrays);
  const std::vector<NamedArray> again = load_arrays("dtypes.params");
  REQUIRE(again.size() == arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    INFO(arrays[i].name);
    CHECK(again[i].name == arrays[i].name);
    CHECK(again[i].array.dtype() == arrays[i].array.dtype());
    CHECK(again[i].array.shape() == arrays[i].array.shape());
    CHECK(again[i].array.to_vector<double>() == arrays[i].array.to_vector<double>());
  }
  CHECK(find_array(again, "scalar")->item<float>() == 3);
  CHECK(find_array(again, "other") == nullptr);
}

TEST_CASE("a slice is saved as the elements it covers", "[params]") {
  const Tensor x = arange(12).reshape({4, 3});
  const std::vector<NamedArray> list = {{"x", x[slice(1, 3)]}};
  save_arrays("slice.params", list);
  CHECK(load_arrays("slice.params")[0].array.to_vector<int>() == std::vector<int>{3, 4, 5, 6, 7, 8});
}

TEST_CASE("what a file declares is checked before it is believed", "[params]") {
  using Catch::Contains;
  CHECK_THAT(Bytes().error(), Contains("hostile.params") && Contains("empty"));
  CHECK_THAT(Bytes().u32(1).error(), Contains("cut short"));
  CHECK_THAT(Bytes().u64(0x113).u64(0).u64(0).error(), Contains("0x113"));
  CHECK_THAT(Bytes().list(1ull << 60).u64(0).error(), Contains("1152921504606846976 arrays"));
  // Axes.
  CHECK_THAT(Bytes().list(1).v2({3}).error(), Contains("array 1 of 1"));
  CHECK_THAT(Bytes().list(1).u32(0xF993FAC9).u32(0).u32(~0u).u64(0).u64(0).error(), Contains("-1 axes"));
  CHECK_THAT(Bytes().list(1).u32(0xF993FAC9).u32(0).u32(33).u64(0).u64(0).error(), Contains("33 axes"));
  CHECK_THAT(Bytes().list(1).u32(12).u64(0).u64(0).u64(0).error(), Contains("at most 8"));
  CHECK_THAT(Bytes().list(1).u32(0x12345678).u64(0).u64(0).error(), Contains("305419896 axes"));
  CHECK_THAT(Bytes().list(1).v2({-1, 2}).u32(0).u64(0).error(), Contains("axis 0 has the extent -1"));
  // Products that overflow, in all ways round to something small.
  CHECK_THAT(Bytes().list(1).v2({1ll << 62, 4}).u32(0).u64(0).error(), Contains("left in the file"));
  CHECK_THAT(Bytes().list(1).v2({1ll << 32, 1ll << 32}).u32(0).u64(0).error(), Contains("left in the file"));
  CHECK_THAT(Bytes().list(1).v2({1ll << 40, 4}).u32(0).u64(0).error(), Contains("(1099511627776, 4)"));
  // No elements, but no strides either: NumPy refuses it too.
  CHECK_THAT(Bytes().list(1).v2({0, 1ll << 62, 1ll << 62}).u32(0).u64(0).error(),
             Contains("(0, 4611686018427387904, 4611686018427387904)"));
  // Kinds.
  CHECK_THAT(Bytes().list(1).v2({1}).u32(77).u64(0).error(), Contains("dtype flag 77"));
  CHECK_THAT(Bytes().list(1).v2({}).u64(0).error(), Contains("no value"));
  CHECK_THAT(Bytes().list(1).u32(0xF993FAC9).u32(1).u64(0).u64(0).error(), Contains("row_sparse"));
  CHECK_THAT(Bytes().list(1).u32(0xF993FAC9).u32(2).u64(0).u64(0).error(), Contains("csr"));
  CHECK_THAT(Bytes().list(1).u32(0xF993FAC9).u32(9).u64(0).u64(0).error(), Contains("storage type 9"));
  // Names.
  CHECK_THAT(Bytes().list(1).v2({1}).u32(0).u32(0).u64(2).name("a").name("b").error(), Contains("2 names"));
  CHECK_THAT(Bytes().list(1).v2({1}).u32(0).u32(0).u64(1).u64(~0ull).error(), Contains("name 1 of 1"));
  CHECK(Bytes().list(1).v2({1}).u32(0).u32(0).u64(1).name("a").u64(5).parse()[0].name == "a");
}

TEST_CASE("every file that ends too early is refused", "[params]") {
  for (const char* name : {"v0", "v1", "v2-names", "v2-dtypes", "v3-np", "v2-sparse"}) {
    const std::vector<std::byte> whole =
        bytes_of(golden::read_text(golden::path(std::string("formats/") + name + ".params")));
    for (std::size_t n = 0; n < whole.size(); ++n) {
      INFO(name << " cut after " << n);
      CHECK_THAT(error_of([&] { parse_arrays(std::span(whole).first(n), "cut.params"); }),
                 Catch::Contains("cut.params"));
    }
  }
}

TEST_CASE("a bool of any value is true or false", "[params]") {
  Bytes b;
  b.list(1).v2({4}).u32(7).u32(0xFF020100).u64(0);
  CHECK(b.parse()[0].array.to_vector<int>() == std::vector<int>{0, 1, 1, 1});
}

TEST_CASE("a save that fails loses nothing", "[params]") {
  const std::vector<NamedArray> good = {{"a", ones({3})}};
  save_arrays("kept.params", good);
  const std::vector<NamedArray> bad = {{"a", ones({3})}, {"b", Tensor()}};
  CHECK_THAT(error_of([&] { save_arrays("kept.params", bad); }), Catch::Contains("'b'"));
  CHECK(load_arrays("kept.params")[0].array.to_vector<float>() == std::vector<float>(3, 1));
  CHECK_THAT(error_of([&] { save_arrays("no/such/folder.params", good); }),
             Catch::Contains("no/such/folder.params"));
  std::filesystem::create_directory("folder.params");
  CHECK_THAT(error_of([&] { save_arrays("folder.params", good); }), Catch::Contains("folder"));
  CHECK_THAT(error_of([&] { load_arrays("folder.params"); }), Catch::Contains("folder"));
  CHECK_THAT(error_of([&] { load_arrays("missing.params"); }), Catch::Contains("missing.params"));
  // Nothing is left beside the files.
  for (const auto& entry : std::filesystem::directory_iterator("."))
    CHECK(entry.path().string().find(".tmp.") == std::string::npos);
}

TEST_CASE("a symbolic link stays one when its file is replaced", "[params]") {
  const std::vector<NamedArray> list = {{"a", ones({3})}};
  save_arrays("target.params", list);
  std::filesystem::remove("link.params");
  std::filesystem::create_symlink("target.params", "link.params");
  const std::vector<NamedArray> other = {{"a", zeros({3})}};
  save_arrays("link.params", other);
  CHECK(std::filesystem::is_symlink("link.params"));
  CHECK(load_arrays("target.params")[0].array.to_vector<float>() == std::vector<float>(3, 0));
}
