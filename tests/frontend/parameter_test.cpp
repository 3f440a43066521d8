// Parameters and dictionaries of them. MXNet's printed forms are in golden/transcripts/params_and_names.txt.
#include <kiln/kiln.h>
#include <kiln/log.h>

#include <algorithm>
#include <catch2/catch.hpp>

using namespace kiln;
using Catch::Matchers::Contains;

TEST_CASE("a parameter prints as MXNet's") {
  CHECK(Parameter("w", {2, 0}).str() == "Parameter w (shape=(2, 0), dtype=<class 'numpy.float32'>)");
  nn::Dense d(4, {.in_units = 3, .prefix = "d_"});
  CHECK(d.weight.str() == "Parameter d_weight (shape=(4, 3), dtype=float32)");
  CHECK(ParameterDict("p_").str() == "p_ (\n\n)");
  const ParameterDict dict("p_");
  dict.get("w", {2, 3});
  CHECK(dict.str() == "p_ (\n  Parameter p_w (shape=(2, 3), dtype=<class 'numpy.float32'>)\n)");
  CHECK_THROWS_WITH(
      dict.get("w", {2, 4}),
      Catch::StartsWith("parameter_test.cpp:") &&
          Catch::EndsWith(": there is a parameter 'p_w' already, and its shape is (2, 3), not (2, 4)"));
  CHECK(dict.get("w", {2, 0}).shape() == Shape{2, 3});
  CHECK_THROWS_WITH(dict["q"], Contains("'p_w'"));
}

TEST_CASE("values come with initialize, or with the first call") {
  nn::HybridSequential net({.prefix = "net_"});
  {
    auto scope = net.name_scope();
    net.add(nn::Dense(4, {.in_units = 3}), nn::Dense(2), nn::BatchNorm());
  }
  const Parameter& first = net[0].as<nn::Dense>().weight;
  const Parameter& second = net[1].as<nn::Dense>().weight;
  CHECK_THROWS_WITH(second.data(),
                    Contains("parameter_test.cpp:") &&
                        Contains("Parameter 'net_dense1_weight' has not been initialized: call "
                                 "initialize() on the network first"));
  CHECK_THROWS_WITH(net(ones({2, 3})), Contains("'net_dense0_weight' has not been initialized"));
  net.initialize();
  CHECK(first.data().shape() == Shape{4, 3});
  CHECK_THROWS_AS(second.data(), DeferredInitializationError);
  CHECK(second.shape() == Shape{2, 0});
  CHECK(net(ones({2, 3})).shape() == Shape{2, 2});
  CHECK(second.shape() == Shape{2, 4});
  CHECK(net.collect_params().str() ==
        "net_ (\n"
        "  Parameter net_dense0_weight (shape=(4, 3), dtype=float32)\n"
        "  Parameter net_dense0_bias (shape=(4,), dtype=float32)\n"
        "  Parameter net_dense1_weight (shape=(2, 4), dtype=float32)\n"
        "  Parameter net_dense1_bias (shape=(2,), dtype=float32)\n"
        "  Parameter net_batchnorm0_gamma (shape=(2,), dtype=<class 'numpy.float32'>)\n"
        "  Parameter net_batchnorm0_beta (shape=(2,), dtype=<class 'numpy.float32'>)\n"
        "  Parameter net_batchnorm0_running_mean (shape=(2,), dtype=<class 'numpy.float32'>)\n"
        "  Parameter net_batchnorm0_running_var (shape=(2,), dtype=<class 'numpy.float32'>)\n"
        ")");
  CHECK(net.collect_params(".*weight").keys() ==
        std::vector<std::string>{"net_dense0_weight", "net_dense1_weight"});
  CHECK(net.collect_params("net_dense0|.*gamma").size() == 3);
  CHECK_THROWS_WITH(net.collect_params("(unfinished"), Contains("regular expression"));
  // a parameter that has values keeps them
  const auto values = first.data().to_vector<float>();
  net.initialize(init::One());
  CHECK(first.data().to_vector<float>() == values);
  net.initialize(init::One(), {.force_reinit = true});
  CHECK(first.data().to_vector<float>() == std::vector<float>(12, 1));
}

