// The pool, the memory report and the state of a storage.
#include "runtime/storage.h"

#include <kiln/error.h>
#include <kiln/memory.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

using namespace kiln;

TEST_CASE("buffers are aligned and have the requested size", "[memory]") {
  for (std::size_t bytes : {0, 1, 63, 64, 65, 1000, 1024, 1025, 4096, 32768, 32769, 100'000, 5'000'000}) {
    Buffer b(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
    CHECK(b.data() != nullptr);
    CHECK(b.bytes() == bytes);
    std::memset(b.data(), 0x5a, bytes);
  }
}

TEST_CASE("the report counts requested bytes", "[memory]") {
  const MemoryReport before = memory_report();
  {
    Buffer a(80);
    CHECK(memory_report().live_bytes == before.live_bytes + 80);
    Buffer b(100'001);
    CHECK(memory_report().live_bytes == before.live_bytes + 100'081);
    Buffer c = std::move(a);
    CHECK(memory_report().live_bytes == before.live_bytes + 100'081);
    b = Buffer();
    CHECK(memory_report().live_bytes == before.live_bytes + 80);
  }
  CHECK(memory_report().live_bytes == before.live_bytes);
  CHECK(memory_report().arena_bytes == 0);
}

TEST_CASE("the peak is the largest level since it was reset", "[memory]") {
  reset_peak_memory();
  const std::size_t level = memory_report().live_bytes;
  CHECK(memory_report().peak_bytes == level);
  {
    Buffer a(1000);
    { Buffer b(500); }
    Buffer c(200);
  }
  CHECK(memory_report().peak_bytes == level + 1500);
  reset_peak_memory();
  CHECK(memory_report().peak_bytes == level);
}

#ifndef KILN_SANITIZE_ADDRESS
TEST_CASE("freed blocks are used again", "[memory]") {
  for (std::size_t bytes : {64, 4000, 50'000, 8'000'000}) {
    std::byte* first = Buffer(bytes).data();
    CHECK(memory_report().pooled_bytes >= bytes);
    CHECK(Buffer(bytes).data() == first);
  }
  release_pooled_memory();
  CHECK(memory_report().pooled_bytes == 0);
}

TEST_CASE("the pool keeps no more than a bound", "[memory]") {
  // Blocks that are not written take addresses, but next to no memory.
  constexpr std::size_t gib = std::size_t{1} << 30;
  release_pooled_memory();
  {
    std::vector<Buffer> blocks;
    for (int i = 0; i < 24; ++i) blocks.emplace_back(gib / 16);
  }
  const std::size_t kept = memory_report().pooled_bytes;
  CHECK(kept >= gib / 16);
  CHECK(kept <= gib);
  release_pooled_memory();
}
#endif

TEST_CASE("another thread may free, and threads may end with blocks in their lists", "[memory]") {
  const std::size_t level = memory_report().live_bytes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    std::vector<Buffer> given;
    for (std::size_t i = 0; i < 2000; ++i) given.emplace_back(i * 7 % 3000);
    threads.emplace_back([given = std::move(given)]() mutable {
      for (std::size_t i = 0; i < given.size(); ++i) {
        given[i] = Buffer(i * 13 % 5000);
        std::memset(given[i].data(), 1, given[i].bytes());
      }
      given.clear();
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(memory_report().live_bytes == level);
}

TEST_CASE("out of memory is an error that names the size", "[memory]") {
  for (std::size_t bytes : {std::size_t{1} << 45, ~std::size_t{0}, ~std::size_t{0} / 2}) {
    try {
      Buffer b(bytes);
      FAIL("memory for " << bytes << " bytes");
    } catch (const Error& e) {
      CHECK(e.kind() == Error::Kind::user);
      CHECK_THAT(e.what(), Catch::Contains(std::to_string(bytes)));
    }
  }
}

TEST_CASE("external memory is released once and not counted", "[memory]") {
  const std::size_t level = memory_report().live_bytes;
  int released = 0;
  float mine[4] = {};
  {
    Buffer b(mine, sizeof mine, [&] { ++released; });
    CHECK(b.external());
    CHECK(memory_report().live_bytes == level);
    Buffer c = std::move(b);
    CHECK_FALSE(b.external());  // NOLINT: moved from
    CHECK(c.external());
    CHECK(released == 0);
  }
  CHECK(released == 1);
  Buffer without_release(mine, sizeof mine, {});
  CHECK(without_release.external());
}

TEST_CASE("a prepacked constant lives until the version moves", "[memory]") {
  Storage s{Buffer(64)};
  int made = 0;
  const auto make = [&] {
    ++made;
    return Buffer(32);
  };
  const auto first = s.prepacked(1, s.version(), make);
  CHECK(s.prepacked(1, s.version(), make) == first);
  CHECK(made == 1);
  const auto other = s.prepacked(2, s.version(), make);
  CHECK(other != first);
  CHECK(s.prepacked(1, s.version(), make) == first);
  CHECK(made == 2);
  s.bump_version();
  const auto second = s.prepacked(1, s.version(), make);
  CHECK(second != first);
  CHECK(made == 3);
  CHECK(other.use_count() == 1);  // the storage keeps nothing of an older version
  const auto of_others = s.prepacked(1, s.version() + 1, make);
  CHECK(of_others != second);
  CHECK(second.use_count() == 1);  // nor what another storage has been part of
}

TEST_CASE("threads that request one prepacked constant at once get equal ones", "[memory]") {
  Storage s{Buffer(64)};
  std::vector<std::shared_ptr<const Buffer>> got(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < got.size(); ++t)
    threads.emplace_back([&, t] {
      got[t] = s.prepacked(7, 1, [] {
        Buffer b(4);
        std::memset(b.data(), 9, 4);
        return b;
      });
    });
  for (std::thread& t : threads) t.join();
  for (const auto& g : got) CHECK(g == got[0]);
}
