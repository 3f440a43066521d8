// ResNet, versions 1 and 2.
#include "frontend/gluon/model_zoo/parts.h"
#include "runtime/fail.h"

namespace kiln::model_zoo::vision {
namespace {

nn::Conv2D conv(std::int64_t channels, int kernel, int stride, std::int64_t in_channels, bool bias = false) {
  return {channels,
          {.kernel_size = kernel,
           .strides = stride,
           .padding = kernel / 2,
           .use_bias = bias,
           .in_channels = in_channels}};
}

/// A block of a ResNet: the data of both versions, and its printed name.
class Residual : public HybridBlock {
 public:
  std::string class_name() const override { return class_name_; }

 protected:
  explicit Residual(const char* class_name)
      : HybridBlock(BlockOptions{.prefix = ""}, ""), class_name_(class_name) {}

 private:
  const char* class_name_;
};

/// relu(x + body(x)); a convolution is applied to x if its shape differs from the body's.
class ResidualV1 : public Residual {
 public:
  ResidualV1(ResNetBlock kind, std::int64_t channels, int stride, std::int64_t in_channels)
      : Residual(kind == ResNetBlock::basic ? "BasicBlockV1" : "BottleneckV1"), kind_(kind) {
    body_ = sequence();
    const auto add = [&](const nn::Conv2D& c) {
      if (body_->size() != 0) body_->add(relu());
      body_->add(c);
      body_->add(nn::BatchNorm());
    };
    if (kind == ResNetBlock::basic) {
      add(conv(channels, 3, stride, in_channels));
      add(conv(channels, 3, 1, channels));
    } else {
      add(conv(channels / 4, 1, stride, 0, /*bias=*/true));
      add(conv(channels / 4, 3, 1, channels / 4));
      add(conv(channels, 1, 1, 0, /*bias=*/true));
    }
    if (channels == in_channels) return;
    downsample_ = sequence();
    downsample_->add(conv(channels, 1, stride, in_channels));
    downsample_->add(nn::BatchNorm());
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = body_(x);
    const Tensor shortcut = downsample_.defined() ? downsample_(x) : x;
    // The order is visible in exported files, not in the sum.
    const Tensor sum = kind_ == ResNetBlock::basic ? shortcut + y : y + shortcut;
    return F.Activation(sum, {.act_type = "relu"});
  }

 private:
  ResNetBlock kind_;
  Child<nn::HybridSequential> body_{this, "body"}, downsample_{this, "downsample"};
};

/// x plus convolutions, each after BatchNorm and activation. If the shape changes, x is replaced by a
/// convolution of the first activation.
class ResidualV2 : public Residual {
 public:
  ResidualV2(ResNetBlock kind, std::int64_t channels, int stride, std::int64_t in_channels)
      : Residual(kind == ResNetBlock::basic ? "BasicBlockV2" : "BottleneckV2") {
    if (kind == ResNetBlock::basic) {
      add(channels, 3, stride, in_channels);
      add(channels, 3, 1, channels);
    } else {
      add(channels / 4, 1, 1, 0);
      add(channels / 4, 3, stride, channels / 4);
      add(channels, 1, 1, 0);
    }
    if (channels != in_channels) downsample_ = conv(channels, 1, stride, in_channels);
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    Tensor shortcut = x, y = x;
    for (std::size_t i = 0; i < convs_.size(); ++i) {
      y = F.Activation(norms_[i](y), {.act_type = "relu"});
      if (i == 0 && downsample_.defined()) shortcut = downsample_(y);
      y = convs_[i](y);
    }
    return y + shortcut;
  }

 private:
  void add(std::int64_t channels, int kernel, int stride, std::int64_t in_channels) {
    const std::string number = std::to_string(convs_.size() + 1);
    norms_.emplace_back();
    register_child(norms_.back(), "bn" + number);
    convs_.push_back(conv(channels, kernel, stride, in_channels));
    register_child(convs_.back(), "conv" + number);
  }

  std::vector<nn::BatchNorm> norms_;
  std::vector<nn::Conv2D> convs_;
  Child<nn::Conv2D> downsample_{this, "downsample"};
};

void add_beginning(nn::HybridSequential& features, const std::vector<int>& channels, bool thumbnail) {
  if (channels.empty()) fail("A ResNet needs the number of channels of its first convolution");
  if (thumbnail) return features.add(conv(channels[0], 3, 1, 0));
  features.add(conv(channels[0], 7, 2, 0));
  features.add(nn::BatchNorm());
  features.add(relu());
  features.add(nn::MaxPool2D(3, 2, 1));
}

template <class Block>
void add_stages(nn::HybridSequential& features, ResNetBlock kind, const std::vector<int>& layers,
                const std::vector<int>& channels) {
  if (channels.size() != layers.size() + 1)
    fail("A ResNet of {} stages needs {} numbers of channels, not {}", layers.size(), layers.size() + 1,
         channels.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    nn::HybridSequential stage(BlockOptions{.prefix = "stage" + std::to_string(i + 1) + "_"});
    const auto scope = stage.name_scope();
    stage.add(Block(kind, channels[i + 1], i == 0 ? 1 : 2, channels[i]));
    for (int n = 1; n < layers[i]; ++n) stage.add(Block(kind, channels[i + 1], 1, channels[i + 1]));
    features.add(stage);
  }
}

}  // namespace

ResNetV1::ResNetV1(ResNetBlock block, const std::vector<int>& layers, const std::vector<int>& channels,
                   const ModelOptions& o, Where where) try
    : VisionModel("ResNetV1", o) {
  const auto scope = name_scope();
  features = sequence();
  add_beginning(*features, channels, o.thumbnail);
  add_stages<ResidualV1>(*features, block, layers, channels);
  features->add(nn::GlobalAvgPool2D());
  output = nn::Dense(o.classes, {.in_units = channels.back()});
} catch (const Error&) {
  rethrow_at_line(where);
}

ResNetV2::ResNetV2(ResNetBlock block, const std::vector<int>& layers, const std::vector<int>& channels,
                   const ModelOptions& o, Where where) try
    : VisionModel("ResNetV2", o) {
  const auto scope = name_scope();
  features = sequence();
  features->add(nn::BatchNorm({.center = false, .scale = false}));
  add_beginning(*features, channels, o.thumbnail);
  add_stages<ResidualV2>(*features, block, layers, channels);
  features->add(nn::BatchNorm());
  features->add(relu());
  features->add(nn::GlobalAvgPool2D());
  features->add(nn::Flatten());
  output = nn::Dense(o.classes, {.in_units = channels.back()});
} catch (const Error&) {
  rethrow_at_line(where);
}

}  // namespace kiln::model_zoo::vision
