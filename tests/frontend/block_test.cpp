// Blocks: names, children, printed forms, hooks, files of parameters. MXNet's printed forms are in
// golden/transcripts.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <sstream>

using namespace kiln;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

template <class T>
std::string printed(const T& t) {
  std::ostringstream os;
  os << t;
  return os.str();
}

template <class Fn>
std::string message_of(Fn fn) {
  try {
    fn();
  } catch (const Error& e) {
    return e.what();
  }
  return "(no error)";
}

class Plain : public Block {
 public:
  using Block::Block;

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

class Residual : public HybridBlock {
 public:
  explicit Residual(int channels, bool down = false) {
    auto scope = name_scope();
    c1 = nn::Conv2D(channels, {.kernel_size = 3, .strides = down ? 2 : 1, .padding = 1, .use_bias = false});
    b1 = nn::BatchNorm();
    if (down) shortcut = nn::Conv2D(channels, {.strides = 2, .use_bias = false});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    return F.relu(b1(c1(x)) + (shortcut.defined() ? shortcut(x) : x));
  }

 private:
  Child<nn::Conv2D> c1{this, "c1"}, shortcut{this, "down"};
  Child<nn::BatchNorm> b1{this, "b1"};
};

class TwoInputs : public HybridBlock {
 public:
  using HybridBlock::HybridBlock;

 protected:
  Tensor hybrid_forward(F&, const Tensor& x, const Tensor& y) override { return x * 2 + y; }
};

class SeveralResults : public HybridBlock {
 public:
  using HybridBlock::HybridBlock;

 protected:
  Tensors hybrid_forward(F&, const Tensors& in) override { return {in[0] + 1, in[0] * 2, in[0]}; }
};

}  // namespace

