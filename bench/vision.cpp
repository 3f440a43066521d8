// Image networks at batch 1: the model zoo's, and torchvision's GoogLeNet (batch norm, 3x3 convolutions
// instead of 5x5, no auxiliary heads) and ResNeXt-50.
#include "bench/workload.h"

using namespace kiln;

namespace bench {
namespace {

using nn::HybridSequential;

void add_convolution(HybridSequential& net, std::int64_t channels, std::int64_t kernel,
                     std::int64_t stride = 1) {
  net.add(nn::Conv2D(channels,
                     {.kernel_size = kernel, .strides = stride, .padding = kernel / 2, .use_bias = false}),
          nn::BatchNorm({.epsilon = 1e-3}), nn::Activation("relu"));
}

/// Channels of the four branches; the middle two begin with a 1x1 convolution.
struct Inception {
  std::int64_t one, reduce3, three, reduce5, five, pool;
};

void add_inception(HybridSequential& net, const Inception& c) {
  HybridSequential one, three, five, pool;
  add_convolution(one, c.one, 1);
  add_convolution(three, c.reduce3, 1);
  add_convolution(three, c.three, 3);
  add_convolution(five, c.reduce5, 1);
  add_convolution(five, c.five, 3);
  pool.add(nn::MaxPool2D({.pool_size = 3, .strides = 1, .padding = 1, .ceil_mode = true}));
  add_convolution(pool, c.pool, 1);
  HybridConcurrent branches(1);
  branches.add(one, three, five, pool);
  net.add(branches);
}

std::shared_ptr<HybridBlock> googlenet() {
  auto net = std::make_shared<HybridSequential>();
  const auto scope = net->name_scope();
  const auto halve = [&](std::int64_t size) {
    net->add(nn::MaxPool2D({.pool_size = size, .strides = 2, .ceil_mode = true}));
  };
  add_convolution(*net, 64, 7, 2);
  halve(3);
  add_convolution(*net, 64, 1);
  add_convolution(*net, 192, 3);
  halve(3);
  add_inception(*net, {64, 96, 128, 16, 32, 32});
  add_inception(*net, {128, 128, 192, 32, 96, 64});
  halve(3);
  add_inception(*net, {192, 96, 208, 16, 48, 64});
  add_inception(*net, {160, 112, 224, 24, 64, 64});
  add_inception(*net, {128, 128, 256, 24, 64, 64});
  add_inception(*net, {112, 144, 288, 32, 64, 64});
  add_inception(*net, {256, 160, 320, 32, 128, 128});
  halve(2);
  add_inception(*net, {256, 160, 320, 32, 128, 128});
  add_inception(*net, {384, 192, 384, 48, 128, 128});
  net->add(nn::GlobalAvgPool2D(), nn::Flatten(), nn::Dropout(0.2), nn::Dense(1000));
  return net;
}

/// Xie et al., "Aggregated residual transformations" (2016): a bottleneck whose 3x3 convolution has 32
/// groups.
class Aggregated : public HybridBlock {
 public:
  Aggregated(std::int64_t in, std::int64_t inner, std::int64_t stride) {
    const auto scope = name_scope();
    const std::int64_t out = 2 * inner;
    HybridSequential parts;
    parts.add(convolution(in, inner, 1, 1, 1), nn::BatchNorm(), nn::Activation("relu"),
              convolution(inner, inner, 3, stride, 32), nn::BatchNorm(), nn::Activation("relu"),
              convolution(inner, out, 1, 1, 1), nn::BatchNorm());
    body = parts;
    if (in == out) return;
    HybridSequential projection;
    projection.add(convolution(in, out, 1, stride, 1), nn::BatchNorm());
    shortcut = projection;
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    return F.relu(body(x) + (shortcut.defined() ? shortcut(x) : x));
  }

 private:
  static nn::Conv2D convolution(std::int64_t in, std::int64_t out, int kernel, std::int64_t stride,
                                std::int64_t groups) {
    return {out, nn::ConvOptions{.kernel_size = kernel,
                                 .strides = static_cast<int>(stride),
                                 .padding = kernel / 2,
                                 .groups = groups,
                                 .use_bias = false,
                                 .in_channels = in}};
  }
  Child<HybridSequential> body{this, "body"}, shortcut{this, "shortcut"};
};

/// ResNeXt-50 of 32 groups with 4 channels in the first stage.
std::shared_ptr<HybridBlock> resnext50() {
  auto net = std::make_shared<HybridSequential>();
  const auto scope = net->name_scope();
  add_convolution(*net, 64, 7, 2);
  net->add(nn::MaxPool2D(3, 2, 1));
  std::int64_t in = 64, inner = 128;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int i = 0; i < blocks; ++i) {
      net->add(Aggregated(in, inner, i == 0 && inner > 128 ? 2 : 1));
      in = 2 * inner;
    }
    inner *= 2;
  }
  net->add(nn::GlobalAvgPool2D(), nn::Flatten(), nn::Dense(1000, {.in_units = in}));
  return net;
}

Tensor image() { return randn({1, 3, 224, 224}); }

}  // namespace

Workload model(const std::string& name) {
  return {std::make_shared<model_zoo::vision::VisionModel>(model_zoo::vision::get_model(name)), {image()}};
}

void add_vision() {
  const std::pair<const char*, const char*> zoo[] = {
      {"resnet18_v1", "resnet18_v1"},     {"resnet50_v1", "resnet50_v1"}, {"mobilenet_v2", "mobilenetv2_1.0"},
      {"squeezenet1.1", "squeezenet1.1"}, {"densenet121", "densenet121"}, {"vgg16", "vgg16"}};
  for (const auto& [name, of_zoo] : zoo) add(name, [of_zoo = of_zoo] { return model(of_zoo); }, {1, 2});
  add("googlenet", [] { return Workload{googlenet(), {image()}}; }, {1, 2});
  add("resnext50", [] { return Workload{resnext50(), {image()}}; }, {1, 2});
}

}  // namespace bench
