// MobileNet, versions 1 and 2.
#include "frontend/gluon/model_zoo/parts.h"
#include "runtime/fail.h"

namespace kiln::model_zoo::vision {
namespace {

class RELU6 : public HybridBlock {
 public:
  RELU6() : HybridBlock(BlockOptions{}, "relu6") {}

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    return F.clip(x, {.a_min = 0, .a_max = 6, .name = "relu6"});
  }
};

struct GroupedConvSize {
  std::int64_t channels;
  int kernel = 1, stride = 1;
  std::int64_t groups = 1;
};

/// A convolution without bias that keeps the spatial extents at stride 1, and BatchNorm.
void add_conv(nn::HybridSequential& out, const GroupedConvSize& c) {
  out.add(nn::Conv2D(c.channels, {.kernel_size = c.kernel,
                                  .strides = c.stride,
                                  .padding = c.kernel / 2,
                                  .groups = c.groups,
                                  .use_bias = false}));
  out.add(nn::BatchNorm());
}

/// 1x1 convolution to `expansion` times the channels, 3x3 depthwise, 1x1 to `channels`; the input is added if
/// the shapes agree.
class LinearBottleneck : public HybridBlock {
 public:
  LinearBottleneck(std::int64_t in_channels, std::int64_t channels, int expansion, int stride)
      : HybridBlock(BlockOptions{}, "linearbottleneck"), shortcut_(stride == 1 && in_channels == channels) {
    const auto scope = name_scope();
    out_ = nn::HybridSequential();
    const std::int64_t inner = in_channels * expansion;
    add_conv(*out_, {.channels = inner});
    out_->add(RELU6());
    add_conv(*out_, {.channels = inner, .kernel = 3, .stride = stride, .groups = inner});
    out_->add(RELU6());
    add_conv(*out_, {.channels = channels});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = out_(x);
    return shortcut_ ? F.elemwise_add(y, x) : y;
  }

 private:
  bool shortcut_;
  Child<nn::HybridSequential> out_{this, "out"};
};

/// Channel counts times the network's multiplier, rounded down.
class Scaled {
 public:
  explicit Scaled(double multiplier) : multiplier_(multiplier) {
    if (!(multiplier >= 0.03125 && multiplier <= 1000))  // below this, 32 channels would become none
      fail("The multiplier of a MobileNet must be between 1/32 and 1000, not {}", multiplier);
  }
  std::int64_t operator()(int channels) const { return static_cast<std::int64_t>(channels * multiplier_); }

 private:
  double multiplier_;
};

/// Blocks of one size: `repeat` of them, the first with `stride`.
struct Stage {
  int channels, repeat, stride;
};

}  // namespace

MobileNet::MobileNet(double multiplier, const ModelOptions& o, Where where) try
    : VisionModel("MobileNet", o) {
  const Scaled scaled(multiplier);
  const auto scope = name_scope();
  features = sequence();
  add_conv(*features, {.channels = scaled(32), .kernel = 3, .stride = 2});
  features->add(relu());
  std::int64_t in = scaled(32);
  for (const Stage& s : {Stage{64, 1, 1},
                         {128, 1, 2},
                         {128, 1, 1},
                         {256, 1, 2},
                         {256, 1, 1},
                         {512, 1, 2},
                         {512, 5, 1},
                         {1024, 1, 2},
                         {1024, 1, 1}}) {
    for (int n = 0; n < s.repeat; ++n) {
      add_conv(*features, {.channels = in, .kernel = 3, .stride = s.stride, .groups = in});
      features->add(relu());
      add_conv(*features, {.channels = in = scaled(s.channels)});
      features->add(relu());
    }
  }
  features->add(nn::GlobalAvgPool2D());
  features->add(nn::Flatten());
  output = nn::Dense(o.classes);
} catch (const Error&) {
  rethrow_at_line(where);
}

MobileNetV2::MobileNetV2(double multiplier, const ModelOptions& o, Where where) try
    : VisionModel("MobileNetV2", o) {
  const Scaled scaled(multiplier);
  const auto scope = name_scope();
  features = nn::HybridSequential(BlockOptions{.prefix = "features_"});
  {
    const auto inner = features->name_scope();
    add_conv(*features, {.channels = scaled(32), .kernel = 3, .stride = 2});
    features->add(RELU6());
    std::int64_t in = scaled(32);
    int expansion = 1;  // of the first block alone
    for (const Stage& s :
         {Stage{16, 1, 1}, {24, 2, 2}, {32, 3, 2}, {64, 4, 2}, {96, 3, 1}, {160, 3, 2}, {320, 1, 1}}) {
      for (int n = 0; n < s.repeat; ++n) {
        features->add(LinearBottleneck(in, scaled(s.channels), expansion, n == 0 ? s.stride : 1));
        in = scaled(s.channels);
        expansion = 6;
      }
    }
    add_conv(*features, {.channels = multiplier > 1 ? scaled(1280) : 1280});
    features->add(RELU6());
    features->add(nn::GlobalAvgPool2D());
  }
  nn::HybridSequential scores(BlockOptions{.prefix = "output_"});
  const auto inner = scores.name_scope();
  scores.add(nn::Conv2D(o.classes, {.use_bias = false, .prefix = "pred_"}));
  scores.add(nn::Flatten());
  output = scores;
} catch (const Error&) {
  rethrow_at_line(where);
}

}  // namespace kiln::model_zoo::vision
