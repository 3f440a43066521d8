// One process, many threads: eager operators share their code.
#include <kiln/kiln.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace kiln;

TEST_CASE("threads compute at once, with code that none of them has seen", "[tensor][threads]") {
  constexpr int threads = 4;
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&wrong, t] {
      for (int i = 0; i < 50; ++i) {
        const int n = 1 + i % 7;
        Tensor x = nd::full({n, 2}, t);
        x += i;
        const Tensor y = (x * 2 - 1).reshape({-1})[slice(0, 1)];
        if (y.item<float>() != static_cast<float>(2 * (t + i) - 1)) ++wrong;
        if ((x > 1e6).sum().item<float>() != 0) ++wrong;
      }
    });
  }
  for (std::thread& t : all) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a tensor may be read from many threads", "[tensor][threads]") {
  const Tensor x = nd::full({100}, 3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const Tensor view = x[slice(i % 10, 50)];
        if ((view + x[slice(50, 100 - i % 10)]).max().item<float>() != 6) ++wrong;
      }
    });
  }
  for (std::thread& t : all) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("random numbers drawn by many threads are all different", "[random][threads]") {
  random::seed(3);
  std::vector<std::vector<float>> drawn(4);
  std::vector<std::thread> all;
  for (auto& mine : drawn)
    all.emplace_back([&mine] { mine = random::uniform(0, 1, {64}).to_vector<float>(); });
  for (std::thread& t : all) t.join();
  for (std::size_t i = 0; i < drawn.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(drawn[i] != drawn[j]);
}
