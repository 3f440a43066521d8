// The memory that a process keeps for its calls is bounded. Kernels, recordings and prepacked constants that
// nothing uses are dropped, come back when they are called, and are never taken from a call that runs. ctest
// sets KILN_KERNELS_MAX_COUNT=64.
#include "function_net.h"

#include <kiln/memory.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kiln;

namespace {

constexpr std::uint64_t max_kernels = 64;
#ifdef KILN_SANITIZE_ADDRESS  // which keeps freed memory for a while
constexpr std::size_t resident_growth = std::size_t{512} << 20;
#else
constexpr std::size_t resident_growth = std::size_t{8} << 20;
#endif

std::size_t resident_bytes() {
  std::size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

Net::Body scaled(double by) {
  return [by](F&, const Tensors& in) { return Tensors{in[0] * by + 1.0}; };
}

/// A call of a new network whose kernel no other number gives.
Tensor call_once(int number, const Tensor& x) {
  Net net(scaled(1000.5 + number));
  net.hybridize();
  return net(x);
}

Tensor ramp(std::int64_t rows) { return numbered({rows, 5}, DType::f32); }

/// Runs `body(i)` on as many threads; whether all hold.
bool on_threads(int threads, const std::function<bool(int)>& body) {
  std::atomic<bool> good{true};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      if (!body(i)) good = false;
    });
  for (std::thread& t : all) t.join();
  return good;
}

}  // namespace

TEST_CASE("a network called with ever new sizes keeps its latest recordings", "[bounded]") {
  constexpr int limit = 20, sizes = 600;
  Net net(scaled(2.0));
  const Tensor first = net(ramp(1));
  net.hybridize({.max_recordings = limit});
  const Stats before = stats();
  std::size_t resident = 0, live = 0;
  for (int rows = 1; rows <= sizes; ++rows) {
    net(ramp(rows));
    if (rows == sizes / 2) {
      resident = resident_bytes();
      live = memory_report().live_bytes;
    }
  }
  const Stats after = stats();
  CHECK(after.recordings - before.recordings == limit);
  CHECK(after.recordings_made - before.recordings_made == sizes);
  CHECK(after.recordings_dropped - before.recordings_dropped == sizes - limit);
  CHECK(net.compiled_calls().size() == limit);
  CHECK(memory_report().live_bytes == live);
  CHECK(resident_bytes() < resident + resident_growth);

  const int runs = net.runs();
  net(ramp(sizes - limit + 1));  // the oldest that is left, and now the latest
  CHECK(net.runs() == runs);
  CHECK(same_bits(net(ramp(1)), first));  // recorded again, in place of the oldest but one
  CHECK(net.runs() == runs + 1);
  net(ramp(sizes - limit + 1));
  CHECK(net.runs() == runs + 1);
  net(ramp(sizes - limit + 2));
  CHECK(net.runs() == runs + 2);
}

TEST_CASE("folded constants go with the recordings that they were made for", "[bounded]") {
  constexpr int sizes = 60;
  std::size_t resident = 0;
  for (int i = 0; i < sizes; ++i) {
    const std::int64_t elements = 200'000 + i;
    Net net([&](F& F, const Tensors& in) {
      return Tensors{in[0] + F.cumsum(arange(static_cast<double>(elements)))};
    });
    net.hybridize();
    net(ones({elements}));
    if (i == sizes / 2) resident = resident_bytes();
  }
  CHECK(resident_bytes() < resident + resident_growth);
}

TEST_CASE("many signatures are told apart", "[bounded]") {
  Net net(scaled(3.0));
  net.hybridize();
  std::vector<Tensor> inputs;
  for (const DType dtype : {DType::f32, DType::f64})
    for (std::int64_t rows = 1; rows <= 12; ++rows) inputs.push_back(numbered({rows, 2}, dtype));
  for (const Tensor& x : inputs) net(x);
  const int runs = net.runs();
  for (const Tensor& x : inputs) {
    const Tensor y = net(x);
    CHECK(y.dtype() == x.dtype());
    CHECK(same_bits(y, x * 3.0 + 1.0));
  }
  CHECK(net.runs() == runs);
}

