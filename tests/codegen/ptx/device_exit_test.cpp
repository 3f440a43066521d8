// Resources that a program gives back when it exits after use of a GPU; the emulated device is strict about
// it (KILN_PTX_STRICT_EXIT). Arrays in static storage follow after main().
#include "device_run.h"
#include "golden_files.h"
#include "same_bits.h"

#include <kiln/kiln.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kiln;
using Catch::Contains;
using ptx::stderr_of;

namespace {

struct Net : HybridBlock {
  Child<nn::Dense> dense{this, "dense"};
  Child<nn::BatchNorm> norm{this, "norm"};
  Net() {
    dense = nn::Dense(8, {.activation = "relu"});
    norm = nn::BatchNorm();
  }
  // Constants among the operands, and random numbers.
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    return F.Dropout(norm(dense(x)) + F.arange(8) * Tensor({1, 2, 3, 4, 5, 6, 7, 8}));
  }
};

/// Constructed before the first use of a GPU, hence destroyed after the handler that gives GPUs back.
struct Kept {
  Tensor array;
  std::unique_ptr<Net> net;
  std::optional<BoundCall> bound;
};
Kept kept;

/// A call of a network, an eager one and a step of training on the GPU.
Tensor use_gpu(Net& net) {
  const DeviceScope scope(cuda(0));
  net.initialize();
  net.hybridize();
  Tensor x = random::normal(0, 1, {2, 5});
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9});
  {
    const autograd::Record record;
    F::sum(net(x)).backward();
  }
  trainer.step(2);
  return net(x) + arange(8) + 1;
}

/// How a child of fork() ends: its exit status, and what it says on stderr.
struct End {
  int status = -1;
  std::string said;
};
End end_of(const std::function<void()>& body) {
  End end;
  end.said = stderr_of([&] {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(120);
      body();
      std::exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  });
  return end;
}

bool is_strict() {
  const char* const strict = std::getenv("KILN_PTX_STRICT_EXIT");
  return strict && std::string_view(strict) == "1" && !std::getenv("KILN_PTX_SHUTS_DOWN");
}

}  // namespace

// The first cases fork before this process uses the GPU: their children may use it.
TEST_CASE("nothing is left of a program that releases its arrays") {
  const End end = end_of([] {
    Net net;
    use_gpu(net);
  });
  CHECK(end.said == "");
  CHECK(end.status == 0);
}

TEST_CASE("an array that is not released is told") {
  const End end = end_of([] { (void)new Tensor(ones({2}).to(cuda(0))); });
  if (!is_strict()) return;
  CHECK_THAT(end.said, Contains("not released at the end: 1 allocations, 1 contexts"));
  CHECK(end.status == 1);
}

TEST_CASE("an array in static storage may be computed with until exit() gives the GPU back") {
  static Tensor early;
  const End end = end_of([] {
    early = ones({2}).to(cuda(0));
    // Registered after the GPU was opened: it runs before it is given back.
    std::atexit([] { std::fprintf(stderr, "%g\n", (early + 1).sum().item<double>()); });
  });
  CHECK(end.said == "4\n");
  CHECK(end.status == 0);
}

TEST_CASE("a handler that runs after the GPU was given back gets an error") {
  static Tensor late;
  const End end = end_of([] {
    std::atexit([] {
      std::fprintf(stderr, "%s\n", golden::error_of([] { (void)(late + 1).sum().item<double>(); }).c_str());
    });
    late = ones({2}).to(cuda(0));
  });
  CHECK_THAT(end.said, Contains("cuda(0) is closed: the process is about to end"));
  CHECK(end.status == 0);
}

TEST_CASE("a thread that computes while the process exits gets errors at most") {
  for (int i = 0; i < 3; ++i) {
    const End end = end_of([] {
      static std::atomic<int> calls{0};
      std::thread([] {
        try {
          auto& net = *new Net;  // a thread that never ends
          use_gpu(net);
          const Tensor x = ones({2, 5}).to(cuda(0));
          for (;; ++calls) net(x);
        } catch (const Error&) {
          for (;;) ::pause();
        }
      }).detach();
      while (calls < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    CAPTURE(end.status, end.said);
    CHECK_THAT(end.said, !Contains("terminate"));
    CHECK((end.status == 0 || (end.status == 1 && is_strict())));  // its arrays are not released
  }
}

TEST_CASE("arrays in static storage are released after main()") {
  kept.net = std::make_unique<Net>();
  kept.array = use_gpu(*kept.net);
  kept.bound = kept.net->bind({ones({2, 5}).to(cuda(0))});
  CHECK((*kept.bound)().device() == cuda(0));
}

TEST_CASE("a child of fork() cannot use its parent's GPU, and exits without it") {
  const Tensor x = ones({2}).to(cuda(0)), y = ones({2});
  const End end = end_of([&] {
    const std::string error = golden::error_of([&] { (void)(x + 1); });
    const std::string copying = golden::error_of([&] { (void)x.to(cpu()); });
    if (error.find("a child of fork() cannot share it") == std::string::npos ||
        copying.find("a child of fork() cannot share it") == std::string::npos)
      std::fprintf(stderr, "%s\n%s\n", error.c_str(), copying.c_str());
    // The CPU computes, and arrays of the GPU may go.
    if ((y + 1).sum().item<double>() != 4) std::fprintf(stderr, "other numbers\n");
    kept.array = y;
  });
  CHECK(end.said == "");
  CHECK(end.status == 0);
  CHECK((x + 1).sum().item<double>() == 4);
}
