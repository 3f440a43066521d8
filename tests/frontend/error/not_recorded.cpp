// Errors of backward() on values without a record.
#include "expect.h"

TEST_CASE("backward() of what is computed outside of Record, and twice", "[error]") {
  Tensor x{1, 2};
  x.attach_grad();
  Tensor y = x * x;
  std::string line = line_below();
  CHECK_THAT(message_of([&] { y.backward(); }),
             Contains(line) && Contains("outside of autograd::Record") && Contains("attach_grad()"));
  y = autograd::record([&] { return x * x; });
  y.backward();
  line = line_below();
  CHECK_THAT(message_of([&] { y.backward(); }), Contains(line) && Contains("an earlier backward()") &&
                                                    Contains("retain_graph = true") &&
                                                    !Contains("outside of"));
}

TEST_CASE("backward() through arrays that were passed before", "[error]") {
  Tensor x{1, 2};
  x.attach_grad();
  Tensor y, z;
  {
    const autograd::Record record;
    y = x * x;
    z = y + 1;
  }
  y.backward();
  CHECK_THAT(message_of([&] { z.backward(); }), Contains("an earlier backward()"));
}

TEST_CASE("backward() of a network without gradients", "[error]") {
  nn::Dense net(2, {.in_units = 2});
  net.initialize();
  net.collect_params().set_grad_req(GradReq::null);
  const Tensor y = autograd::record([&] { return net(ones({1, 2})); });
  CHECK_THAT(message_of([&] { y.backward(); }), Contains("parameters with a grad_req"));
}
