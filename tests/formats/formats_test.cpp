// Files of arrays that other programs write: NumPy's .npy and .npz, and safetensors. The files of
// tests/formats/arrays are theirs; hostile ones are built here, byte by byte.
#include "golden_files.h"

#include <kiln/log.h>

#include <catch2/catch.hpp>
#include <cstring>

using namespace kiln;
using Catch::Contains;
using golden::error_of;
using golden::read_text;

namespace {

std::string theirs(const std::string& name) {
  return std::string(KILN_TEST_SOURCES) + "/formats/arrays/" + name;
}

std::vector<NamedArray> parse(const std::string& bytes, const std::string& name = "hostile") {
  return parse_arrays(std::as_bytes(std::span(bytes)), name);
}
std::string error(const std::string& bytes, const std::string& name = "hostile") {
  return error_of([&] { parse(bytes, name); });
}

/// Whether the array holds 0, 1, 2, ... (a bool: false, true, true, ...).
bool counts(const Tensor& array) {
  const std::vector<double> values = array.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != (array.dtype() == DType::boolean ? double(i > 0) : double(i))) return false;
  return true;
}

void check_every(const std::vector<NamedArray>& arrays) {
  CHECK(arrays.size() == 11);
  for (const char* dtype :
       {"float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool", "bfloat16"}) {
    INFO(dtype);
    const Tensor* array = find_array(arrays, dtype);
    REQUIRE(array);
    CHECK(name_of(array->dtype()) == dtype);
    CHECK(array->shape() == Shape{2, 3});
    CHECK(counts(*array));
  }
  CHECK(find_array(arrays, "scalar")->shape() == Shape{});
  CHECK(find_array(arrays, "scalar")->item<float>() == 0);
  CHECK(find_array(arrays, "nothing")->shape() == Shape{0, 4});
  CHECK(find_array(arrays, "nothing")->dtype() == DType::i64);
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.to_vector<double>() == b.to_vector<double>();
}

template <class T>
std::string number(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string u16(std::uint16_t v) { return number(v); }
std::string u32(std::uint32_t v) { return number(v); }
std::string u64(std::uint64_t v) { return number(v); }

/// A .npy file, version 1, with this header.
std::string npy(const std::string& header, const std::string& elements = "") {
  return "\x93NUMPY" + std::string("\1\0", 2) + u16(static_cast<std::uint16_t>(header.size())) + header +
         elements;
}
std::string npy_of(const std::string& descr, const std::string& shape, const std::string& elements = "") {
  return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}\n", elements);
}

/// A .safetensors file.
std::string tensors(const std::string& header, const std::string& elements = "") {
  return u64(header.size()) + header + elements;
}

