// The one main() of all test programs, compiled once.
#define CATCH_CONFIG_RUNNER
#include <kiln/device.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>
#include <string_view>

int main(int argc, char** argv) {
  // KILN_TEST_DEVICE=cuda: arrays that the test makes on this thread are on the first GPU.
  const char* const device = std::getenv("KILN_TEST_DEVICE");
  std::optional<kiln::DeviceScope> scope;
  if (device && std::string_view(device) == "cuda") scope.emplace(kiln::cuda(0));
  return Catch::Session().run(argc, argv);
}
