// The times of its kernels that a program sees.
#include "runtime/profile.h"

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

TEST_CASE("an interruption of one run leaves the median as it is") {
  const Profile profile;
  Step step;
  step.name = "dot0";
  Profile::Record& record = *Profile::Record::current();
  const auto now = Profile::Record::Clock::now();
  for (int i = 0; i < 9; ++i) record.add(step, now, 1e-6 * (1 + i % 3), "");
  record.add(step, now, 1, "");  // the machine did something else
  const Profile::Kernel kernel = profile.kernels().at(0);
  CHECK(kernel.runs == 10);
  CHECK(kernel.seconds > 1);
  CHECK(kernel.median_seconds == 2e-6);
  CHECK(kernel.min_seconds == 1e-6);

  // Of the latest runs, however many there have been.
  for (std::size_t i = 0; i < Profile::Record::max_samples; ++i) record.add(step, now, 5e-6, "");
  CHECK(profile.kernels().at(0).median_seconds == 5e-6);
  CHECK(profile.kernels().at(0).min_seconds == 5e-6);
}
