// VGG.
#include "frontend/gluon/model_zoo/parts.h"
#include "runtime/fail.h"

namespace kiln::model_zoo::vision {

VGG::VGG(const std::vector<int>& layers, const std::vector<int>& filters, const ModelOptions& o,
         Where where) try
    : VisionModel("VGG", o) {
  if (layers.size() != filters.size())
    fail("VGG: {} numbers of layers, but {} of filters", layers.size(), filters.size());
  const Initializer gaussian = init::Xavier({.rnd_type = "gaussian", .factor_type = "out", .magnitude = 2});
  const auto scope = name_scope();
  features = sequence();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (int n = 0; n < layers[i]; ++n) {
      features->add(nn::Conv2D(filters[i], {.kernel_size = 3, .padding = 1, .weight_initializer = gaussian}));
      if (o.batch_norm) features->add(nn::BatchNorm());
      features->add(relu());
    }
    features->add(nn::MaxPool2D(2));
  }
  for (int i = 0; i < 2; ++i) {
    features->add(nn::Dense(4096, {.activation = "relu", .weight_initializer = "normal"}));
    features->add(nn::Dropout(0.5));
  }
  output = nn::Dense(o.classes, {.weight_initializer = "normal"});
} catch (const Error&) {
  rethrow_at_line(where);
}

}  // namespace kiln::model_zoo::vision
