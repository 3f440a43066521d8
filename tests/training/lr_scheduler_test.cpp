// Learning rate schedules: MXNet's rates, in any order, and the cost of a rate.
#include <kiln/lr_scheduler.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

using namespace kiln::lr_scheduler;

namespace {

constexpr std::int64_t updates[] = {1, 2, 3, 8, 1000, 1024, 1025, 4097, 99999, 100000, 1000000, 1000001};

struct Case {
  FactorOptions options;
  std::vector<double> rates;  // MXNet 1.9.1's, of these updates
};

const Case cases[] = {
    {{.step = 1,
      .factor = 0.9999,
      .stop_factor_lr = 1e-08,
      .base_lr = 0.1,
      .warmup_steps = 0,
      .warmup_begin_lr = 0.01},
     {0x1.999999999999ap-4, 0x1.998f1d3ed527fp-4, 0x1.9984a128c8e5ep-4, 0x1.995038c118d4ep-4,
      0x1.72a8182c808b7p-4, 0x1.71c49fec71cb0p-4, 0x1.71bb289c930fcp-4, 0x1.0fef300e35c4ep-4,
      0x1.309516927bc8ap-18, 0x1.308d4a760d89bp-18, 0x1.5798ee2308c3ap-27, 0x1.5798ee2308c3ap-27}},
    {{.step = 7,
      .factor = 0.99,
      .stop_factor_lr = 1e-08,
      .base_lr = 0.3,
      .warmup_steps = 0,
      .warmup_begin_lr = 0.01},
     {0x1.3333333333333p-2, 0x1.3333333333333p-2, 0x1.3333333333333p-2, 0x1.3020c49ba5e35p-2,
      0x1.26e71b354770cp-4, 0x1.1b484c41205bcp-4, 0x1.1b484c41205bcp-4, 0x1.b7d339df5ee8fp-11,
      0x1.5798ee2308c3ap-27, 0x1.5798ee2308c3ap-27, 0x1.5798ee2308c3ap-27, 0x1.5798ee2308c3ap-27}},
    {{.step = 3,
      .factor = 0.5,
      .stop_factor_lr = 0.001,
      .base_lr = 0.1,
      .warmup_steps = 0,
      .warmup_begin_lr = 0.01},
     {0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.999999999999ap-6,
      0x1.0624dd2f1a9fcp-10, 0x1.0624dd2f1a9fcp-10, 0x1.0624dd2f1a9fcp-10, 0x1.0624dd2f1a9fcp-10,
      0x1.0624dd2f1a9fcp-10, 0x1.0624dd2f1a9fcp-10, 0x1.0624dd2f1a9fcp-10, 0x1.0624dd2f1a9fcp-10}},
    {{.step = 1,
      .factor = 0.9999,
      .stop_factor_lr = 0.0,
      .base_lr = 0.1,
      .warmup_steps = 5,
      .warmup_begin_lr = 0.01},
     {0x1.cac083126e97ap-6, 0x1.78d4fdf3b645bp-5, 0x1.0624dd2f1a9fcp-4, 0x1.995038c118d4ep-4,
      0x1.72a8182c808b7p-4, 0x1.71c49fec71cb0p-4, 0x1.71bb289c930fcp-4, 0x1.0fef300e35c4ep-4,
      0x1.309516927bc8ap-18, 0x1.308d4a760d89bp-18, 0x1.52251d93cacd6p-148, 0x1.521c7582a6a91p-148}},
    {{.step = 100,
      .factor = 0.97,
      .stop_factor_lr = 1e-12,
      .base_lr = 1.0,
      .warmup_steps = 10,
      .warmup_begin_lr = 0.01},
     {0x1.be76c8b439581p-4, 0x1.a9fbe76c8b43ap-3, 0x1.3a5e353f7ced9p-2, 0x1.9a9fbe76c8b44p-1,
      0x1.853d015ca64e2p-1, 0x1.798fa7b897137p-1, 0x1.798fa7b897137p-1, 0x1.2ecf33ad9e56ap-2,
      0x1.19799812dea11p-40, 0x1.19799812dea11p-40, 0x1.19799812dea11p-40, 0x1.19799812dea11p-40}},
    {{.step = 1,
      .factor = 1.0,
      .stop_factor_lr = 1e-08,
      .base_lr = 0.1,
      .warmup_steps = 0,
      .warmup_begin_lr = 0.01},
     {0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.999999999999ap-4,
      0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.999999999999ap-4,
      0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.999999999999ap-4}},
    {{.step = 2,
      .factor = 0.9,
      .stop_factor_lr = 1.0,
      .base_lr = 0.1,
      .warmup_steps = 0,
      .warmup_begin_lr = 0.01},
     {0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.0000000000000p+0, 0x1.0000000000000p+0,
      0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.0000000000000p+0,
      0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.0000000000000p+0}},
    {{.step = 1000,
      .factor = 0.1,
      .stop_factor_lr = 0.0,
      .base_lr = 0.05,
      .warmup_steps = 0,
      .warmup_begin_lr = 0.01},
     {0x1.999999999999ap-5, 0x1.999999999999ap-5, 0x1.999999999999ap-5, 0x1.999999999999ap-5,
      0x1.999999999999ap-5, 0x1.47ae147ae147cp-8, 0x1.47ae147ae147cp-8, 0x1.4f8b588e368f3p-18,
      0x1.bff2ee48e055fp-334, 0x1.bff2ee48e055fp-334, 0x0.0p+0, 0x0.0p+0}},
};

/// The rate by MXNet's loop.
double by_loop(const FactorOptions& o, std::int64_t n) {
  double rate = o.base_lr.value();
  for (std::int64_t count = 0; n > count + o.step; count += o.step) {
    rate *= o.factor;
    if (rate < o.stop_factor_lr) rate = o.stop_factor_lr;
  }
  return rate;
}

}  // namespace