TEST_CASE("set_data keeps the array, and checks the shape") {
  Parameter p("p", {2, 0});
  CHECK_THROWS_WITH(p.set_data(ones({2, 3})), Contains("has not been initialized"));
  p.initialize();
  p.set_data(full({2, 3}, 4));
  CHECK(p.shape() == Shape{2, 3});
  const void* array = p.data().data();
  p.set_data(full({2, 3}, 5));
  CHECK(p.data().data() == array);
  CHECK(p.data().to_vector<float>() == std::vector<float>(6, 5));
  CHECK_THROWS_WITH(p.set_data(ones({3, 3})), Contains("(2, 3)") && Contains("(3, 3)"));
  CHECK_THROWS_WITH(p.set_shape({2, 4}), Contains("(2, 3)") && Contains("cannot get the shape (2, 4)"));
  CHECK_THROWS_AS(Parameter("q", {-1, 2}), Error);
}

TEST_CASE("dtypes") {
  nn::Dense d(2, {.in_units = 2, .prefix = "d_"});
  d.initialize(init::One());
  d.cast(DType::f64);
  CHECK(d.weight.data().dtype() == DType::f64);
  CHECK(d.weight.str() == "Parameter d_weight (shape=(2, 2), dtype=float64)");
  CHECK(d(ones({1, 2}, DType::f64)).to_vector<double>() == std::vector<double>{2, 2});
  nn::BatchNorm b({.in_channels = 2});
  b.initialize();
  b.cast(DType::f16);
  CHECK(b.gamma.dtype() == DType::f32);
}

TEST_CASE("blocks can share parameters") {
  nn::Dense a(2, {.in_units = 2, .prefix = "a_"});
  const ParameterDict of_a = a.params();
  nn::Dense b(2, {.in_units = 2, .prefix = "b_", .params = &of_a});
  CHECK(a.weight == b.weight);
  CHECK(b.weight.name() == "a_weight");
  nn::HybridSequential net;
  net.add(a, b);
  CHECK(net.collect_params().size() == 2);
  net.initialize();
  net.save_parameters("shared.params");
  CHECK(load_arrays("shared.params").size() == 4);
  CHECK_NOTHROW(net.load_parameters("shared.params"));
}

TEST_CASE("constants keep their value") {
  Constant c("c", Tensor({{1, 2}}));
  CHECK(c.str() == "Constant c (shape=(1, 2), dtype=<class 'numpy.float32'>)");
  CHECK(c.grad_req() == GradReq::null);
  c.set_grad_req(GradReq::write);
  CHECK(c.grad_req() == GradReq::null);
  const ParameterDict dict("p_");
  dict.get_constant("one", ones({1}));
  CHECK_NOTHROW(dict.get_constant("one", ones({1})));
  CHECK_THROWS_AS(dict.get_constant("one", zeros({1})), Error);
}

TEST_CASE("initialize() of a network with a constant") {
  struct Scaled : HybridBlock {
    Parameter w = params().get("w", {2});
    Constant c = params().get_constant("c", Tensor({1, 2}));
    Tensor hybrid_forward(F&, const Tensor& x) override { return x * w * c; }
  };
  using Floats = std::vector<float>;
  for (const bool compiled : {false, true}) {
    Scaled net;
    if (compiled) net.hybridize();
    net.initialize(init::One());
    CHECK(net(ones({2})).to_vector<float>() == Floats{1, 2});
    net.initialize(init::Constant(3), {.force_reinit = true});
    CHECK(net(ones({2})).to_vector<float>() == Floats{3, 6});

    // As in MXNet its value comes back, unless the initializer is given to the constant itself.
    net.c.set_data(Tensor({7, 8}));
    CHECK(net(ones({2})).to_vector<float>() == Floats{21, 24});
    net.initialize(init::One());
    CHECK(net(ones({2})).to_vector<float>() == Floats{21, 24});
    net.initialize(init::Zero(), {.force_reinit = true});
    CHECK(net.c.data().to_vector<float>() == Floats{1, 2});
    net.initialize(init::Mixed({".*"}, {"ones"}), {.force_reinit = true});
    CHECK(net(ones({2})).to_vector<float>() == Floats{1, 2});
    net.c.initialize(init::Constant(5), {}, /*force_reinit=*/true);
    CHECK(net(ones({2})).to_vector<float>() == Floats{5, 5});
    net.c.initialize({}, {}, /*force_reinit=*/true);
    CHECK(net(ones({2})).to_vector<float>() == Floats{1, 2});
    net.cast(DType::f64);
    net.initialize(init::One(), {.force_reinit = true});
    CHECK(net.c.data().dtype() == DType::f64);
    CHECK(net.c.data().to_vector<float>() == Floats{1, 2});
  }
}