TEST_CASE("a bound call keeps its recording", "[bounded]") {
  Net net(scaled(4.0));
  net.hybridize({.max_recordings = 1});
  const Tensor x = ramp(3);
  BoundCall bound = net.bind({x});
  for (int rows = 4; rows < 8; ++rows) net(ramp(rows));
  CHECK(same_bits(bound(), x * 4.0 + 1.0));
}

TEST_CASE("kernels above the bound are unloaded and come back", "[bounded]") {
  const Tensor x = ramp(2);
  const Tensor first = call_once(0, x);
  for (int i = 1; i < 80; ++i) call_once(i, x);
  CHECK(stats().kernels <= max_kernels + 1);
  const std::size_t maps = mappings();
  const std::uint64_t dropped = stats().kernels_dropped;
  for (int i = 80; i < 140; ++i) call_once(i, x);
  CHECK(stats().kernels <= max_kernels + 1);
  CHECK(stats().kernels_dropped >= dropped + 50);
  CHECK(mappings() < maps + 20);

  const Stats before = stats();
  CHECK(same_bits(call_once(0, x), first));
  CHECK(stats().kernels_compiled == before.kernels_compiled);  // from the disk
  CHECK(stats().kernels_loaded == before.kernels_loaded + 1);
}

TEST_CASE("a kernel in use stays", "[bounded]") {
  const Tensor x = ramp(2);
  Net net(scaled(5.0));
  net.hybridize();
  const Tensor want = net(x);
  for (int i = 200; i < 280; ++i) call_once(i, x);
  CHECK(same_bits(net(x), want));
  Net other(scaled(5.0));
  other.hybridize();
  const std::uint64_t loaded = stats().kernels_loaded + stats().kernels_compiled;
  CHECK(same_bits(other(x), want));
  CHECK(stats().kernels_loaded + stats().kernels_compiled == loaded);
}

TEST_CASE("threads whose signatures push each other out compute right", "[bounded][threads]") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.tanh(in[0]) * 2.0}; });
  std::vector<Tensor> inputs, want;
  for (std::int64_t rows = 1; rows <= 4; ++rows) {
    inputs.push_back(ramp(rows) * 0.01);
    want.push_back(net(inputs.back()));
  }
  net.hybridize({.max_recordings = 2});
  const std::uint64_t recordings = stats().recordings;
  CHECK(on_threads(4, [&](int t) {
    for (int i = 0; i < 60; ++i) {
      const std::size_t k = static_cast<std::size_t>(t + (i % 7 == 0)) % inputs.size();
      if (!same_bits(net(inputs[k]), want[k])) return false;
    }
    return true;
  }));
  CHECK(stats().recordings <= recordings + 3);  // two, and the latest that was made
}

namespace {

/// A dense layer whose weights are multiplied by a number: the packed weights depend on both.
struct GainDense : HybridBlock {
  GainDense(Parameter w, double by) : weight(std::move(w)), gain(by) {}
  Parameter weight;
  double gain;

 protected:
  Tensor hybrid_forward(F& f, const Tensor& x) override {
    const Tensor w = weight;
    return f.FullyConnected(x, w * gain, {.num_hidden = 24, .no_bias = true});
  }
};

}  // namespace

TEST_CASE("threads call with weights that change between calls", "[bounded][threads]") {
  nn::Dense net(24, {.in_units = 40});
  net.initialize(init::Uniform(1));
  const Tensor x = random::uniform(-1, 1, {1, 40});
  net.hybridize();
  net(x);
  const std::uint64_t prepacked = stats().prepacked, bytes = stats().prepacked_bytes;
  CHECK(prepacked > 0);
  for (int version = 0; version < 10; ++version) {
    Tensor weight = net.weight.data();
    weight *= 1.25;
    net.hybridize(false);
    const Tensor want = net(x);
    net.hybridize();
    CHECK(on_threads(4, [&](int) {
      for (int i = 0; i < 5; ++i)
        if (!same_bits(net(x), want)) return false;
      return true;
    }));
    CHECK(stats().prepacked == prepacked);
    CHECK(stats().prepacked_bytes == bytes);
  }
}

