// Compiling with too little memory, wherever it ends: an error, and the network is as good as before when
// there is memory again.
#include "function_net.h"

#include <cstdio>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kiln;

namespace {

/// Bytes of addresses that this process uses.
std::size_t used_addresses() {
  std::size_t pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  REQUIRE(std::fscanf(file, "%zu", &pages) == 1);
  std::fclose(file);
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void limit_addresses(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes;
  ::setrlimit(RLIMIT_AS, &limit);
}

Tensors body(F& F, const Tensors& in) {
  const Tensor weight = F.reshape(F.tanh(in[0]), {16, 16});
  return {F.softmax(F.dot(in[0], weight) + 1), F.sort(in[0]), F.exp(in[0]).sum()};
}

enum Outcome { refused = 0, computed = 1, wrong = 2 };

/// The outcome of a child whose address space is limited to `more` bytes than it has.
Outcome compile_with(std::size_t more) {
  const Tensor x = arange(256).reshape({16, 16}) / 256;
  Net net(body);
  net.hybridize();
  Outcome outcome = computed;
  const std::size_t used = used_addresses();
  limit_addresses(used + more);
  try {
    net(Tensors{x});
  } catch (const Error& e) {
    outcome = e.kind() == Error::Kind::user && std::string(e.what()).find("memory") != std::string::npos
                  ? refused
                  : wrong;
    if (outcome == wrong) std::fprintf(stderr, "%zu: %s\n", more, e.what());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%zu: not Kiln's: %s\n", more, e.what());
    outcome = wrong;
  }
  limit_addresses(RLIM_INFINITY);
  const Tensors compiled = net(Tensors{x});
  Net eager(body);
  const Tensors expected = eager(Tensors{x});
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!same_bits(compiled[i], expected[i])) outcome = wrong;
  return outcome;
}

}  // namespace

TEST_CASE("memory that runs out while a network is compiled is an error", "[memory]") {
  std::size_t refusals = 0, results = 0;
  std::size_t step = std::size_t{1} << 20;
  for (std::size_t more = 0; more < std::size_t{400} << 20; more += step, step += step / 8) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(compile_with(more));
    int status = 0;
    ::waitpid(child, &status, 0);
    CAPTURE(more, status);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) < wrong);
    refusals += WIFEXITED(status) && WEXITSTATUS(status) == refused;
    results += WIFEXITED(status) && WEXITSTATUS(status) == computed;
  }
  CHECK(refusals > 0);
  CHECK(results > 0);
}
