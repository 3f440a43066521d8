// RecordIO in both directions, and files that are no RecordIO.
#include <kiln/data.h>
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <thread>

using namespace kiln;
using Catch::Matchers::Contains;

namespace {

const std::string sample = KILN_TEST_DATA "/training/sample";

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string number(std::uint32_t n) { return {reinterpret_cast<const char*>(&n), sizeof n}; }
const std::string magic = number(0xCED7230A);
/// A part of a record: its kind, its declared length, its bytes.
std::string part(std::uint32_t kind, std::uint32_t length, const std::string& bytes) {
  return magic + number(kind << 29 | length) + bytes;
}

struct Expected {
  recordio::IRHeader header;
  std::string bytes;
};
std::vector<Expected> expected() {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const std::vector<std::string> bytes = {"", "a", "abcd", "xxxxxxx" + magic + "yz", magic + magic + magic,
                                          all};
  std::vector<Expected> out(bytes.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].header.id = i;
    out[i].header.label = {static_cast<float>(i)};
    if (i % 2 == 0) out[i].header.label.insert(out[i].header.label.end(), {0.5f, -1});
    out[i].bytes = bytes[i];
  }
  return out;
}

}  // namespace

TEST_CASE("records of MXNet are read in order and by key", "[recordio]") {
  recordio::Reader in(sample + ".rec");
  const recordio::IndexedReader indexed(sample + ".idx", sample + ".rec");
  const auto want = expected();
  CHECK(indexed.keys() == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto record = in.read();
    REQUIRE(record);
    const auto [header, bytes] = recordio::unpack(*record);
    CHECK(header.label == want[i].header.label);
    CHECK(header.id == i);
    CHECK(bytes == want[i].bytes);
    CHECK(indexed.read_idx(static_cast<std::int64_t>(i)) == *record);
  }
  CHECK(!in.read());
  CHECK(!in.read());
  in.reset();
  const auto again = in.read();
  CHECK(again == indexed.read_idx(0));
  CHECK(in.tell() == 44);
  in.seek(176);
  CHECK(in.read() == indexed.read_idx(4));
  CHECK_THROWS_WITH(in.seek(10000), Contains("there is no byte 10000"));
  CHECK_THROWS_WITH(indexed.read_idx(6), Contains("the index has no key 6"));
}

TEST_CASE("written records have MXNet's bytes", "[recordio]") {
  recordio::IndexedWriter out("written.idx", "written.rec");
  std::int64_t key = 0;
  for (const Expected& e : expected()) out.write_idx(key++, recordio::pack(e.header, e.bytes));
  CHECK_THROWS_WITH(out.write_idx(3, ""), Contains("the key 3"));
  out.close();
  out.close();
  CHECK(content_of("written.rec") == content_of(sample + ".rec"));
  CHECK(content_of("written.idx") == content_of(sample + ".idx"));
  CHECK_THROWS_WITH(out.write_idx(9, ""), Contains("is closed"));
}

TEST_CASE("what is written comes back, whatever it holds", "[recordio]") {
  const std::string m = magic;
  const std::vector<std::string> records = {"",
                                            m,
                                            m + m,
                                            "a" + m,
                                            "abcd" + m + "efgh",
                                            m + "x",
                                            "x" + m + m,
                                            std::string(100000, 'z') + m,
                                            m.substr(0, 3),
                                            "abc" + m.substr(0, 3) + m,
                                            std::string(70000, '\0')};
  recordio::Writer out("several.rec");
  std::vector<std::uint64_t> places;
  for (const std::string& r : records) {
    places.push_back(out.tell());
    out.write(r);
  }
  out.close();
  CHECK(out.tell() == content_of("several.rec").size());
  recordio::Reader in("several.rec");
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(in.tell() == places[i]);
    CHECK(in.read() == records[i]);
  }
  CHECK(!in.read());
  CHECK_THROWS_WITH(out.write("x"), Contains("is closed"));
  CHECK_THROWS_WITH(recordio::Writer("no/such/folder.rec"), Contains("no/such/folder.rec: cannot write"));
}

