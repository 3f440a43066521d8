// The times of its kernels that a program sees.
#include "function_net.h"

#include <algorithm>

using namespace kiln;

TEST_CASE("a program's profile names kernels and lines") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.dot(in[0], in[1])}; });
  net.hybridize();
  const Tensors in{ones({64, 64}), ones({64, 64})};
  net(in);
  const Profile outer;
  net(in);
  {
    const Profile inner;
    net(in);
    net(in);
    REQUIRE(!inner.kernels().empty());
    CHECK(inner.kernels()[0].runs == 2);
  }
  net(in);
  const auto kernels = outer.kernels();
  REQUIRE(!kernels.empty());
  CHECK(kernels[0].runs == 2);
  CHECK(kernels[0].seconds > 0);
  CHECK(std::any_of(kernels.begin(), kernels.end(), [](const Profile::Kernel& k) {
    return k.name.find("dot") != std::string::npos && !k.lines.empty() &&
           k.lines[0].find("profile_test.cpp:") != std::string::npos;
  }));
}
