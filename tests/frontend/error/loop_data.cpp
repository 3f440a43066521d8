// Errors of a foreach whose data has no common number of steps, when it runs and when it is traced.
#include "expect.h"
#include "function_net.h"

#include <kiln/control_flow.h>
#include <kiln/f_numpy.h>

namespace {

F::Tensors halved(F& f, const F::Tensors& data) {
  const auto step = [](const F::Tensors& row, const F::Tensors& state) {
    return F::contrib::Results{{row[0] * 0.5}, {state[0]}};
  };
  return f.contrib().foreach (step, data, {zeros({1})}).outputs;
}

void check_message(const Tensors& data, const std::string& shapes) {
  for (const bool hybrid : {false, true}) {
    CAPTURE(hybrid);
    Net net(halved);
    if (hybrid) net.hybridize();
    CHECK_THAT(message_of([&] { net(data); }), Contains("loop_data.cpp") &&
                                                   Contains("number of steps along the first axis") &&
                                                   Contains(shapes));
  }
}

}  // namespace

TEST_CASE("foreach over data of two lengths", "[error]") {
  check_message({ones({2, 3}), ones({4, 3})}, "got (2, 3) and (4, 3)");
}

TEST_CASE("foreach over an array without axes", "[error]") {
  npx::set_np();
  check_message({ones(Shape())}, "got () and ()");
  npx::reset_np();
}