/// The zip archive of one member that numpy wrote, with a word in it changed.
std::string zip_with(const std::string& from, const std::string& to) {
  std::string bytes = read_text(theirs("umlaut.npz"));
  const std::size_t at = bytes.rfind(from);
  REQUIRE(at != std::string::npos);
  return bytes.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("what numpy and safetensors wrote is read", "[formats]") {
  check_every(load_arrays(theirs("stored.npz")));
  check_every(load_arrays(theirs("deflated.npz")));
  check_every(load_arrays(theirs("every.safetensors")));
  CHECK(load_arrays(theirs("stored.npz"))[0].name == "float16");
  CHECK(load_arrays(theirs("positional.npz"))[1].name == "arr_1");
  CHECK(load_arrays(theirs("umlaut.npz"))[0].name == "in:größe");
  const struct {
    const char* file;
    DType dtype;
    Shape shape;
  } files[] = {{"plain", DType::f32, {2, 3}},
               {"long", DType::i32, {40}},
               {"scalar", DType::f32, {}},
               {"nothing", DType::i64, {0, 4}},
               {"fortran", DType::i32, {2, 3, 4}},
               {"big_endian", DType::i32, {2, 3}},
               {"big_endian_fortran", DType::f64, {3, 2}},
               {"version2", DType::f32, {2, 3}},
               {"version3", DType::f32, {2, 3}}};
  for (const auto& f : files) {
    INFO(f.file);
    const std::vector<NamedArray> arrays = load_arrays(theirs(std::string(f.file) + ".npy"));
    REQUIRE(arrays.size() == 1);
    CHECK(arrays[0].name.empty());
    CHECK(arrays[0].array.dtype() == f.dtype);
    CHECK(arrays[0].array.shape() == f.shape);
    CHECK(counts(arrays[0].array));
  }
}

TEST_CASE("what Kiln cannot hold is refused with the reason", "[formats]") {
  const auto refused = [](const std::string& name) { return error_of([&] { load_arrays(theirs(name)); }); };
  CHECK_THAT(refused("complex.npy"), Contains("complex.npy") && Contains("<c8") && Contains(".astype()"));
  CHECK_THAT(refused("fields.npy"), Contains("several fields"));
  CHECK_THAT(refused("objects.npy"), Contains("Python objects"));
}

TEST_CASE("integers that Kiln has not are read as the next wider ones, from every form", "[formats]") {
  const auto check = [](const Tensor& array, DType dtype, const std::vector<std::int64_t>& elements) {
    CHECK(array.dtype() == dtype);
    CHECK(array.to_vector<std::int64_t>() == elements);
  };
  const struct {
    const char* name;
    DType dtype;
    std::vector<std::int64_t> elements;
  } expected[] = {{"int16", DType::i32, {-32768, -1, 0, 32767}},
                  {"uint16", DType::i32, {0, 1, 32768, 65535}},
                  {"uint32", DType::i64, {0, 1, 2147483648, 4294967295}},
                  {"uint64", DType::i64, {0, 1, 4294967296, std::numeric_limits<std::int64_t>::max()}}};
  for (const char* file : {"wide.npz", "wide.safetensors"}) {
    INFO(file);
    const auto arrays = load_arrays(theirs(file));
    CHECK(arrays.size() == std::size(expected) + 1);  // one of float32 too
    for (const auto& e : expected) {
      INFO(e.name);
      const Tensor* const array = find_array(arrays, e.name);
      REQUIRE(array);
      check(*array, e.dtype, e.elements);
    }
  }
  check(load_arrays(theirs("int16.npy"))[0].array, DType::i32, {0, 1});
  check(load_arrays(theirs("big_endian_fortran_uint16.npy"))[0].array, DType::i32, {0, 1, 2, 3, 4, 65535});
  CHECK(load_arrays(theirs("big_endian_fortran_uint16.npy"))[0].array.shape() == Shape{3, 2});
  const std::string large = u64(7) + u64(1ull << 63);
  CHECK_THAT(error(npy_of("<u8", "(2,)", large)),
             Contains("element 1 is 9223372036854775808") && Contains("int64"));
  CHECK_THAT(error(npy_of("<u4", "(0, 2305843009213693951)")), Contains("larger than any array"));
}

TEST_CASE("an array that Kiln cannot hold leaves those beside it", "[formats]") {
  for (const std::string file : {"mixed.npz", "mixed.safetensors"}) {
    INFO(file);
    std::vector<std::string> lines;
    set_log_sink([&](LogLevel level, std::string_view line) {
      if (level == LogLevel::warning) lines.emplace_back(line);
    });
    const auto arrays = load_arrays(theirs(file));
    set_log_sink({});
    CHECK(arrays.size() == 2);
    CHECK(find_array(arrays, "first"));
    CHECK(find_array(arrays, "last"));
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], Contains(file) && Contains("'odd_large") && Contains("the other arrays are read"));
    if (file == "mixed.npz") {
      CHECK_THAT(lines[0],
                 Contains("3 of its 5 arrays") && Contains("'odd_complex.npy'") && Contains("'<U2'"));
    }
  }
}

TEST_CASE("a .npy file is written as numpy writes it", "[formats]") {
  for (const char* name : {"plain", "long", "scalar", "nothing"}) {
    INFO(name);
    save_arrays("again.npy", load_arrays(theirs(std::string(name) + ".npy")));
    CHECK(read_text("again.npy") == read_text(theirs(std::string(name) + ".npy")));
  }
}

