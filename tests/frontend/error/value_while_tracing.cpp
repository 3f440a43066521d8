// Errors of values read while a network is traced, and of traced values used when their body or call is over.
#include "expect.h"
#include "function_net.h"

#include <kiln/control_flow.h>

namespace {
class ReadsValue : public HybridBlock {
 public:
  std::string line;

 protected:
  Tensor hybrid_forward(F&, const Tensor& x) override {
    line = line_below();
    return x * x.sum().item<float>();
  }
};

class KeepsTensor : public HybridBlock {
 public:
  Tensor kept;

 protected:
  Tensor hybrid_forward(F&, const Tensor& x) override { return kept = x * 2; }
};

using Results = F::contrib::Results;

/// The message of a hybridized call on rows.
std::string message_of_rows(const std::function<Tensor(F&, const Tensor&)>& body) {
  Net net([&](F& f, const Tensors& in) { return Tensors{body(f, in[0])}; });
  net.hybridize();
  return message_of([&] { net(Tensors{ones({3, 2})}); });
}

/// A sum of the rows in a variable that the body of a loop assigns.
Tensor summed(F& f, const Tensor& rows) {
  Tensor sum = zeros({2});
  const auto step = [&](const Tensors& row, const Tensors&) {
    sum = sum + row[0];
    return Results{{row[0]}, {}};
  };
  f.contrib().foreach (step, {rows}, {});
  return sum;
}

void check_parts(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) CHECK_THAT(text, Contains(part));
}
void check_foreach(const std::string& text, const std::string& use) {
  check_parts(text, {use, "made at value_while_tracing.cpp:",
                     "in the body of the foreach at value_while_tracing.cpp:", "end with it",
                     "make it a state of the loop", "[KL0210]"});
}
void check_ended(const std::string& text, const std::string& use) {
  check_parts(text, {use, "in a call that is over", "[KL0211]"});
}

}  // namespace

TEST_CASE("a value read while a network is traced", "[error]") {
  ReadsValue net;
  CHECK(net(ones({2})).to_vector<float>() == std::vector<float>{2, 2});
  net.hybridize();
  const std::string text = message_of([&] { net(ones({2})); });
  CHECK_THAT(text, Contains(net.line) && Contains("item() needs a value") && Contains("hybridize") &&
                       Contains("F.where"));
}

TEST_CASE("values read while a network is traced", "[error]") {
  const std::string line = line_below(2);
  struct ReadsVector : HybridBlock {
    Tensor hybrid_forward(F&, const Tensor& x) override { return x * x.to_vector<float>()[0]; }
  };
  ReadsVector net;
  net.hybridize();
  CHECK_THAT(message_of([&] { net(ones({2})); }),
             Contains(line + "to_vector() needs a value") && Contains("call to_vector() outside"));
}

TEST_CASE("a traced tensor used after the trace", "[error]") {
  KeepsTensor net;
  net.hybridize();
  net(ones({2}));
  const std::string line = line_below();
  const std::string text = message_of([&] { net.kept + 1; });
  CHECK_THAT(text, Contains(line + "_plus_scalar: the input 'data' is <Symbol") &&
                       Contains("made at value_while_tracing.cpp:") && Contains("in a call that is over") &&
                       Contains("return it as a further result [KL0211]"));
}

TEST_CASE("a traced tensor read or written after the trace", "[error]") {
  KeepsTensor net;
  net.hybridize();
  net(ones({2}));
  check_ended(message_of([&] { net.kept.to_vector<float>(); }), "to_vector() reads <Symbol");
  Tensor array = zeros({2});
  check_ended(message_of([&] { array[slice()] = net.kept; }), "a write stores <Symbol");
  CHECK(array.to_vector<float>() == std::vector<float>{0, 0});
  nn::Dense layer(1, {.in_units = 2});
  layer.initialize();
  layer.hybridize();
  check_ended(message_of([&] { layer(net.kept); }), layer.name() + " reads <Symbol");
  check_ended(message_of_rows([&](F&, const Tensor&) { return net.kept; }),
              "hybrid_forward returned <Symbol");
}

TEST_CASE("a Symbol as the result of hybrid_forward", "[error]") {
  CHECK_THAT(message_of_rows([](F&, const Tensor&) -> Tensor { return sym::var("y"); }),
             Contains("hybrid_forward returned <Symbol y>, composed outside of hybrid_forward"));
}

TEST_CASE("a value of a loop's body used after the loop", "[error]") {
  check_foreach(message_of_rows(summed), "hybrid_forward returned <Symbol");
  const auto rectified = [](F& f, const Tensor& x) { return f.relu(summed(f, x)); };
  check_foreach(message_of_rows(rectified), "relu: the input 'data' is <Symbol");
  const auto read = [](F& f, const Tensor& x) { return x * summed(f, x)[0].item<float>(); };
  check_foreach(message_of_rows(read), "item() reads <Symbol");
  const auto written = [](F& f, const Tensor& x) {
    Tensor y = zeros({2});
    y[slice()] = summed(f, x);
    return y;
  };
  check_foreach(message_of_rows(written), "a write stores <Symbol");
  const auto captured = [](F& f, const Tensor& x) {
    const Tensor sum = summed(f, x);
    const auto step = [&](const Tensors&, const Tensors&) { return Results{{sum}, {}}; };
    return f.contrib().foreach (step, {x}, {}).outputs[0];
  };
  check_foreach(message_of_rows(captured), "the body of the foreach uses <Symbol");
}

TEST_CASE("a row of a loop used after the loop", "[error]") {
  const auto last_row = [](F& f, const Tensor& x) {
    Tensor last;
    const auto step = [&](const Tensors& row, const Tensors&) {
      last = row[0];
      return Results{{row[0]}, {}};
    };
    f.contrib().foreach (step, {x}, {});
    return last;
  };
  check_parts(message_of_rows(last_row),
              {"made in the body of the foreach at value_while_tracing.cpp:", "[KL0210]"});
}

TEST_CASE("a value of a while_loop or branch used after it", "[error]") {
  const auto grown = [](F& f, const Tensor& x) {
    Tensor sum = zeros({3, 2});
    const auto step = [&](const Tensors& v) {
      sum = sum + v[0];
      return Results{{}, {v[0] * 2}};
    };
    f.contrib().while_loop([](const Tensors& v) { return nd::sum(v[0]) < 100; }, step, {x}, 10);
    return sum;
  };
  check_parts(message_of_rows(grown),
              {"in the body of the while_loop at value_while_tracing.cpp:", "make it a state", "[KL0210]"});
  // Gradients need the structure of the loop, so its body is recorded there too.
  Tensor x = ones({3, 2});
  x.attach_grad();
  F f;
  check_parts(message_of([&] { autograd::record([&] { return grown(f, x); }); }),
              {"in the body of the while_loop", "[KL0210]"});
  const auto branch = [](F& f, const Tensor& x) {
    Tensor y;
    f.contrib().cond(
        f.sum(x) > 0, [&] { return Tensors{y = x * 2}; }, [&] { return Tensors{y = x * 3}; });
    return y + 1;
  };
  check_parts(message_of_rows(branch), {"in a branch of the cond at value_while_tracing.cpp:",
                                        "return it from both branches [KL0210]"});
}
