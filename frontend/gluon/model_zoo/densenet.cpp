// DenseNet.
#include "frontend/gluon/model_zoo/parts.h"

namespace kiln::model_zoo::vision {
namespace {

void add_norm_relu_conv(nn::HybridSequential& out, std::int64_t channels, int kernel, int padding) {
  out.add(nn::BatchNorm());
  out.add(relu());
  out.add(nn::Conv2D(channels, {.kernel_size = kernel, .padding = padding, .use_bias = false}));
}

/// The input concatenated with `growth_rate` new channels.
nn::HybridConcurrent dense_layer(std::int64_t growth_rate, const ModelOptions& o) {
  nn::HybridSequential more = sequence();
  add_norm_relu_conv(more, o.bn_size * growth_rate, 1, 0);
  add_norm_relu_conv(more, growth_rate, 3, 1);
  if (o.dropout != 0) more.add(nn::Dropout(o.dropout));
  nn::HybridConcurrent out({.axis = 1, .prefix = ""});
  out.add(nn::Identity());
  out.add(more);
  return out;
}

nn::HybridSequential dense_block(std::size_t stage, int layers, std::int64_t growth_rate,
                                 const ModelOptions& o) {
  nn::HybridSequential out(BlockOptions{.prefix = "stage" + std::to_string(stage) + "_"});
  const auto scope = out.name_scope();
  for (int i = 0; i < layers; ++i) out.add(dense_layer(growth_rate, o));
  return out;
}

/// Halves the spatial extents; `channels` outputs.
nn::HybridSequential transition(std::int64_t channels) {
  nn::HybridSequential out = sequence();
  add_norm_relu_conv(out, channels, 1, 0);
  out.add(nn::AvgPool2D(2, 2));
  return out;
}

}  // namespace

DenseNet::DenseNet(std::int64_t num_init_features, std::int64_t growth_rate,
                   const std::vector<int>& block_config, const ModelOptions& o, Where where) try
    : VisionModel("DenseNet", o) {
  const auto scope = name_scope();
  features = sequence();
  features->add(
      nn::Conv2D(num_init_features, {.kernel_size = 7, .strides = 2, .padding = 3, .use_bias = false}));
  features->add(nn::BatchNorm());
  features->add(relu());
  features->add(nn::MaxPool2D(3, 2, 1));
  std::int64_t channels = num_init_features;
  for (std::size_t i = 0; i < block_config.size(); ++i) {
    features->add(dense_block(i + 1, block_config[i], growth_rate, o));
    channels += block_config[i] * growth_rate;
    if (i + 1 == block_config.size()) break;
    channels /= 2;
    features->add(transition(channels));
  }
  features->add(nn::BatchNorm());
  features->add(relu());
  features->add(nn::AvgPool2D(7));
  features->add(nn::Flatten());
  output = nn::Dense(o.classes);
} catch (const Error&) {
  rethrow_at_line(where);
}

}  // namespace kiln::model_zoo::vision
