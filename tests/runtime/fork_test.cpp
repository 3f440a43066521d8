// A child of fork() has none of its parent's other threads, nor their locks: it computes all the same.
#include "function_net.h"

#include <kiln/memory.h>
#include <kiln/threads.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kiln;

namespace {

/// The exit status of a child that returns whether `body` holds. A child that hangs is ended by its alarm.
int status_of(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(30);
    bool good = false;
    try {
      good = body();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "child: %s\n", e.what());
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

/// Threads that compute until the object goes.
class Load {
 public:
  explicit Load(std::vector<std::function<void()>> bodies) {
    for (auto& body : bodies)
      threads_.emplace_back([this, body = std::move(body)] {
        while (!done_) body();
      });
  }
  ~Load() {
    done_ = true;
    for (std::thread& t : threads_) t.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

[[maybe_unused]] Tensor ramp(std::int64_t rows) {
  return arange(static_cast<double>(rows * 64)).reshape({rows, 64});
}

struct Mlp : HybridBlock {
  Child<nn::Dense> a{this, "a"}, b{this, "b"};
  Mlp() {
    a = nn::Dense(32, {.activation = "tanh", .in_units = 64});
    b = nn::Dense(8, {.in_units = 32});
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override { return b(a(x / 1000)); }
};

}  // namespace

// The address sanitizer's malloc, as of GCC 12, is not safe across fork(): the child of a process whose other
// threads allocate waits for a lock that nobody holds.
#ifndef KILN_SANITIZE_ADDRESS
// The first case: each child makes the tables that the library makes at first use.
TEST_CASE("a child that is forked while another thread uses the library for the first time", "[fork]") {
  for (int i = 0; i < 150; ++i) {
    CAPTURE(i);
    CHECK(status_of([&] {
            std::thread first([] { ones({3}) * 3; });
            std::this_thread::sleep_for(std::chrono::microseconds(10 * i));
            const bool good =
                status_of([] { return (ones({3}) * 3).to_vector<float>() == std::vector<float>(3, 3); }) == 0;
            first.join();
            return good;
          }) == 0);
  }
}
#endif

// The second case: later ones leave workers running.
TEST_CASE("a child that was forked before its parent had workers has its own", "[fork]") {
  const Tensor x = ones({1 << 20});
  CHECK(status_of([&] {
          set_num_threads(2);
          return (x + 1).to_vector<float>() == std::vector<float>(1 << 20, 2) && num_threads() == 2;
        }) == 0);
}

#ifndef KILN_SANITIZE_ADDRESS
TEST_CASE("children of a process whose threads compute, compile and allocate", "[fork]") {
  set_num_threads(4);
  Mlp net;
  net.initialize();
  net.hybridize();
  const Tensor x = ramp(256);
  const std::vector<float> expected = net(x).to_vector<float>();

  std::atomic<std::int64_t> sizes{1};
  const Load load({[&] { net(x); }, [&] { ones({1 << 20}) * 2 + x.sum(); },
                   // New signatures: traces, and kernels with other code.
                   [&] { net(ramp(1 + sizes++ % 200)); },
                   [&] {
                     Net fresh([](F& F, const Tensors& in) { return Tensors{F.tanh(in[0].T() * 2)}; });
                     fresh.hybridize();
                     fresh(Tensors{ones({sizes++ % 40 + 1, 5})});
                   }});
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const int status = status_of([&] {
      if (net(x).to_vector<float>() != expected) return false;  // compiled
      if (net(ramp(300 + i)).shape() != Shape{300 + i, 8}) return false;
      Mlp other;  // and what is not
      other.initialize(init::One());
      const std::vector<float> eager = other(x).to_vector<float>();
      other.hybridize();
      return other(x).to_vector<float>() == eager && memory_report().live_bytes > 0;
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}
#endif

TEST_CASE("a child may fork and use threads of its own", "[fork]") {
  set_num_threads(4);
  const Tensor x = ones({1 << 20});
  const std::vector<float> expected = (x * 3).to_vector<float>();
  CHECK(status_of([&] {
          bool same = false;
          std::thread([&] { same = (x * 3).to_vector<float>() == expected; }).join();
          return same && num_threads() == 1 &&
                 status_of([&] { return (x * 3).to_vector<float>() == expected; }) == 0;
        }) == 0);
  CHECK((x * 3).to_vector<float>() == expected);
  CHECK(num_threads() == 4);
}

TEST_CASE("a child may end as programs do", "[fork]") {
  set_num_threads(4);
  const Tensor x = ones({1 << 20});
  const Load load({[&] { x * 3 + 1; }});
  for (int i = 0; i < 10; ++i)
    CHECK(status_of([&]() -> bool { std::exit((x * 3).shape() == x.shape() ? 0 : 1); }) == 0);
}

TEST_CASE("a network may fork while it is traced", "[fork]") {
  Net net([&](F& F, const Tensors& in) {
    CHECK(status_of([] {
            bool same = false;  // another thread traces nothing
            std::thread([&] { same = (ones({1}) + 1).item<float>() == 2; }).join();
            return same;
          }) == 0);
    return Tensors{in[0] + 1};
  });
  net.hybridize();
  CHECK(net({ones({3})})[0].to_vector<float>() == std::vector<float>(3, 2));
}