TEST_CASE("layers print as MXNet's") {
  CHECK(printed(nn::Dense(3)) == "Dense(None -> 3, linear)");
  CHECK(printed(nn::Dense(3, {.activation = "relu", .in_units = 5})) == "Dense(5 -> 3, Activation(relu))");
  CHECK(printed(nn::Dense(2, {.use_bias = false})) == "Dense(None -> 2, linear)");
  CHECK(printed(nn::Conv2D(4, 3)) == "Conv2D(None -> 4, kernel_size=(3, 3), stride=(1, 1))");
  CHECK(printed(nn::Conv2D(4, {.kernel_size = {3, 5},
                               .strides = {2, 1},
                               .padding = 1,
                               .dilation = 2,
                               .groups = 2,
                               .activation = "tanh",
                               .use_bias = false,
                               .in_channels = 4})) ==
        "Conv2D(2 -> 4, kernel_size=(3, 5), stride=(2, 1), padding=(1, 1), dilation=(2, 2), groups=2, "
        "bias=False, "
        "Activation(tanh))");
  CHECK(printed(nn::Conv1D(2, 3)) == "Conv1D(None -> 2, kernel_size=(3,), stride=(1,))");
  CHECK(printed(nn::Conv3D(2, 3)) == "Conv3D(None -> 2, kernel_size=(3, 3, 3), stride=(1, 1, 1))");
  CHECK(
      printed(nn::Conv2DTranspose(3, {.kernel_size = 4, .strides = 2, .padding = 1, .output_padding = 1})) ==
      "Conv2DTranspose(3 -> 0, kernel_size=(4, 4), stride=(2, 2), padding=(1, 1))");
  CHECK(printed(nn::MaxPool2D()) ==
        "MaxPool2D(size=(2, 2), stride=(2, 2), padding=(0, 0), ceil_mode=False, global_pool=False, "
        "pool_type=max, layout=NCHW)");
  CHECK(printed(nn::AvgPool2D(
            {.pool_size = 3, .strides = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false})) ==
        "AvgPool2D(size=(3, 3), stride=(2, 2), padding=(1, 1), ceil_mode=True, global_pool=False, "
        "pool_type=avg, layout=NCHW)");
  CHECK(printed(nn::GlobalAvgPool2D()) ==
        "GlobalAvgPool2D(size=(1, 1), stride=(1, 1), padding=(0, 0), ceil_mode=True, global_pool=True, "
        "pool_type=avg, "
        "layout=NCHW)");
  CHECK(printed(nn::GlobalMaxPool1D()) ==
        "GlobalMaxPool1D(size=(1,), stride=(1,), padding=(0,), ceil_mode=True, global_pool=True, "
        "pool_type=max, layout=NCW)");
  CHECK(printed(nn::BatchNorm()) ==
        "BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, "
        "in_channels=None)");
  CHECK(printed(nn::BatchNorm({.epsilon = 1e-3, .scale = false, .in_channels = 4})) ==
        "BatchNorm(axis=1, eps=0.001, momentum=0.9, fix_gamma=True, use_global_stats=False, in_channels=4)");
  CHECK(printed(nn::LayerNorm()) == "LayerNorm(eps=1e-05, axis=-1, center=True, scale=True, in_channels=0)");
  CHECK(printed(nn::Dropout(0.3)) == "Dropout(p = 0.3, axes=())");
  CHECK(printed(nn::Dropout(0.5, {.axes = {1}})) == "Dropout(p = 0.5, axes=(1,))");
  CHECK(printed(nn::Embedding(10, 4)) == "Embedding(10 -> 4, float32)");
  CHECK(printed(nn::Flatten()) == "Flatten");
  CHECK(printed(nn::Activation("relu")) == "Activation(relu)");
  CHECK(printed(nn::LeakyReLU(0.1)) == "LeakyReLU(0.1)");
  CHECK(printed(nn::PReLU()) == "PReLU(\n\n)");
  CHECK(printed(nn::GELU()) == "GELU(\n\n)");
  CHECK(printed(nn::Swish()) == "Swish(\n\n)");
  CHECK(printed(nn::HybridLambda("relu")) == "HybridLambda(relu)");
  CHECK(printed(nn::HybridLambda([](F&, const Tensor& x) { return x; })) == "HybridLambda(<lambda>)");
  CHECK(printed(nn::Lambda("relu")) == "Lambda(relu)");
  CHECK(printed(nn::HybridSequential()) == "HybridSequential(\n\n)");
  CHECK(printed(nn::Sequential()) == "Sequential(\n\n)");
  CHECK(printed(nn::HybridConcurrent(1)) == "HybridConcurrent(\n\n)");
  CHECK(printed(Block()) == "Block(\n\n)");
}

TEST_CASE("networks print their tree") {
  nn::HybridSequential net({.prefix = "a_"});
  net.add(nn::Dense(256, {.activation = "relu", .in_units = 512}), nn::Dense(128), nn::Dense(2));
  const std::string text =
      "HybridSequential(\n"
      "  (0): Dense(512 -> 256, Activation(relu))\n"
      "  (1): Dense(None -> 128, linear)\n"
      "  (2): Dense(None -> 2, linear)\n"
      ")";
  CHECK(printed(net) == text);
  nn::Sequential outer;
  outer.add(net, nn::BatchNorm(), nn::Flatten());
  CHECK(printed(outer) ==
        "Sequential(\n"
        "  (0): HybridSequential(\n"
        "    (0): Dense(512 -> 256, Activation(relu))\n"
        "    (1): Dense(None -> 128, linear)\n"
        "    (2): Dense(None -> 2, linear)\n"
        "  )\n"
        "  (1): BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, "
        "in_channels=None)\n"
        "  (2): Flatten\n"
        ")");
  CHECK(outer.size() == 3);
  CHECK(printed(outer[1]) ==
        "BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, "
        "in_channels=None)");
  CHECK(printed(outer[0].as<nn::HybridSequential>()[slice(1)]) ==
        "HybridSequential(\n  (0): Dense(None -> 128, linear)\n  (1): Dense(None -> 2, linear)\n)");
  CHECK_THROWS_WITH(outer[3], Contains("3 children"));
  CHECK_THROWS_WITH(outer[1].as<nn::Dense>(), Contains("BatchNorm"));

  nn::HybridConcurrent both({.axis = 1, .prefix = "c_"});
  both.add(nn::Dense(2, {.prefix = "p_"}), nn::Identity({.prefix = "i_"}));
  CHECK(printed(both) == "HybridConcurrent(\n  (0): Dense(None -> 2, linear)\n  (1): Identity(\n  \n  )\n)");

  CHECK(printed(Residual(8, true)) ==
        "Residual(\n"
        "  (c1): Conv2D(None -> 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)\n"
        "  (b1): BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, "
        "in_channels=None)\n"
        "  (down): Conv2D(None -> 8, kernel_size=(1, 1), stride=(2, 2), bias=False)\n"
        ")");
}

