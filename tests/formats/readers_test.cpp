// Other readers of the formats: files that they read are read alike, and files that they refuse are refused.
// readers/make.py made the files and asked NumPy, safetensors and MXNet.
#include "golden_files.h"

#include <kiln/recordio.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>

using namespace kiln;
using Catch::Contains;
using golden::error_of;
using nlohmann::json;

namespace {

/// Latin-1 of a JSON string, which is UTF-8.
std::string bytes_of(const json& text) {
  std::string out;
  const std::string utf8 = text.get<std::string>();
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    auto c = static_cast<unsigned char>(utf8[i]);
    if (c >= 0x80) c = static_cast<unsigned char>((c & 3) << 6 | (utf8[++i] & 0x3F));
    out += static_cast<char>(c);
  }
  return out;
}

json cases(const std::string& name) {
  json all = json::parse(golden::read_text(KILN_TEST_SOURCES "/formats/readers/" + name));
  REQUIRE(all.size() == 200);
  return all;
}

/// [dtype, shape, elements]
void check_array(const Tensor& array, const json& expected) {
  CHECK(name_of(array.dtype()) == expected[0].get<std::string>());
  CHECK(array.shape() == Shape(std::span<const std::int64_t>(expected[1].get<std::vector<std::int64_t>>())));
  CHECK(array.to_vector<double>() == expected[2].get<std::vector<double>>());
}

std::vector<NamedArray> parse(const std::string& content, const std::string& name) {
  return parse_arrays(std::as_bytes(std::span(content)), name);
}

}  // namespace

TEST_CASE(".npy files are read as by NumPy", "[readers]") {
  for (const json& c : cases("npy.json")) {
    const std::string content = bytes_of(c["file"]);
    INFO(c.dump());
    std::vector<NamedArray> arrays;
    const std::string error = error_of([&] { arrays = parse(content, "x.npy"); });
    if (c["gives"].contains("read")) {
      CHECK(error == "");
      if (arrays.size() == 1) check_array(arrays[0].array, c["gives"]["read"]);
    } else {
      CHECK_THAT(error, Contains("x.npy"));
      if (c["gives"].contains("lacking")) CHECK_THAT(error, Contains("its dtype is"));
    }
  }
}

TEST_CASE(".safetensors files are read as by safetensors", "[readers]") {
  for (const json& c : cases("safetensors.json")) {
    const std::string content = bytes_of(c["file"]);
    INFO(c.dump());
    std::vector<NamedArray> arrays;
    const std::string error = error_of([&] { arrays = parse(content, "x.safetensors"); });
    if (!c["gives"].contains("read")) {
      CHECK_THAT(error, Contains("x.safetensors"));
      continue;
    }
    std::size_t have = 0;
    const json& expected = c["gives"]["read"];
    for (const auto& [name, array] : expected.items()) {
      if (array.is_object()) continue;  // of a dtype that Kiln has not
      ++have;
      const Tensor* const found = find_array(arrays, name);
      INFO(name);
      CHECK(found);
      if (found) check_array(*found, array);
    }
    CHECK(arrays.size() == have);
    if (have > 0 || expected.empty()) {
      CHECK(error == "");
    } else {
      CHECK_THAT(error, Contains("x.safetensors") && Contains("its dtype is"));
    }
  }
}

TEST_CASE("RecordIO files are read as by MXNet", "[readers]") {
  for (const json& c : cases("rec.json")) {
    INFO(c.dump());
    std::ofstream("x.rec", std::ios::binary) << bytes_of(c["file"]);
    std::vector<std::string> records;
    const std::string error = error_of([&] {
      recordio::Reader in("x.rec");
      while (auto record = in.read()) records.push_back(std::move(*record));
    });
    if (!c["gives"].contains("read")) {
      CHECK_THAT(error, Contains("x.rec"));
      continue;
    }
    CHECK(error == "");
    std::vector<std::string> expected;
    for (const json& record : c["gives"]["read"]) expected.push_back(bytes_of(record));
    CHECK(records == expected);
  }
}
