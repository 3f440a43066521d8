// Messages begin with the program's line, never with a line of Kiln's own.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace kiln;

namespace {

using Tensors = std::vector<Tensor>;

/// The message of the mistake is an error of the user at this line, which is known after it.
template <class Line, class Mistake>
void check_line(Line&& line, Mistake&& mistake) {
  try {
    mistake();
  } catch (const Error& e) {
    const std::string place = fmt::format("program_lines_test.cpp:{}: ", line());
    CAPTURE(place, e.what());
    CHECK(e.kind() == Error::Kind::user);
    CHECK(std::string_view(e.what()).starts_with(place));
    CHECK(std::string_view(e.what()).find(".cpp:", place.size()) == std::string_view::npos);
    return;
  }
  FAIL_CHECK("the mistake of line " << line() << " is accepted");
}
#define MISTAKE(...) check_line([] { return __LINE__; }, [&] { static_cast<void>(__VA_ARGS__); })

}  // namespace

TEST_CASE("lines of layers that cannot be made", "[program_lines]") {
  MISTAKE(nn::Dense(0));
  MISTAKE(nn::Dense(3, {.in_units = -1}));
  MISTAKE(nn::Conv2D(0, 3));
  MISTAKE(nn::MaxPool2D({.pool_size = {1, 2, 3}}));
  MISTAKE(nn::BatchNorm({.momentum = 1.5}));
  MISTAKE(nn::BatchNorm({.momentum = -0.5}));
  MISTAKE(nn::BatchNorm({.epsilon = -1}));
  MISTAKE(nn::BatchNorm({.in_channels = -3}));
  MISTAKE(nn::BatchNormReLU({.momentum = 1.5}));
  MISTAKE(nn::LayerNorm({.epsilon = -1}));
  MISTAKE(nn::InstanceNorm({.epsilon = -1}));
  MISTAKE(nn::GroupNorm({.epsilon = -1}));
  MISTAKE(nn::GroupNorm({.num_groups = 0}));
  MISTAKE(nn::Dropout(1.5));
  MISTAKE(nn::Embedding(-1, 4));
  MISTAKE(nn::LeakyReLU(-1));
  MISTAKE(nn::Activation("foo"));
  MISTAKE(nn::HybridLambda("foo"));
  MISTAKE(nn::Lambda("foo"));
  MISTAKE(nn::ReflectionPad2D(Shape{1, 2, 3}));
  MISTAKE(nn::ReflectionPad2D(-1));
  MISTAKE(contrib::nn::SyncBatchNorm({.num_devices = 2}));
  MISTAKE(contrib::nn::PixelShuffle1D(-2));
  MISTAKE(contrib::nn::PixelShuffle2D(0));
  MISTAKE(contrib::nn::PixelShuffle3D(0));
  MISTAKE(Parameter("x", {-3}));
  MISTAKE(Parameter("x", {3}, {.wd_mult = -1}));
  MISTAKE(ParameterDict("x_").get("y", {-3}));
  MISTAKE(loss::CTCLoss({.layout = "XX"}));
  MISTAKE(loss::HuberLoss({.rho = -1}));
}

TEST_CASE("lines of recurrent layers and cells", "[program_lines]") {
  MISTAKE(rnn::LSTM(0));
  MISTAKE(rnn::LSTM(4, {.num_layers = 0}));
  MISTAKE(rnn::LSTM(4, {.layout = "XYZ"}));
  MISTAKE(rnn::GRU(4, {.input_size = -1}));
  MISTAKE(rnn::GRU(4, {.projection_size = 2}));
  MISTAKE(rnn::RNN(4, {.dropout = 2}));
  MISTAKE(rnn::RNN(4, {}, "foo"));
  MISTAKE(rnn::RNNCell(-1));
  MISTAKE(rnn::RNNCell(3, {.recurrent_activation = "tanh"}));
  MISTAKE(rnn::LSTMCell(3, {.input_size = -1}));
  MISTAKE(rnn::GRUCell(3, {.activation = "tanh"}));
  MISTAKE(rnn::DropoutCell(2));
  MISTAKE(rnn::ZoneoutCell(rnn::LSTMCell(3), 2.0));
  MISTAKE(rnn::ResidualCell(std::shared_ptr<rnn::HybridRecurrentCell>()));
  MISTAKE(rnn::BidirectionalCell(std::shared_ptr<rnn::HybridRecurrentCell>(), nullptr));
  MISTAKE(contrib::rnn::LSTMPCell(0, 2));
  MISTAKE(contrib::rnn::LSTMPCell(3, 0));
  MISTAKE(contrib::rnn::VariationalDropoutCell(rnn::LSTMCell(3), {.drop_inputs = 2}));
  const rnn::LSTM layer(4);
  MISTAKE(layer.begin_state(0));
  rnn::LSTMCell cell(3);
  cell.initialize();
  MISTAKE(cell.begin_state(0));
  MISTAKE(cell(ones({2, 3})));
  MISTAKE(cell(ones({2, 3}), Tensors()));
  MISTAKE(cell.unroll(0, ones({2, 3, 4})));
  MISTAKE(cell.unroll(3, ones({2, 4, 4})));
  MISTAKE(cell.unroll(3, ones({2, 3, 4}), {.layout = "XX"}));
}

