// Files of MNIST's and CIFAR's form, as the test writes them, and damaged ones.
#include <kiln/data.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <zlib.h>

using namespace kiln;
using Catch::Matchers::Contains;
namespace vision = data::vision;

namespace {

void write(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string big_endian(std::uint32_t n) {
  return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
          static_cast<char>(n)};
}
std::string idx(unsigned type, const std::vector<std::uint32_t>& shape, const std::string& elements) {
  std::string out = big_endian(type << 8 | static_cast<std::uint32_t>(shape.size()));
  for (const std::uint32_t d : shape) out += big_endian(d);
  return out + elements;
}

std::string gzip(const std::string& content) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(content.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string bytes(std::size_t n, unsigned from = 0) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<char>(from + i));
  return out;
}

std::string error_of(const std::string& content) {
  write("idx/bad", content);
  try {
    vision::load_idx("idx/bad");
  } catch (const Error& e) {
    CHECK(e.kind() == Error::Kind::user);
    CHECK_THAT(e.what(), Contains("idx/bad"));
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("IDX files", "[vision_data]") {
  write("idx/a", idx(8, {2, 3}, bytes(6, 250)));
  const Tensor a = vision::load_idx("idx/a");
  CHECK(a.dtype() == DType::u8);
  CHECK(a.shape() == Shape{2, 3});
  CHECK(a.to_vector<int>() == std::vector<int>{250, 251, 252, 253, 254, 255});
  write("idx/b", gzip(idx(0x0C, {2}, big_endian(1) + big_endian(0xFFFFFFFE))));
  CHECK(vision::load_idx("idx/b").to_vector<int>() == std::vector<int>{1, -2});
  write("idx/c", idx(0x0D, {1, 1}, big_endian(0x3FC00000)));
  CHECK(vision::load_idx("idx/c").item<float>() == 1.5f);
  write("idx/d", gzip(idx(0x0E, {1}, big_endian(0xC0080000) + big_endian(0))));
  CHECK(vision::load_idx("idx/d").item<double>() == -3.0);
  write("idx/e", idx(9, {0, 5}, ""));
  CHECK(vision::load_idx("idx/e").shape() == Shape{0, 5});
  const std::string halves = idx(8, {2}, "\x01\x02");
  write("idx/f", gzip(halves.substr(0, 9)) + gzip(halves.substr(9)));
  CHECK(vision::load_idx("idx/f").to_vector<int>() == std::vector<int>{1, 2});
}

TEST_CASE("files that are no IDX", "[vision_data]") {
  CHECK_THAT(error_of(""), Contains("the header at byte 0"));
  CHECK_THAT(error_of("PNG..."), Contains("0x504e472e") && Contains("begins with 00 00"));
  CHECK_THAT(error_of(idx(0x0B, {1}, "xx")), Contains("0x00000b01"));
  CHECK_THAT(error_of(idx(8, std::vector<std::uint32_t>(9, 1), "x")), Contains("9 axes"));
  CHECK_THAT(error_of(idx(8, {5}, "abc")), Contains("more than the 3 bytes"));
  CHECK_THAT(error_of(idx(8, {2}, "abc")), Contains("more bytes behind byte 10"));
  const std::uint32_t most = 0xFFFFFFFF;
  CHECK_THAT(error_of(idx(8, {most, most, most}, "abc")), Contains("too many elements"));
  CHECK_THAT(error_of(gzip(idx(8, {most}, "abc"))), Contains("more than the 3 bytes"));
  CHECK_THAT(error_of(gzip(idx(8, {2}, std::string(100000, 'x')))), Contains("more bytes behind byte 10"));
  const std::string packed = gzip(idx(8, {100}, bytes(100)));
  CHECK_THAT(error_of(packed.substr(0, packed.size() - 9)), Contains("deflated bytes are damaged"));
  std::string damaged = packed;
  damaged[packed.size() - 6] ^= 1;  // of the checksum
  CHECK_THAT(error_of(damaged), Contains("incorrect data check"));
}

TEST_CASE("MNIST", "[vision_data]") {
  write("mnist/train-images-idx3-ubyte", idx(8, {2, 28, 28}, bytes(2 * 784)));
  write("mnist/train-labels-idx1-ubyte", idx(8, {2}, "\x07\x03"));
  write("mnist/t10k-images-idx3-ubyte.gz", gzip(idx(8, {1, 28, 28}, bytes(784, 9))));
  write("mnist/t10k-labels-idx1-ubyte.gz", gzip(idx(8, {1}, "\x05")));
  const vision::MNIST train("mnist");
  REQUIRE(train.size() == 2);
  const auto& [image, label] = train[1];
  CHECK(image.shape() == Shape{28, 28, 1});
  CHECK(image.dtype() == DType::u8);
  CHECK(image.to_vector<int>()[5] == (784 + 5) % 256);
  CHECK(label.dtype() == DType::i32);
  CHECK(label.shape() == Shape{});
  CHECK(label.item<int>() == 3);
  CHECK(vision::FashionMNIST("mnist", false)[0].label().item<int>() == 5);

  CHECK_THROWS_WITH(vision::MNIST("elsewhere"),
                    Contains("elsewhere/train-images-idx3-ubyte") && Contains("downloads nothing"));
  write("mnist2/train-images-idx3-ubyte", idx(8, {2, 28}, bytes(56)));
  write("mnist2/train-labels-idx1-ubyte", idx(8, {2}, "\x07\x03"));
  CHECK_THROWS_WITH(vision::MNIST("mnist2"), Contains("(2, 28)") && Contains("uint8 of 3 axes"));
  write("mnist2/train-images-idx3-ubyte", idx(8, {3, 28, 28}, bytes(3 * 784)));
  CHECK_THROWS_WITH(vision::MNIST("mnist2"), Contains("array 0 has 3, array 1 has 2"));
}

TEST_CASE("CIFAR", "[vision_data]") {
  // Planes of red, green and blue
  const std::string image = std::string(1024, 'r') + std::string(1024, 'g') + std::string(1023, 'b') + 'B';
  for (int i = 1; i <= 5; ++i) {
    const std::string record = static_cast<char>(i) + image;
    write("cifar/data_batch_" + std::to_string(i) + ".bin", i == 2 ? record + '\x09' + image : record);
  }
  write("cifar/test_batch.bin", "");
  const vision::CIFAR10 train("cifar");
  REQUIRE(train.size() == 6);
  CHECK(train[2].label().item<int>() == 9);
  const auto& [x, y] = train[5];
  CHECK(x.shape() == Shape{32, 32, 3});
  CHECK(x(std::vector<Index>{31, 31}).to_vector<int>() == std::vector<int>{'r', 'g', 'B'});
  CHECK(y.item<int>() == 5);
  CHECK(vision::CIFAR10("cifar", false).size() == 0);

  write("cifar100/train.bin", "\x13\x63" + image);
  write("cifar100/test.bin", "\x02\x05" + image + "\x01");
  CHECK(vision::CIFAR100("cifar100")[0].label().item<int>() == 0x13);
  CHECK(vision::CIFAR100("cifar100", true)[0].label().item<int>() == 0x63);
  CHECK_THROWS_WITH(vision::CIFAR100("cifar100", true, false),
                    Contains("test.bin") && Contains("3075 bytes") && Contains("byte 3074"));
  CHECK_THROWS_WITH(vision::CIFAR10("elsewhere"), Contains("elsewhere/data_batch_1.bin"));
}
