// The parallel loop, seen through executables whose kernel notes which parts it was given.
#include "native_kernel.h"

#include <kiln/error.h>
#include <kiln/threads.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

using namespace kiln;

namespace {

// Adds one to each element; `params[0]` is the grain, and a part that does not begin at a multiple of it
// marks element 0.
void count_visits(void* const* b, const std::int64_t* params, std::int64_t begin, std::int64_t end) {
  auto* out = static_cast<std::int32_t*>(b[0]);
  for (std::int64_t i = begin; i < end; ++i) out[i] += begin % params[0] == 0 ? 1 : 1000;
}

std::mutex threads_mutex;
std::set<std::thread::id> threads_seen;
void note_thread(void* const*, const std::int64_t*, std::int64_t, std::int64_t) {
  const std::lock_guard lock(threads_mutex);
  threads_seen.insert(std::this_thread::get_id());
}

Executable one_step(KernelFn f, std::int64_t extent, std::int64_t grain) {
  ExecutablePlan plan;
  plan.outputs = {{DType::i32, {extent}}};
  plan.steps = {
      {.operands = {{BufferRef::Space::output, 0}}, .params = {grain}, .extent = extent, .grain = grain}};
  return load_with(std::move(plan), {f});
}

bool each_once(std::int64_t extent, std::int64_t grain) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(extent), 0);
  void* results[] = {out.data()};
  one_step(count_visits, extent, grain).run({}, results, {});
  for (std::int32_t v : out)
    if (v != 1) return false;
  return true;
}

struct Threads {
  int outer = num_threads();
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(outer); }
};

}  // namespace

TEST_CASE("every element is visited once, in parts that begin at multiples of the grain", "[threads]") {
  const int threads = GENERATE(1, 2, 3, 7);
  const Threads scope(threads);
  CHECK(num_threads() == threads);
  for (std::int64_t extent : {1, 2, 15, 16, 17, 100, 1023, 4097})
    for (std::int64_t grain : {1, 3, 16, 1000, 5000}) {
      CAPTURE(threads, extent, grain);
      CHECK(each_once(extent, grain));
    }
}

TEST_CASE("one thread means the caller's", "[threads]") {
  const Executable e = one_step(note_thread, 1000, 1);
  std::int32_t unused = 0;
  void* results[] = {&unused};
  threads_seen.clear();
  const Threads scope(4);
  {
    const ThreadLimit one(1);
    CHECK(num_threads() == 1);
    for (int i = 0; i < 20; ++i) e.run({}, results, {});
    CHECK(threads_seen == std::set{std::this_thread::get_id()});
    {
      const ThreadLimit three(3);
      CHECK(num_threads() == 3);
    }
    CHECK(num_threads() == 1);
    std::thread([] { CHECK(num_threads() == 4); }).join();
  }
  CHECK(num_threads() == 4);
}

TEST_CASE("no more threads than requested", "[threads]") {
  const Executable e = one_step(note_thread, 64, 1);
  std::int32_t unused = 0;
  void* results[] = {&unused};
  const Threads scope(2);
  for (int i = 0; i < 50; ++i) {
    threads_seen.clear();
    e.run({}, results, {});
    CHECK(threads_seen.size() <= 2);
  }
}

TEST_CASE("callers on several threads share the workers", "[threads]") {
  const Threads scope(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        if (!each_once(500, 7)) ++wrong;
    });
  for (std::thread& t : callers) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a number of threads below one is an error", "[threads]") {
  CHECK_THROWS_AS(set_num_threads(0), Error);
  CHECK_THROWS_AS(set_num_threads(-3), Error);
  CHECK_THROWS_AS(ThreadLimit(0), Error);
}
