// real_time_sanitizer [cold]: runs of bound calls in a real-time context of Clang's RealtimeSanitizer
// (-fsanitize=realtime), which ends the program at an allocation, a lock or a system call. `cold`: without
// warm_up(), which must be such an end.
#include "real_time_networks.h"

#include <kiln/kiln.h>

#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

using namespace kiln;

namespace {

#pragma clang diagnostic ignored "-Wfunction-effects"  // Kiln's functions promise nothing to the compiler
bool process(BoundCall& call) noexcept [[clang::nonblocking]] { return static_cast<bool>(call.try_run()); }

}  // namespace

int main(int argc, char** argv) {
  const bool cold = argc == 2 && std::string_view(argv[1]) == "cold";
  for (const RealTimeCase& c : real_time::networks()) {
    if (c.training) continue;
    BoundCall call = c.bind();
    int runs = 0;
    std::thread([&] {
      const ThreadLimit one(1);
      if (!cold) call.warm_up();
      for (int i = 0; i < 3; ++i) runs += process(call);
    }).join();
    std::printf("%s: %d runs\n", c.name.c_str(), runs);
    if (runs != 3) return 1;
  }
}
