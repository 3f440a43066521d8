// Errors of arrays larger than any memory.
#include "expect.h"

TEST_CASE("arrays larger than any memory", "[error]") {
  const std::string huge = message_of([&] { zeros({1ll << 40, 1ll << 40}); });
  CHECK_THAT(huge, Contains("(1099511627776, 1099511627776)") && Contains("can address"));
  const std::string line = line_below();
  const std::string range = message_of([&] { arange(0, 1e30, 1e-9); });
  CHECK_THAT(range, Contains(line) && Contains("arange from 0 to 1e+30 by 1e-09 has too many elements"));
}

TEST_CASE("arrays whose bytes wrap around", "[error]") {
  // 2^62 elements of 4 bytes are 2^64 bytes, which is 0 in 64 bits.
  const std::int64_t huge = std::int64_t{1} << 62;
  const auto refuses = [](const std::string& text, const std::string& line) {
    CHECK_THAT(text, Contains(line) && Contains("4611686018427387904") && Contains("can address"));
  };
  std::string line = line_below();
  refuses(message_of([&] { zeros({huge}); }), line);
  line = line_below();
  refuses(message_of([&] { full({huge, 1}, 3); }), line);
  float element = 0;
  line = line_below();
  refuses(message_of([&] { Tensor::wrap(&element, {huge}, DType::f32).copy(); }), line);
  line = line_below();
  refuses(message_of([&] { F::broadcast_to(ones({1}), {huge}); }), line);
  line = line_below();
  refuses(message_of([&] { random::normal(0, 1, {huge}); }), line);
}

TEST_CASE("a parameter whose bytes wrap around", "[error]") {
  nn::Dense net(4, {.in_units = std::int64_t{1} << 62});
  CHECK_THAT(message_of([&] { net.initialize(); }),
             Contains("weight") && Contains("(4, 4611686018427387904)") && Contains("can address"));
}

TEST_CASE("a network whose values are larger than any memory", "[error]") {
  struct Net : HybridBlock {
    Tensor hybrid_forward(F& F, const Tensor& x) override { return F.tile(x, {1 << 30, 1 << 30, 64}); }
  } net;
  const Tensor x = ones({1});
  for (const bool compiled : {false, true}) {
    net.hybridize({.active = compiled});
    CHECK_THAT(message_of([&] { net(x); }), Contains("too_large.cpp:") && Contains("tile") &&
                                                Contains("(1073741824, 1073741824, 64") &&
                                                Contains("can address"));
  }
}

TEST_CASE("memory that the system does not have", "[error]") {
  const std::int64_t many = std::int64_t{1} << 44;  // 64 TiB of float32
  std::string line = line_below();
  const std::string text = message_of([&] { zeros({many}); });
  CHECK_THAT(text, Contains(line) && Contains("float32 (17592186044416,): out of memory: 70368744177664"));
  struct Net : HybridBlock {
    Tensor hybrid_forward(F& F, const Tensor& x) override { return F.tile(x, {std::int64_t{1} << 44}); }
  } net;
  net.hybridize();
  const Tensor x = ones({1});
  line = line_below();
  const std::string compiled = message_of([&] { net(x); });
  CHECK_THAT(compiled, Contains(line) && Contains("out of memory: 70368744177664"));
}

TEST_CASE("a shape with a negative extent", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { zeros({-1, 2}); });
  CHECK(text == line + "_zeros: the shape (-1, 2) has a negative extent");
}

TEST_CASE("values that do not fill a shape", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { Tensor(std::vector<float>{1, 2}, {3}); });
  CHECK(text == line + "Tensor: 2 values do not fill the shape (3,), which has 3 elements");
}