TEST_CASE("names come from scopes") {
  nn::HybridSequential net({.prefix = "net_"});
  {
    auto scope = net.name_scope();
    net.add(nn::Dense(4, {.in_units = 3}), nn::Dense(2), nn::BatchNorm(), nn::Activation("relu"), Residual(2),
            Residual(2));
  }
  CHECK(net.name() == "net");
  CHECK(net[0].prefix() == "net_dense0_");
  CHECK(net[1].name() == "net_dense1");
  CHECK(net[2].prefix() == "net_batchnorm0_");
  CHECK(net[3].prefix() == "net_relu0_");
  CHECK(net[4].prefix() == "net_residual0_");
  CHECK(net[5].child("c1").prefix() == "net_residual1_conv0_");
  // outside of the scope children do not inherit the prefix, and are numbered over the life of the process
  nn::Dense a(2), b(2);
  const auto number = [](const Block& x) { return std::stoi(x.name().substr(5)); };
  CHECK(number(b) == number(a) + 1);
  // a name space without a prefix
  nn::HybridSequential bare({.prefix = ""});
  auto scope = bare.name_scope();
  CHECK_THAT(nn::Dense(1).prefix(), !Contains("bare"));
}

TEST_CASE("only hybrid blocks can be children of hybrid blocks") {
  nn::HybridSequential net({.prefix = "h_"});
  CHECK_THROWS_WITH(net.add(Plain({.prefix = "plain_"})),
                    Contains("Children of HybridBlock must also be HybridBlock, but plain has type Plain. If "
                             "you are using Sequential, please try HybridSequential instead. [KL0203]"));
  nn::Sequential any;
  any.add(Plain(), nn::Flatten());
  CHECK(any.size() == 2);
}

TEST_CASE("a block that defines no forward says so") {
  HybridBlock bare({.prefix = "bare_"});
  CHECK_THROWS_WITH(bare(ones({1})), Contains("HybridBlock") && Contains("one tensor"));
  TwoInputs two({.prefix = "two_"});
  CHECK_THROWS_WITH(two(ones({1})), Contains("TwoInputs") && Contains("one tensor"));
  CHECK_THROWS_WITH(two(Tensor()), Contains("undefined"));
  CHECK_THROWS_WITH(two(Tensors{}), Contains("no tensor"));
}

TEST_CASE("blocks take and give several tensors") {
  TwoInputs two;
  CHECK(two(ones({2}), full({2}, 3)).to_vector<float>() == std::vector<float>{5, 5});
  CHECK(two({ones({2}), full({2}, 3)}).at(0).to_vector<float>() == std::vector<float>{5, 5});
  SeveralResults several;
  for (const bool hybridized : {false, true}) {
    several.hybridize(hybridized);
    const Tensor x = ones({2});
    const Tensors out = several(Tensors{x});
    REQUIRE(out.size() == 3);
    CHECK(out[1].to_vector<float>() == std::vector<float>{2, 2});
    CHECK_THROWS_WITH(several(x), Contains("3 tensors"));
  }
}