TEST_CASE("files that are no RecordIO", "[recordio]") {
  const auto read = [](const std::string& content) {
    write("bad.rec", content);
    recordio::Reader in("bad.rec");
    while (in.read()) {
    }
  };
  CHECK_NOTHROW(read(""));
  CHECK_THROWS_WITH(read(part(0, 1, "x")), Contains("4 bytes are needed, 1 are left"));  // without zeros
  CHECK_THROWS_WITH(read("abc"), Contains("bad.rec") && Contains("record part at byte 0"));
  CHECK_THROWS_WITH(read(std::string(8, 'x')), Contains("no record begins at byte 0: the number there is"));
  CHECK_THROWS_WITH(read(part(0, 4, "abcd") + part(0, 9, "abcd")),
                    Contains("record part at byte 20: 12 bytes are needed, 4 are left"));
  CHECK_THROWS_WITH(read(part(0, (1u << 29) - 1, "abcd")), Contains("536870912 bytes are needed"));
  CHECK_THROWS_WITH(read(part(2, 0, "")), Contains("byte 0 is of kind 2, which cannot be the beginning"));
  CHECK_THROWS_WITH(read(part(1, 0, "") + part(0, 0, "")),
                    Contains("byte 8 is of kind 0, which cannot be inside"));
  CHECK_THROWS_WITH(read(part(1, 0, "")), Contains("record part at byte 8"));
  CHECK_THROWS_WITH(read(part(5, 0, "")), Contains("of kind 5"));
  CHECK_THROWS_WITH(recordio::Reader("absent.rec"), Contains("absent.rec: cannot open the RecordIO file"));
  CHECK_THROWS_WITH(recordio::Reader("/dev/zero"), Contains("must be a regular file"));

  const auto index = [](const std::string& text) {
    write("bad.idx", text);
    recordio::IndexedReader("bad.idx", sample + ".rec");
  };
  CHECK_NOTHROW(index("7\t0\r\n-3\t44"));
  CHECK_THROWS_WITH(index("0\t0\n1 44\n"), Contains("bad.idx, line 2: is not a key, a tab and a byte"));
  CHECK_THROWS_WITH(index("0\t-1\n"), Contains("line 1"));
  CHECK_THROWS_WITH(index("0\t0\n\n"), Contains("line 2"));
  CHECK_THROWS_WITH(index("99999999999999999999\t0\n"), Contains("line 1"));
  CHECK_THROWS_WITH(index("0\t532\n"), Contains("byte 532 is behind the end"));
  CHECK_THROWS_WITH(index("0\t0\n0\t44\n"), Contains("line 2: key 0 is there already"));
  write("bad.idx", "0\t4\n");
  CHECK_THROWS_WITH(recordio::IndexedReader("bad.idx", sample + ".rec").read_idx(0),
                    Contains("no record begins at byte 4"));

  CHECK_THROWS_WITH(recordio::unpack(std::string(10, 'x')), Contains("the header of a record"));
  CHECK_THROWS_WITH(recordio::unpack(std::string(24, '\xFF')), Contains("the labels"));
  CHECK_THROWS_WITH(recordio::unpack(ones({24})), Contains("a record is uint8"));
}

TEST_CASE("a record file is a dataset, which workers read at once", "[recordio]") {
  const data::RecordFileDataset records(sample + ".rec");
  REQUIRE(records.size() == 6);
  CHECK(records[1].data().shape() == Shape{25});
  const auto [header, bytes] = recordio::unpack(records[3].data());
  CHECK(header == expected()[3].header);
  CHECK(bytes.shape() == Shape{13});
  CHECK(bytes.to_vector<int>()[12] == 'z');

  const auto ids = records.transform([](const Tensor& record) {
    const auto [h, payload] = recordio::unpack(record);
    return std::pair{data::scalar(static_cast<double>(h.id)),
                     data::scalar(static_cast<double>(payload.size()))};
  });
  std::vector<float> seen, sizes;
  for (const auto& [id, size] : data::DataLoader(ids, {.batch_size = 2, .num_workers = 3})) {
    for (const float x : id.to_vector<float>()) seen.push_back(x);
    for (const float x : size.to_vector<float>()) sizes.push_back(x);
  }
  CHECK(seen == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(sizes == std::vector<float>{0, 1, 4, 13, 12, 256});
  CHECK_THROWS_WITH(data::RecordFileDataset("absent.rec"), Contains("absent.rec"));
}