TEST_CASE("a Factor has MXNet's rates bit for bit, in any order of updates", "[lr_scheduler]") {
  for (const Case& c : cases) {
    const Factor forwards(c.options), backwards(c.options);
    for (std::size_t i = 0; i < std::size(updates); ++i) {
      CHECK(forwards(updates[i]) == c.rates[i]);
      CHECK(Factor(c.options)(updates[i]) == c.rates[i]);
      const std::size_t k = std::size(updates) - 1 - i;
      CHECK(backwards(updates[k]) == c.rates[k]);
    }
  }
  const FactorOptions options{.step = 3, .factor = 0.99999, .stop_factor_lr = 0, .base_lr = 0.7};
  const Factor schedule(options);
  std::uint64_t state = 1;
  for (int i = 0; i < 300; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto n = static_cast<std::int64_t>(state >> 44);  // below 2^20
    CHECK(schedule(n) == by_loop(options, n));
  }
  CHECK(schedule(0) == 0.7);
}

TEST_CASE("a rate costs the same in update 10 and in update 10,000,000", "[lr_scheduler]") {
  const auto seconds_of = [](const auto& schedule, std::int64_t first) {
    schedule(first);
    const auto begin = std::chrono::steady_clock::now();
    double sum = 0;
    for (std::int64_t n = first; n < first + 100000; ++n) sum += schedule(n);
    CHECK(sum >= 0);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  constexpr std::int64_t late = 10000000;
  // A product from the beginning took 19 ms at update 1,000,000: hours for all.
  CHECK(seconds_of(Factor({.factor = 0.9999999}), late) < 1);
  CHECK(seconds_of(Factor({.factor = 0.9999999, .stop_factor_lr = 0, .warmup_steps = 10}), late) < 1);
  CHECK(seconds_of(Schedule(Factor({.factor = 0.9999999})), late) < 1);
  CHECK(seconds_of(MultiFactor({.step = {10, 1000}, .factor = 0.1}), late) < 1);
  CHECK(seconds_of(Poly({.max_update = 2 * late}), late) < 1);
  CHECK(seconds_of(Cosine({.max_update = 2 * late}), late) < 1);

  // Two trainers at different places of one schedule, and one that begins anew
  const Factor shared({.factor = 0.9999999});
  shared(late);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) {
    shared(late - 1000 + i);
    shared(10 + i);
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("several threads ask one Factor", "[lr_scheduler]") {
  const FactorOptions options{.factor = 0.999, .stop_factor_lr = 0, .base_lr = 1};
  const Factor schedule(options);
  std::vector<double> wanted;
  for (std::int64_t n = 0; n < 3000; ++n) wanted.push_back(by_loop(options, n));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::size_t n = t % 2 == 0 ? i : wanted.size() - 1 - i;
        wrong[t] += schedule(static_cast<std::int64_t>(n)) != wanted[n];
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == std::vector<int>(4));
}