TEST_CASE("hooks see inputs and outputs until they are detached") {
  nn::HybridSequential net;
  net.add(nn::HybridLambda([](F&, const Tensor& x) { return x + 1; }));
  int before = 0, after = 0;
  auto pre = net[0].register_forward_pre_hook(
      [&](Block&, const Tensors& in) { before += static_cast<int>(in.size()); });
  auto post = net[0].register_forward_hook([&](Block&, const Tensors&, const Tensors& out) {
    after += static_cast<int>(out[0].to_vector<float>()[0]);
  });
  net(ones({1}));
  CHECK(before == 1);
  CHECK(after == 2);
  pre.detach();
  post.detach();
  net(ones({1}));
  CHECK(before == 1);
}

TEST_CASE("parameters travel through files by their path") {
  nn::HybridSequential net({.prefix = "net_"});
  {
    auto scope = net.name_scope();
    net.add(nn::Dense(4, {.in_units = 3}), nn::Dense(2, {.in_units = 4}), nn::BatchNorm({.in_channels = 2}));
  }
  net.initialize();
  net.save_parameters("w.params");
  std::vector<std::string> names;
  for (const auto& a : load_arrays("w.params")) names.push_back(a.name);
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias", "2.gamma", "2.beta",
                                          "2.running_mean", "2.running_var"});

  nn::HybridSequential same({.prefix = "other_"});
  same.add(nn::Dense(4), nn::Dense(2), nn::BatchNorm());
  same.load_parameters("w.params");
  CHECK(same[0].as<nn::Dense>().weight.data().to_vector<float>() ==
        net[0].as<nn::Dense>().weight.data().to_vector<float>());
  CHECK(same[0].as<nn::Dense>().weight.shape() == Shape{4, 3});

  nn::HybridSequential shorter;
  shorter.add(nn::Dense(4), nn::Dense(2));
  CHECK_THROWS_WITH(
      shorter.load_parameters("w.params"),
      Contains("w.params: there is no parameter '2.gamma'") && Contains("{.ignore_extra = true}"));
  CHECK_NOTHROW(shorter.load_parameters("w.params", {.ignore_extra = true}));

  nn::HybridSequential longer;
  longer.add(nn::Dense(4), nn::Dense(2), nn::BatchNorm(), nn::Dense(1));
  CHECK_THROWS_WITH(
      longer.load_parameters("w.params"),
      EndsWith(" w.params: there are no values for parameter '3.weight', only for '0.weight', "
               "'0.bias', '1.weight', ..., '2.gamma', '2.beta', '2.running_mean', "
               "'2.running_var'; load with {.allow_missing = true} to keep its current values [KL0403]"));

  nn::HybridSequential wider;
  wider.add(nn::Dense(5), nn::Dense(2), nn::BatchNorm());
  CHECK_THROWS_WITH(wider.load_parameters("w.params"), Contains("w.params: '0.weight'") &&
                                                           Contains("the shape (5, 0)") &&
                                                           Contains("saved values, of shape (4, 3)"));
}

TEST_CASE("files that Gluon wrote load") {
  const std::string folder = std::string(KILN_TEST_DATA) + "/formats/";
  nn::HybridSequential net({.prefix = "net_"});
  {
    auto scope = net.name_scope();
    net.add(nn::Dense(4), nn::BatchNorm(), nn::Dense(2));
  }
  CHECK_NOTHROW(net.load_parameters(folder + "gluon-save.params"));
  CHECK(net.collect_params().size() == 8);
}

TEST_CASE("a transposed convolution undoes the extents of its convolution") {
  nn::Conv2D down(6, {.kernel_size = 3, .strides = 2, .padding = 1, .groups = 2});
  nn::Conv2DTranspose up(4, {.kernel_size = 3, .strides = 2, .padding = 1, .output_padding = 1, .groups = 2});
  down.initialize();
  up.initialize();
  const Tensor x = random::normal(0, 1, {2, 4, 8, 10});
  const Tensor eager = up(down(x));
  CHECK(eager.shape() == x.shape());
  CHECK(up.weight.shape() == Shape{6, 2, 3, 3});
  up.hybridize();
  CHECK(up(down(x)).to_vector<float>() == eager.to_vector<float>());
  CHECK_THROWS_WITH(nn::Conv2D(4, {.output_padding = 1}), Catch::Contains("transposed"));
}