TEST_CASE("a list comes back from every form bit for bit", "[formats]") {
  std::vector<NamedArray> list = load_arrays(theirs("stored.npz"));
  list.push_back({"in:größe.weight", arange(5)});
  list.push_back({"quote \" and \\ and \n", full({3}, -1)});
  list.push_back({"compressible", zeros({1000, 100})});
  const std::vector<NamedArray> unnamed = {{"", arange(2)}, {"x", arange(3)}, {"", arange(4)}};
  for (const char* file : {"list.params", "list.npz", "list.safetensors"}) {
    INFO(file);
    for (const bool compress : {false, true}) {
      save_arrays(file, list, {.compress = compress});
      const std::vector<NamedArray> again = load_arrays(file);
      REQUIRE(again.size() == list.size());
      for (std::size_t i = 0; i < list.size(); ++i) {
        CHECK(again[i].name == list[i].name);
        CHECK(equal(again[i].array, list[i].array));
      }
    }
    save_arrays(file, {});
    CHECK(load_arrays(file).empty());
    if (array_format_of(file) == ArrayFormat::params) continue;
    save_arrays(file, unnamed);
    CHECK(load_arrays(file)[0].name == "arr_0");
    CHECK(load_arrays(file)[2].name == "arr_2");
    const std::vector<NamedArray> twice = {{"arr_1", arange(2)}, {"", arange(2)}};
    CHECK_THAT(error_of([&] { save_arrays(file, twice); }), Contains(file) && Contains("arr_1"));
  }
  CHECK(format_arrays(list, {.format = ArrayFormat::npz, .compress = true}).size() < 10000);
}

TEST_CASE("the form may be chosen independently of the name", "[formats]") {
  const std::vector<NamedArray> list = {{"x", arange(3)}};
  save_arrays("list.weights", list, {.format = ArrayFormat::safetensors});
  CHECK(read_text("list.weights").substr(8, 13) == R"({"x":{"dtype")");
  CHECK(load_arrays("list.weights")[0].name == "x");
  save_arrays("wrong.npy", list, {.format = ArrayFormat::params});
  CHECK(load_arrays("wrong.npy")[0].name == "x");
  CHECK_THAT(error_of([] {
               save_arrays("x.npy", std::vector<NamedArray>(2, {"", arange(3)}));
             }),
             Contains("x.npy") && Contains("one array, not 2"));
  CHECK_THAT(error_of([] {
               save_arrays("x.safetensors", std::vector<NamedArray>{{"\xFF", arange(3)}});
             }),
             Contains("UTF-8"));
}

TEST_CASE("a name that no form has is refused", "[formats]") {
  const std::vector<NamedArray> list = {{"x", arange(3)}};
  nn::Dense net(2, {.in_units = 3});
  net.initialize();
  for (const std::string file : {"p.onnx", "p.pt", "p.NPZ", "folder.npz/p.params2"}) {
    for (const std::string& text :
         {error_of([&] { save_arrays(file, list); }), error_of([&] { net.save_parameters(file); }),
          error_of([&] { net.collect_params().save(file); })})
      CHECK_THAT(text, Contains(file) && Contains(".params, .npy, .npz, .safetensors"));
  }
  // MXNet's programs save lists under names without an extension.
  for (const std::string file : {"list", ".hidden"}) {
    save_arrays(file, list);
    CHECK(load_arrays(file)[0].name == "x");
    CHECK(array_format_of(file) == ArrayFormat::params);
  }
}

TEST_CASE("wide elements of a safetensors file are aligned", "[formats]") {
  const std::vector<NamedArray> list = {{"a", full({3}, 1, DType::u8)}, {"b", full({3}, 1, DType::f64)}};
  const std::string text = format_arrays(list, {.format = ArrayFormat::safetensors});
  CHECK_THAT(text, Contains(R"("a":{"dtype":"U8","shape":[3],"data_offsets":[24,27]},"b":{"dtype":"F64",)"));
  std::uint64_t header = 0;
  std::memcpy(&header, text.data(), sizeof header);
  CHECK(header % 8 == 0);
  CHECK(text.size() == 8 + header + 27);
}

