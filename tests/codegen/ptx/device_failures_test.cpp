// Each allocation and each launch of a program may fail: the text of the error, that the program continues,
// and that nothing is lost. KILN_PTX_STRICT_EXIT tells at the end what was not released.
#include "driver_functions.h"
#include "golden_files.h"
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <regex>

using namespace kiln;
using golden::error_of;

namespace {

const Device gpu0 = cuda(0);

struct Net : HybridBlock {
  Child<nn::Dense> hidden{this, "hidden"}, out{this, "out"};
  Net() {
    hidden = nn::Dense(9, {.activation = "relu"});
    out = nn::Dense(3);
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override { return F.softmax(out(hidden(x))); }
};

/// The result of a new network after a step of training, eager or hybridized.
Tensor trained(bool hybrid) {
  random::seed(3);
  const DeviceScope scope(gpu0);
  Net net;
  net.initialize();
  if (hybrid) net.hybridize();
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9});
  const Tensor x = random::normal(0, 1, {5, 7});
  {
    const autograd::Record record;
    F::sum(F::square(net(x))).backward();
  }
  trainer.step(5);
  return net(x).to(cpu());
}

std::uint64_t allocations() { return kiln_ptx_calls("cuMemAlloc_v2") + kiln_ptx_calls("cuMemHostAlloc"); }
std::uint64_t launches() { return kiln_ptx_calls("cuLaunchKernel") + kiln_ptx_calls("cuGraphLaunch"); }

/// Runs `body` over and over, whose n-th call of what is counted fails, for n = 1, 2 and so on until there is
/// no n-th one. `failed` gets each error. Returns how often a call failed.
template <class Body, class Failed>
int fail_each(const char* variable, std::uint64_t (*count)(), Body body, Failed failed) {
  for (std::uint64_t n = 1;; ++n) {
    waitall();
    release_pooled_memory(gpu0);
    const std::uint64_t fails = count() + n;
    setenv(variable, std::to_string(fails).c_str(), 1);
    const std::string error = error_of(body);
    unsetenv(variable);
    if (count() < fails) {
      CHECK(error == "");
      return static_cast<int>(n) - 1;
    }
    CAPTURE(variable, n, error);
    failed(error);
  }
}

}  // namespace

// The first case: a process allocates pinned memory once.
TEST_CASE("the allocation of pinned memory may fail") {
  const Tensor x({1, 2, 3});
  setenv("KILN_PTX_FAIL_ALLOCATION", std::to_string(allocations() + 2).c_str(), 1);
  const std::string error = error_of([&] { (void)x.to(gpu0); });
  unsetenv("KILN_PTX_FAIL_ALLOCATION");
  CHECK(error.find("pinned memory of the host: out of memory (CUDA_ERROR_OUT_OF_MEMORY)") != error.npos);
  CHECK(memory_report(gpu0).live_bytes == 0);
  CHECK(same_bits(x.to(gpu0).to(cpu()), x));
}

TEST_CASE("each allocation of a program may fail") {
  for (const bool hybrid : {false, true}) {
    const Tensor expected = trained(hybrid);
    int errors = 0;
    const int failures = fail_each(
        "KILN_PTX_FAIL_ALLOCATION", &allocations, [&] { trained(hybrid); },
        [&](const std::string& error) {
          // Kiln tries again if it holds memory that nothing uses.
          const std::regex words(
              "cuda\\(0\\) has no memory for [1-9][0-9]* bytes: [0-9]+ of its [0-9]+ bytes are free, and "
              "this "
              "program holds [0-9]+\\. Use smaller batches");
          if (!error.empty()) CHECK(std::regex_search(error, words));
          errors += !error.empty();
          CHECK(memory_report(gpu0).live_bytes == 0);
          CHECK(same_bits(trained(hybrid), expected));
        });
    CAPTURE(hybrid);
    CHECK(failures > 5);
    CHECK(errors > 2);
  }
}

TEST_CASE("each launch of a program may fail") {
  for (const bool hybrid : {false, true}) {
    const Tensor expected = trained(hybrid);
    const int failures = fail_each(
        "KILN_PTX_FAIL_LAUNCH", &launches, [&] { trained(hybrid); },
        [&](const std::string& error) {
          // Gradients of eager operators are shared by all lines that call these, and have none: the line is
          // of the call that failed.
          const std::regex words("CUDA_ERROR_LAUNCH_FAILED.*: .* \\(.*device_failures_test\\.cpp:[0-9]+\\)"),
              of_gradients(
                  "^device_failures_test\\.cpp:[0-9]+: launching kernel "
                  ".*CUDA_ERROR_LAUNCH_FAILED.*_grad\\.");
          CHECK((std::regex_search(error, words) || (!hybrid && std::regex_search(error, of_gradients))));
          CHECK(memory_report(gpu0).live_bytes == 0);
          CHECK(same_bits(trained(hybrid), expected));
        });
    CAPTURE(hybrid);
    CHECK(failures > 3);
  }
}