TEST_CASE("threads read the prepacked constants of an array while others are made beside them",
          "[bounded][threads]") {
  Parameter weight("weight", {24, 40});
  weight.initialize(init::Uniform(1));
  const Tensor x = random::uniform(-1, 1, {1, 40});
  GainDense net(weight, 1.5);
  const Tensor want = net(x);
  net.hybridize();
  net(x);
  std::atomic<bool> done{false};
  CHECK(on_threads(4, [&](int t) {
    if (t > 0) {
      while (!done)
        if (!same_bits(net(x), want)) return false;
      return true;
    }
    bool good = true;
    for (int i = 0; i < 12; ++i) {
      GainDense other(weight, 2.5 + i);
      const Tensor eager = other(x);
      other.hybridize();
      good = good && same_bits(other(x), eager);
    }
    done = true;
    return good;
  }));
}

#if !defined(KILN_SANITIZE_ADDRESS) && !defined(KILN_SANITIZE_THREAD)
namespace {

/// All mappings that the process may have, except `rest`.
class Mappings {
 public:
  Mappings(std::size_t limit, std::size_t rest) : pages_(2 * limit) {
    memory_ = static_cast<char*>(
        ::mmap(nullptr, pages_ * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    std::size_t used = 0;
    while (used < pages_ && ::mprotect(memory_ + used * page_, page_, PROT_READ) == 0) used += 2;
    for (std::size_t i = 0; i < rest && used >= 4; i += 2)
      ::mprotect(memory_ + (used -= 2) * page_, page_, PROT_NONE);
  }
  ~Mappings() { ::munmap(memory_, pages_ * page_); }
  Mappings(const Mappings&) = delete;

 private:
  const std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t pages_;
  char* memory_;
};

}  // namespace

// In a separate process, so that the bound of kernels is never reached.
TEST_CASE("kernels that nothing uses make room for mappings", "[.mappings]") {
  std::size_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  if (limit == 0 || limit > 200000) return;  // a system that hardly has a limit
  constexpr std::size_t in_use = 10;
  const Tensor x = ramp(2);
  std::vector<Tensor> want, got;
  std::vector<Net> nets;
  for (std::size_t i = 0; i < in_use; ++i) {
    nets.emplace_back(scaled(2000.5 + static_cast<double>(i)));
    want.push_back(nets.back()(x));
    nets.back().hybridize();
  }
  std::string message;
  for (int i = 0; i < 30; ++i) call_once(i, x);
  CHECK(stats().kernels_dropped == 0);
  {
    const Mappings taken(limit, 4);
    for (Net& net : nets) got.push_back(net(x));
    try {
      for (int i = 0; i < 100; ++i) {
        nets.emplace_back(scaled(3000.5 + i));
        nets.back().hybridize();
        nets.back()(x);
      }
    } catch (const Error& e) {
      message = e.what();
    }
  }
  for (std::size_t i = 0; i < in_use; ++i) CHECK(same_bits(got[i], want[i]));
  CHECK(stats().kernels_dropped >= 30);
  CHECK(message.find("vm.max_map_count allows") != std::string::npos);
  CHECK(same_bits(call_once(0, x), x * 1000.5 + 1.0));  // there is room again
}

TEST_CASE("a child of fork() waits for no reader of its parent", "[bounded]") {
  nn::Dense net(24, {.in_units = 40});
  net.initialize(init::Uniform(1));
  const Tensor x = random::uniform(-1, 1, {1, 40});
  net.hybridize();
  net(x);
  std::atomic<bool> done{false};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      while (!done) net(x);
    });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(60);
      const std::uint64_t prepacked = stats().prepacked;
      Tensor weight = net.weight.data();
      weight *= 1.25;
      net(x);
      ::_exit(stats().prepacked == prepacked ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  done = true;
  for (std::thread& t : callers) t.join();
}
#endif