TEST_CASE("a network keeps its parameters in any form", "[formats]") {
  nn::HybridSequential net;
  net.add(nn::Dense(4, {.activation = "relu", .in_units = 3}), nn::BatchNorm({.in_channels = 4}),
          nn::Dense(2, {.in_units = 4}));
  net.initialize();
  const Tensor x = arange(6).reshape({2, 3});
  const std::vector<float> expected = net(x).to_vector<float>();
  for (const char* file : {"net.params", "net.npz", "net.safetensors"}) {
    INFO(file);
    net.save_parameters(file);
    net.initialize(init::Zero(), {.force_reinit = true});
    CHECK(net(x).to_vector<float>() != expected);
    net.load_parameters(file);
    CHECK(net(x).to_vector<float>() == expected);
  }
}

TEST_CASE("a model takes its parameters in any form", "[formats]") {
  const std::string symbol = golden::path("models/mlp-symbol.json"),
                    params = golden::path("models/mlp-0000.params");
  const Tensor x = *find_array(load_arrays(golden::path("models/mlp-io.params")), "in:data");
  const std::vector<float> expected = Model::load(symbol, params).run({{"data", x}})[0].to_vector<float>();
  for (const char* file : {"mlp.npz", "mlp.safetensors"}) {
    INFO(file);
    save_arrays(file, load_arrays(params));
    CHECK(Model::load(symbol, file).run({{"data", x}})[0].to_vector<float>() == expected);
    SymbolBlock block = SymbolBlock::imports(symbol, {"data"}, file);
    CHECK(block(x).to_vector<float>() == expected);
  }
}

TEST_CASE("headers of .npy files are read as Python would", "[formats]") {
  const std::string one = number(1.5f);
  CHECK(parse(npy("{\"shape\":(1L,),'fortran_order' : True , 'descr':'f4',  }  \n", one))[0]
            .array.item<float>() == 1.5f);
  CHECK(parse(npy_of("=f4", "( )", one))[0].array.shape() == Shape{});
  CHECK(parse(npy_of("|b1", "(3,)", std::string("\0\1\7", 3)))[0].array.to_vector<int>() ==
        std::vector<int>{0, 1, 1});
  CHECK(parse(npy_of(">f2", "(1,)", std::string("\x3C\x00", 2)))[0].array.item<float>() == 1);
  CHECK_THAT(error(npy("")), Contains("'{'"));
  CHECK_THAT(error(npy("{")), Contains("string"));
  CHECK_THAT(error(npy("{'descr': '<f4'}")), Contains("needs descr, fortran_order and shape"));
  CHECK_THAT(error(npy("{'descr': '<f4', 'descr': '<f4'}")), Contains("two 'descr'"));
  CHECK_THAT(error(npy("{'weight': 1}")), Contains("unknown key 'weight'"));
  CHECK_THAT(error(npy("{'fortran_order': 1}")), Contains("True or False"));
  CHECK_THAT(error(npy_of("<f4", "()") + "x"), Contains("more than the 1 bytes that are left"));
  CHECK_THAT(error(npy_of("<f4", "() 7", one)), Contains("malformed at '7"));
  CHECK_THAT(error(npy_of("<f4", "()} {", one)), Contains("follows its header"));
  CHECK_THAT(error(npy_of("<f4", "()", one + "x")), Contains("1 bytes follow"));
  CHECK_THAT(error(npy_of("<f4", "(-1,)")), Contains("no extent at '-1"));
  CHECK_THAT(error(npy_of("<f4", "(99999999999999999999,)")), Contains("no extent"));
  CHECK_THAT(error(npy_of("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", one)), Contains("more than 8 axes"));
  CHECK_THAT(error(npy_of("<c8", "(1,)")), Contains("<c8"));
  CHECK_THAT(error(npy_of("", "(1,)")), Contains("its dtype is ''"));
  std::string version = npy_of("<f4", "()", one);
  version[6] = 4;
  CHECK_THAT(error(version), Contains("version 4"));
}

