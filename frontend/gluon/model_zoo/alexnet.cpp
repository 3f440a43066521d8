// AlexNet.
#include "frontend/gluon/model_zoo/parts.h"

namespace kiln::model_zoo::vision {

AlexNet::AlexNet(const ModelOptions& o, Where where) try : VisionModel("AlexNet", o) {
  const auto scope = name_scope();
  features = sequence();
  const auto conv = [&](int channels, int kernel, int stride, int padding) {
    features->add(nn::Conv2D(
        channels, {.kernel_size = kernel, .strides = stride, .padding = padding, .activation = "relu"}));
  };
  conv(64, 11, 4, 2);
  features->add(nn::MaxPool2D(3, 2));
  conv(192, 5, 1, 2);
  features->add(nn::MaxPool2D(3, 2));
  conv(384, 3, 1, 1);
  conv(256, 3, 1, 1);
  conv(256, 3, 1, 1);
  features->add(nn::MaxPool2D(3, 2));
  features->add(nn::Flatten());
  for (int i = 0; i < 2; ++i) {
    features->add(nn::Dense(4096, {.activation = "relu"}));
    features->add(nn::Dropout(0.5));
  }
  output = nn::Dense(o.classes);
} catch (const Error&) {
  rethrow_at_line(where);
}

}  // namespace kiln::model_zoo::vision