TEST_CASE("containers take their children when they are made") {
  nn::Dense shared(4);
  nn::HybridSequential net(shared, nn::Dense(3, "relu"), std::make_shared<nn::Dropout>(0.5));
  CHECK(net.size() == 3);
  CHECK_THAT(net.str(), Contains("(1): Dense(None -> 3, Activation(relu))") && Contains("(2): Dropout"));
  net.initialize();
  net.hybridize();
  CHECK(net(ones({2, 5})).shape() == Shape{2, 3});
  CHECK(shared.weight.shape() == Shape{4, 5});  // the same block
  CHECK(net.collect_params().keys() == std::vector<std::string>{shared.weight.name(), shared.bias.name(),
                                                                net[1].as<nn::Dense>().weight.name(),
                                                                net[1].as<nn::Dense>().bias.name()});
  const nn::Sequential plain(net, Plain());
  CHECK(plain.size() == 2);
  CHECK(&plain[0].as<nn::HybridSequential>()[0] == &net[0]);
  nn::HybridSequential one{nn::Flatten()};
  CHECK(one.size() == 1);
  CHECK_THROWS_WITH(nn::HybridSequential(nn::Dense(2), Plain()),
                    Contains("block_test.cpp") && Contains("HybridBlock"));
}

TEST_CASE("a block is a range of its children") {
  nn::HybridSequential net(nn::Dense(4), nn::Dense(3, "relu"));
  std::vector<std::string> names;
  for (Block& child : net) names.push_back(child.name());
  CHECK(names == std::vector<std::string>{net[0].name(), net[1].name()});
  for (auto& child : net) child.initialize("ones");
  CHECK(net(ones({1, 2})).to_vector<float>() == std::vector<float>{8, 8, 8});
  for (Block& child : net) {  // those at the beginning
    net.add(nn::Dense(2));
    CHECK(child.class_name() == "Dense");
  }
  CHECK(net.size() == 4);
  CHECK(net.begin()->name() == names[0]);
  for (Block& child : nn::Dense(2)) FAIL("a child of none: " << child);
}

TEST_CASE("a const network can be called") {
  const nn::HybridSequential net = [] {
    nn::HybridSequential n(nn::Dense(4, "relu"), nn::Dense(3));
    n.initialize("ones");
    return n;
  }();
  const Tensor x = ones({2, 5});
  const std::vector<float> eager = net(x).to_vector<float>();
  CHECK(eager == std::vector<float>(6, 20));
  net.hybridize();
  CHECK(net(x).to_vector<float>() == eager);
  CHECK(net({x}).at(0).to_vector<float>() == eager);
  CHECK(net.compiled_calls().size() == 1);
  CHECK(net.bind({x})().to_vector<float>() == eager);
  const nn::HybridSequential& seen = net;
  CHECK(seen(x).to_vector<float>() == eager);
  CHECK(net.compiled_calls().size() == 1);
  const Residual block(3);
  block.initialize();
  CHECK(block(ones({1, 3, 4, 4})).shape() == Shape{1, 3, 4, 4});
  std::ostringstream os;
  block.summary(ones({1, 3, 4, 4}), os);
  CHECK_THAT(os.str(), Contains("Conv2D"));
  const rnn::LSTM lstm(4);
  lstm.initialize();
  CHECK(lstm(ones({3, 2, 5}), lstm.begin_state(2)).output.shape() == Shape{3, 2, 4});
  const loss::L2Loss l2;
  CHECK(l2(ones({2, 1}), ones({2, 1})).to_vector<float>() == std::vector<float>{0, 0});
}