TEST_CASE("shapes that overflow take no memory", "[formats]") {
  for (const char* shape :
       {"(4611686018427387904, 4)", "(4294967296, 4294967296)", "(9223372036854775807,)"}) {
    CHECK_THAT(error(npy_of("<f4", shape)), Contains("left in the file"));
    std::string list(shape);
    list = "[" + list.substr(1, list.size() - 2);
    list = list.substr(0, list.find_last_not_of(",)") + 1) + "]";
    CHECK_THAT(error(tensors(R"({"x":{"dtype":"F32","shape":)" + list + R"(,"data_offsets":[0,0]}})")),
               Contains("left in the file"));
  }
  // No elements, but no strides either: NumPy refuses it too.
  CHECK_THAT(error(npy_of("<f4", "(0, 4611686018427387904, 4)")), Contains("(0, 4611686018427387904, 4)"));
}

TEST_CASE("archives are checked before they are believed", "[formats]") {
  const std::string bytes = read_text(theirs("umlaut.npz"));
  CHECK_THAT(error("PK"), Contains("hostile") && Contains("no directory"));
  CHECK_THAT(error("", "empty.npz"), Contains("empty.npz") && Contains("no directory"));
  CHECK(parse("PK" + std::string("\5\6", 2) + std::string(18, '\0')).empty());
  CHECK(parse(bytes).size() == 1);
  // A comment after the end is no part of the archive.
  std::string commented = bytes;
  commented.replace(bytes.size() - 2, 2, u16(5) + "hello");
  CHECK(parse(commented).size() == 1);
  // The number of members, the directory's place, the length of a member.
  CHECK_THAT(error(bytes.substr(0, bytes.size() - 14) + u16(9) + u16(9) + bytes.substr(bytes.size() - 10)),
             Contains("9 members"));
  CHECK_THAT(error(bytes.substr(0, bytes.size() - 14) + u16(1) + u16(2) + bytes.substr(bytes.size() - 10)),
             Contains("multi-part"));
  CHECK_THAT(error(bytes.substr(0, bytes.size() - 6) + u32(~1u) + u16(0)), Contains("byte 4294967294"));
  const std::string entry = "PK\1\2";
  const std::size_t at = bytes.find(entry);
  const auto with = [&](std::size_t offset, const std::string& word) {
    return error(std::string(bytes).replace(at + offset, word.size(), word));
  };
  CHECK_THAT(with(8, u16(1)), Contains("encrypted"));
  CHECK_THAT(with(10, u16(12)), Contains("method 12"));
  CHECK_THAT(with(10, u16(8)), Contains("unpacks to"));
  CHECK_THAT(with(16, u32(7)), Contains("checksum"));
  CHECK_THAT(with(20, u32(1 << 20)), Contains("declared to take 1048576"));
  CHECK_THAT(with(20, u32(1 << 20) + u32(1 << 20)), Contains("more bytes than"));
  CHECK_THAT(with(42, u32(1)), Contains("no member begins at byte 1"));
  CHECK_THAT(with(42, u32(1 << 30)), Contains("byte 1073741824"));
  CHECK_THAT(error(zip_with(".npy", ".txt")), Contains("NAME.npy"));
  CHECK_THAT(error(zip_with("in:", "IN:")), Contains("the name in its header differs from the directory's"));
}

TEST_CASE("a deflated member is what it declares", "[formats]") {
  const std::vector<NamedArray> list = {{"x", zeros({1000, 1000})}};
  const std::string bytes = format_arrays(list, {.format = ArrayFormat::npz, .compress = true});
  REQUIRE(bytes.size() < 10000);
  CHECK(parse(bytes)[0].array.size() == 1000000);
  // The sizes stand in the directory's 64-bit field: size, packed size.
  const std::size_t size_at = bytes.find("PK\1\2") + 46 + 5 + 4;
  const auto with_size = [&](std::uint64_t size) {
    return error(std::string(bytes).replace(size_at, 8, u64(size)));
  };
  CHECK_THAT(with_size(100), Contains("member 'x.npy'") && Contains("more than the 100 bytes"));
  CHECK_THAT(with_size(4000000), Contains("more than the 4000000 bytes"));
  CHECK_THAT(with_size(~0ull), Contains("damaged"));
  reset_peak_memory();
  const std::size_t before = memory_report().peak_bytes;
  CHECK_THAT(with_size(1ull << 40), Contains("unpacks to 4000128 bytes"));
  CHECK(memory_report().peak_bytes == before);
}