TEST_CASE("lines of calls", "[program_lines]") {
  rnn::LSTM lstm(4);
  lstm.initialize();
  MISTAKE(lstm(ones({2, 3})));
  MISTAKE(lstm(Tensors{ones({2, 3, 4}), ones({1, 3, 4})}));
  MISTAKE(lstm(Tensors{ones({2, 3, 4}), ones({1, 3, 5}), ones({1, 3, 4})}));
  nn::Dense dense(3);
  MISTAKE(dense(ones({2, 3})));
  MISTAKE(dense.weight.data());
  dense.initialize();
  MISTAKE(dense.weight.data());
  MISTAKE(dense(ones({2, 0})));  // deferred initialization fails
  MISTAKE(dense(ones({2, 3}).astype(DType::i32)));
  MISTAKE(dense(Tensors{ones({2, 3}), ones({2, 3})}));
  dense(ones({2, 3}));
  MISTAKE(dense(ones({2, 4})));
  dense.hybridize();
  MISTAKE(dense(ones({2, 4})));
  nn::HybridSequential net;
  MISTAKE(net.register_child(std::shared_ptr<Block>()));
  MISTAKE(net.register_child(nn::Sequential()));
  MISTAKE(net.child("foo"));
  MISTAKE(net[5]);
}

TEST_CASE("lines of writes into arrays from outside of a body", "[program_lines]") {
  int line = 0;
  nn::HybridLambda writes([&](F& f, const Tensor& x) {
    Tensor h = x * 2;
    f.contrib().cond(
        f.sum(x) > 0,
        [&] {
          line = __LINE__ + 1;
          h += 1;
          return Tensors{h};
        },
        [&] { return Tensors{x}; });
    return h;
  });
  writes.hybridize();
  CHECK(writes(ones({2})).to_vector<float>() == std::vector<float>{3, 3});  // eagerly
  CHECK_THROWS_WITH(writes.export_model("program_lines"),
                    Catch::Contains(fmt::format(" in program_lines_test.cpp:{}:", line)));
}

TEST_CASE("lines of parameters without values, and of files of eager calls", "[program_lines]") {
  nn::Dense dense(2);
  MISTAKE(dense.weight * 2);
  nn::HybridLambda net([](F& f, const Tensor& x) {
    random::seed(1);
    return f.tanh(x);
  });
  net.hybridize();
  net(ones({2}));
  MISTAKE(net.export_model("program_lines"));
}

TEST_CASE("lines of calls at sizes that a file was not exported for", "[program_lines]") {
  nn::HybridLambda net([](F& f, const Tensor& x) { return f.reshape(x * 2, {x.shape()[1], x.shape()[0]}); });
  net.hybridize();
  net(ones({2, 3}));
  net.export_model("program_lines");
  SymbolBlock imported = SymbolBlock::imports("program_lines-symbol.json", {"data"});
  MISTAKE(imported(ones({4, 3})));
}

TEST_CASE("lines of networks of the model zoo", "[program_lines]") {
  using namespace model_zoo::vision;
  MISTAKE(get_model("foo"));
  MISTAKE(get_model("alexnet", {.classes = -1}));
  MISTAKE(get_model("alexnet", {.thumbnail = true}));
  MISTAKE(resnet18_v1({.classes = 0}));
  MISTAKE(AlexNet({.classes = 0}));
  MISTAKE(VGG({1}, {}));
  MISTAKE(VGG({1}, {-3}));  // refused by a layer of it
  MISTAKE(SqueezeNet("3"));
  MISTAKE(DenseNet(-1, 2, {1}));
  MISTAKE(Inception3({.classes = 0}));
  MISTAKE(ResNetV1(ResNetBlock::basic, {1}, {}));
  MISTAKE(ResNetV2(ResNetBlock::basic, {1}, {8}));
  MISTAKE(MobileNet(0));
  MISTAKE(MobileNetV2(0));
}

TEST_CASE("lines of metrics, batches and symbols", "[program_lines]") {
  MISTAKE(metric::TopKAccuracy(0));
  MISTAKE(metric::CustomMetric(nullptr));
  MISTAKE(metric::CompositeEvalMetric({nullptr}));
  MISTAKE(metric::CompositeEvalMetric().get_metric(1));
  MISTAKE(metric::create("foo"));
  metric::Accuracy accuracy;
  MISTAKE(accuracy.update(ones({3}), ones({4, 2})));
  using namespace data::batchify;
  const std::vector<data::Sample> none, uneven{{ones({2})}, {ones({2, 3})}},
      parts{{ones({2})}, {ones({2}), ones({2})}};
  MISTAKE(Pad({.round_to = 0}));
  MISTAKE(Pad()(uneven));
  MISTAKE(Pad()(none));
  MISTAKE(Stack()(uneven));
  MISTAKE(Stack()(parts));
  MISTAKE(Append()(std::vector<data::Sample>{Tensor()}));
  MISTAKE(Group({Pad(), Stack()})(uneven));
  MISTAKE(Group({nullptr}));
  MISTAKE(Symbol::load_json("{"));
  MISTAKE(sym::load_json("{"));
  MISTAKE(sym::group({}));
  MISTAKE(sym::var("x").infer_shape({{"y", {3}}}));
  MISTAKE(DeviceScope(cuda(1000)));
}

TEST_CASE("lines of random numbers", "[program_lines]") {
  MISTAKE(random::uniform(2, 1, {3}));
  MISTAKE(random::uniform(0, std::nan(""), {3}));
  MISTAKE(F::random().uniform_like(ones({3}), 2, 1));
  MISTAKE(random::normal(0, -1, {3}));
  MISTAKE(F::random().normal_like(ones({3}), 0, -1));
  MISTAKE(np::random::normal(0, -1, {3}));
  CHECK(random::uniform(1, 1, {2}).to_vector<float>() == std::vector<float>{1, 1});
  CHECK(random::normal(1, 0, {2}).to_vector<float>() == std::vector<float>{1, 1});
}