TEST_CASE("the first initialize() of a constant warns of nothing") {
  const std::string name = "constant_without_warning";
  ParameterDict dict(name + "_");
  dict.get_constant("c", ones({1}));
  std::string log;
  set_log_sink([&](LogLevel, std::string_view line) { log += line; });
  dict.initialize();
  dict.initialize();
  set_log_sink({});
  CHECK(log.find(name) == std::string::npos);
}

TEST_CASE("a dictionary goes to a file and back") {
  const ParameterDict dict("p_");
  Parameter w = dict.get("w", {2, 2}), b = dict.get("b", {2});
  dict.initialize(init::Uniform(1));
  const auto values = w.data().to_vector<float>();
  dict.save("dict.params", "p_");
  w.set_data(zeros({2, 2}));
  dict.load("dict.params", {}, "p_");
  CHECK(w.data().to_vector<float>() == values);
  dict.get("more", {1});
  CHECK_THROWS_WITH(dict.load("dict.params", {}, "p_"),
                    Contains("dict.params: there are no values for parameter 'p_more'"));
  CHECK_NOTHROW(dict.load("dict.params", {.allow_missing = true}, "p_"));
  const ParameterDict small("p_");
  small.get("w", {2, 2});
  CHECK_THROWS_WITH(small.load("dict.params", {}, "p_"),
                    Contains("dict.params: there is no parameter 'p_b', only 'p_w'"));
}

TEST_CASE("parameters of one's own take part in expressions and infer their shapes") {
  class Scaled : public HybridBlock {
   public:
    Scaled() {
      scale = params().get("scale", {1}, {.init = init::Constant(3)});
      weight = params().get("weight", {4, 0}, {.init = init::One()});
    }

   protected:
    Tensor hybrid_forward(F& F, const Tensor& x) override {
      return F.FullyConnected(x * scale, weight, {.num_hidden = 4, .no_bias = true}) + 1;
    }

   private:
    Parameter scale, weight;
  };
  for (const bool hybridized : {false, true}) {
    Scaled net;
    net.initialize();
    net.hybridize(hybridized);
    CHECK(net(ones({1, 2})).to_vector<float>() == std::vector<float>(4, 7));
    CHECK(net.params().items()[1].shape() == Shape{4, 2});
  }
}

TEST_CASE("a handle keeps its name in an exported file, the array of data() does not") {
  struct Scaled : HybridBlock {
    Parameter weight = params().get("weight", {3});
    Parameter shift = params().get("shift", {3});
    Tensor hybrid_forward(F&, const Tensor& x) override {
      const Tensor w = weight;
      return x * w + shift.data();
    }
  };
  Scaled net;
  net.initialize(init::Constant(2));
  net.hybridize();
  net(ones({2, 3}));
  net.export_model("scaled_names");
  std::vector<std::string> names;
  for (const NamedArray& a : load_arrays("scaled_names-0000.params")) names.push_back(a.name);
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() == 2);
  CHECK(names[0].starts_with("arg:captured"));
  CHECK(names[1] == "arg:" + net.weight.name());
}

TEST_CASE("a Parameter that was never assigned is an error wherever it is used") {
  struct Net : HybridBlock {
    Parameter w;
    Tensor hybrid_forward(F&, const Tensor& x) override { return x * w; }
  };
  for (const bool hybrid : {false, true}) {
    Net net;
    if (hybrid) net.hybridize();
    CHECK_THROWS_WITH(net(ones({2})), Contains("parameter_test.cpp") && Contains("this Parameter is empty"));
  }
  Parameter none;
  CHECK_FALSE(none.defined());
  CHECK_THROWS_WITH(none.name(), Contains("this Parameter is empty"));
  CHECK_THROWS_WITH(none.shape(), Contains("this Parameter is empty"));
  CHECK_THROWS_WITH(none.grad_req(), Contains("this Parameter is empty"));
  CHECK_THROWS_WITH(none.initialize(), Contains("this Parameter is empty"));
  CHECK_THROWS_WITH(none.set_data(ones({2})), Contains("this Parameter is empty"));
}