TEST_CASE("a safetensors header is checked before it is believed", "[formats]") {
  const auto refused = [](const std::string& arrays, const std::string& elements = "") {
    return error(tensors("{" + arrays + "}", elements), "x.safetensors");
  };
  const std::string x = R"("x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const std::string y = R"("y":{"dtype":"U8","shape":[2],"data_offsets":[2,4]})";
  CHECK(parse(tensors("{" + y + "," + x + "}", "abcd"))[0].array.to_vector<int>() ==
        std::vector<int>{'c', 'd'});
  CHECK(parse(tensors("{}")).empty());
  CHECK_THAT(error("", "x.safetensors"), Contains("cut short"));
  CHECK_THAT(error(u64(~0ull) + "{"), Contains("header of 18446744073709551615 bytes"));
  CHECK_THAT(error(u64(100) + "{"), Contains("100 bytes are needed"));
  CHECK_THAT(error(tensors("[]"), "x.safetensors"), Contains("must begin with '{'"));
  CHECK_THAT(refused(x), Contains("2 bytes, but 0 follow"));
  CHECK_THAT(refused(x, "abc"), Contains("2 bytes, but 3 follow"));
  CHECK_THAT(refused(x + "," + x, "ab"), Contains("two arrays of that name"));
  CHECK_THAT(refused(y, "abcd"), Contains("begin at 2, but those before it end at 0"));
  CHECK_THAT(refused(R"("x":{"dtype":"U8","shape":[2]})", "ab"),
             Contains("needs dtype, shape and data_offsets"));
  CHECK_THAT(refused(R"("x":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]})", "ab"),
             Contains("F8_E4M3"));
  CHECK_THAT(refused(R"("x":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,2]})", "ab"),
             Contains("2 bytes"));
  CHECK_THAT(refused(R"("x":{"dtype":"u8","shape":[2],"data_offsets":[0,2]})", "ab"), Contains("'u8'"));
  CHECK_THAT(refused(R"("x":{"dtype":"U8","shape":[-1],"data_offsets":[0,2]})", "ab"), Contains("-1"));
  CHECK_THAT(refused(R"("x":{"dtype":"U8","shape":[2],"data_offsets":[2,0]})", "ab"), Contains("ascending"));
  CHECK_THAT(refused(R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,2]})", "ab"), Contains("gives it 2"));
  CHECK_THAT(refused(R"("x":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]})", "a"),
             Contains("more than 8 axes"));
  CHECK_THAT(refused(R"("x":{"dtype":"U8","shape":[1.5],"data_offsets":[0,2]})", "ab"),
             Contains("whole number"));
  CHECK(parse(tensors(R"({"":{"dtype":"U8","shape":[2],"data_offsets":[0,2],"note":{"a":[1]}}})", "ab"))
            .size() == 1);
  CHECK_THAT(refused(R"("x":{"dtype":"U8","shape":[2],"data_offsets":[0,2],"note":[01]})", "ab"),
             Contains("JSON"));
  CHECK_THAT(refused(R"("__metadata__":{"a":1})"), Contains("__metadata__"));
  CHECK_THAT(refused("\"\xFF\":{}", "ab"), Contains("UTF-8"));
  CHECK_THAT(refused(std::string(100000, '[')), Contains("x.safetensors"));
}

TEST_CASE("every file that ends too early is refused, whatever its form", "[formats]") {
  for (const char* name :
       {"stored.npz", "deflated.npz", "every.safetensors", "fortran.npy", "version3.npy"}) {
    const std::string whole = read_text(theirs(name));
    for (std::size_t n = 0; n < whole.size(); ++n) {
      INFO(name << " cut after " << n);
      const std::string cut = std::string("cut.") + name;
      CHECK_THAT(error(whole.substr(0, n), cut), Contains(cut));
    }
  }
}
