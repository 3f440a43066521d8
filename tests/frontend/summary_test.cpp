// Block::summary against golden/transcripts/summary.txt.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <sstream>

using namespace kiln;
using Catch::Matchers::Contains;

TEST_CASE("summary prints MXNet's table") {
  nn::HybridSequential net({.prefix = "m_"});
  {
    auto scope = net.name_scope();
    net.add(nn::Dense(256, {.activation = "relu"}), nn::Dense(128, {.activation = "relu"}), nn::Dense(2));
  }
  net.initialize();
  std::ostringstream os;
  net.summary(ones({1, 512}), os);  // the first pass, which finds the shapes
  CHECK(os.str() ==
        "--------------------------------------------------------------------------------\n"
        "        Layer (type)                                Output Shape         Param #\n"
        "================================================================================\n"
        "               Input                                    (1, 512)               0\n"
        "        Activation-1                                    (1, 256)               0\n"
        "             Dense-2                                    (1, 256)          131328\n"
        "        Activation-3                                    (1, 128)               0\n"
        "             Dense-4                                    (1, 128)           32896\n"
        "             Dense-5                                      (1, 2)             258\n"
        "================================================================================\n"
        "Parameters in forward computation graph, duplicate included\n"
        "   Total params: 164482\n"
        "   Trainable params: 164482\n"
        "   Non-trainable params: 0\n"
        "Shared params in forward computation graph: 0\n"
        "Unique parameters in model: 164482\n"
        "--------------------------------------------------------------------------------\n");
  net.hybridize();
  CHECK_THROWS_WITH(net.summary(ones({1, 512}), os), Contains("must not be hybridized to print summary."));
}

TEST_CASE("summary counts what is not trained, and what is shared") {
  nn::HybridSequential net;
  nn::Dense shared(4, {.in_units = 4});
  const ParameterDict params = shared.params();
  net.add(shared, nn::Dense(4, {.in_units = 4, .params = &params}), nn::BatchNorm());
  net.initialize();
  std::ostringstream os;
  net.summary(ones({2, 4}), os);
  CHECK_THAT(os.str(), Contains("Total params: 56") && Contains("Non-trainable params: 8") &&
                           Contains("Shared params in forward computation graph: 20") &&
                           Contains("Unique parameters in model: 36"));
}
