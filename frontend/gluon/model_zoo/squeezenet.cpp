// SqueezeNet.
#include "frontend/gluon/model_zoo/parts.h"
#include "runtime/fail.h"

namespace kiln::model_zoo::vision {
namespace {

nn::HybridSequential conv_relu(std::int64_t channels, int kernel, int padding) {
  nn::HybridSequential out = sequence();
  out.add(nn::Conv2D(channels, {.kernel_size = kernel, .padding = padding}));
  out.add(relu());
  return out;
}

/// A 1x1 convolution to few channels, then 1x1 and 3x3 convolutions to `expand` channels each, concatenated.
nn::HybridSequential fire(std::int64_t squeeze, std::int64_t expand) {
  nn::HybridSequential out = sequence();
  out.add(conv_relu(squeeze, 1, 0));
  nn::HybridConcurrent paths({.axis = 1, .prefix = ""});
  paths.add(conv_relu(expand, 1, 0));
  paths.add(conv_relu(expand, 3, 1));
  out.add(paths);
  return out;
}

}  // namespace

SqueezeNet::SqueezeNet(std::string_view version, const ModelOptions& o, Where where) try
    : VisionModel("SqueezeNet", o) {
  const bool first = version == "1.0";
  if (!first && version != "1.1") fail("There is no SqueezeNet '{}'; the versions are 1.0 and 1.1", version);
  // Squeezed channels of the fire blocks (each path expands to 4 times as many); 0 is a pooling layer.
  const std::vector<int> layers = first ? std::vector{0, 16, 16, 32, 0, 32, 48, 48, 64, 0, 64}
                                        : std::vector{0, 16, 16, 0, 32, 32, 0, 48, 48, 64, 64};
  const auto scope = name_scope();
  features = sequence();
  features->add(nn::Conv2D(first ? 96 : 64, {.kernel_size = first ? 7 : 3, .strides = 2}));
  features->add(relu());
  for (const int squeeze : layers)
    if (squeeze == 0)
      features->add(nn::MaxPool2D({.pool_size = 3, .strides = 2, .ceil_mode = true}));
    else
      features->add(fire(squeeze, 4 * squeeze));
  features->add(nn::Dropout(0.5));

  nn::HybridSequential scores = sequence();
  scores.add(nn::Conv2D(o.classes, 1));
  scores.add(relu());
  scores.add(nn::AvgPool2D(13));
  scores.add(nn::Flatten());
  output = scores;
} catch (const Error&) {
  rethrow_at_line(where);
}

}  // namespace kiln::model_zoo::vision
