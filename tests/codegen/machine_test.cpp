// The model of the machine that kernels are tuned for: how it is written, rounded, measured and kept.
#include "codegen/target/machine.h"

#include <kiln/error.h>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace kiln;
using codegen::coarse;
using codegen::Machine;
using codegen::Source;
using codegen::Streams;

TEST_CASE("measurements are rounded to half octaves", "[machine]") {
  for (const std::int64_t step : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128}) {
    CHECK(coarse(static_cast<double>(step)) == step);
    // The difference between two measurements.
    CHECK(coarse(0.9 * static_cast<double>(step)) == step);
    CHECK(coarse(1.1 * static_cast<double>(step)) == step);
  }
  CHECK(coarse(0) == 1);
  CHECK(coarse(-5) == 1);
  CHECK(coarse(std::numeric_limits<double>::quiet_NaN()) == 1);
  CHECK(coarse(1e300) > 0);
}

TEST_CASE("a machine is what its description says", "[machine]") {
  const Machine m = Machine::of_text("l1=64K/4,l2=256K,l3=0,read-l3=24,latency=100,prefetch=80");
  CHECK(m.l1.bytes == 64 * 1024);
  CHECK(m.l1.ways == 4);
  CHECK(m.l2.bytes == 256 * 1024);
  CHECK(m.l2.ways == Machine().l2.ways);  // as assumed
  CHECK(m.l1.source == Source::pinned);
  CHECK(m.streams().l3_bytes == 0);
  CHECK(m.streams().l3_read == 24);
  CHECK(m.streams().l3_latency == 100);
  CHECK(m.streams().prefetch_speed == 80);
  CHECK(m.streams().memory_read == Streams().memory_read);
  CHECK(m.streams().source == Source::pinned);
  CHECK(Machine::of_text("l2=2M").l1.source == Source::assumed);

  Streams streams = m.streams();
  CHECK(Machine::of_text(text_of(streams)).streams() == streams);
}

TEST_CASE("a wrong description is an error that names the remedy", "[machine]") {
  const auto message = [](std::string_view text) {
    try {
      Machine::of_text(text);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(message("l4=1M"), Contains("no 'l4'") && Contains("l1, l2, l3, read-l1"));
  CHECK_THAT(message("l1"), Contains("l1=1M/16"));
  CHECK_THAT(message("l1=48K/0"), Contains("l1=1M/16"));
  CHECK_THAT(message("l1=48K/99999999999"), Contains("l1=1M/16"));
  CHECK_THAT(message("l1=48K/-1"), Contains("l1=1M/16"));
  CHECK_THAT(message("l2=0"), Contains("at least 4K"));
  CHECK_THAT(message("l2=99999999999999999999"), Contains("l2=1M/16"));
  CHECK_THAT(message("l3=much"), Contains("l3=16M"));
  CHECK_THAT(message("read-l3=0"), Contains("read-l3=24"));
  CHECK_THAT(message("l1=48K,"), Contains("no ''"));
}

TEST_CASE("threads measure once, and fork() waits for it", "[machine]") {
  std::vector<Streams> seen(4);
  std::vector<std::thread> threads;
  for (Streams& s : seen) threads.emplace_back([&s] { s = Machine::of_host().streams(); });
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);
    const Streams streams = Machine::of_host().streams();
    ::_exit(streams.l3_read >= 1 && streams.source != Source::pinned ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  for (std::thread& t : threads) t.join();
  CHECK(status == 0);
  for (const Streams& s : seen) {
    CHECK(s == seen[0]);
    CHECK(s.l1_read >= 1);
    CHECK(s.l3_latency >= 1);
    CHECK(text_of(s) == text_of(Machine::of_text(text_of(s)).streams()));
  }
}
