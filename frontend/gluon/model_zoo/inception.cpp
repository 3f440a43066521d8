// Inception v3.
#include "frontend/gluon/model_zoo/parts.h"

namespace kiln::model_zoo::vision {
namespace {

struct ConvSize {
  std::int64_t channels;
  nn::Extents kernel = 1;
  nn::Extents stride = 1;
  nn::Extents padding = 0;
};
enum class Pooled { no, average, maximum };

/// Convolutions that keep the spatial extents: 1x1, square, and of one row or column.
ConvSize point(std::int64_t channels) { return {.channels = channels}; }
ConvSize square(std::int64_t channels, int kernel) {
  return {.channels = channels, .kernel = kernel, .padding = kernel / 2};
}
ConvSize row(std::int64_t channels, int kernel) {
  return {.channels = channels, .kernel = {1, kernel}, .padding = {0, kernel / 2}};
}
ConvSize column(std::int64_t channels, int kernel) {
  return {.channels = channels, .kernel = {kernel, 1}, .padding = {kernel / 2, 0}};
}
/// 3x3 without padding.
ConvSize plain(std::int64_t channels, int stride) {
  return {.channels = channels, .kernel = 3, .stride = stride};
}

nn::HybridSequential basic_conv(const ConvSize& c) {
  nn::HybridSequential out = sequence();
  out.add(nn::Conv2D(
      c.channels, {.kernel_size = c.kernel, .strides = c.stride, .padding = c.padding, .use_bias = false}));
  out.add(nn::BatchNorm({.epsilon = 0.001}));
  out.add(relu());
  return out;
}

nn::HybridSequential branch(Pooled pooled, std::initializer_list<ConvSize> convs) {
  nn::HybridSequential out = sequence();
  if (pooled == Pooled::average) out.add(nn::AvgPool2D(3, 1, 1));
  if (pooled == Pooled::maximum) out.add(nn::MaxPool2D(3, 2));
  for (const ConvSize& c : convs) out.add(basic_conv(c));
  return out;
}
nn::HybridSequential branch(std::initializer_list<ConvSize> convs) { return branch(Pooled::no, convs); }

nn::HybridConcurrent joined(const std::string& prefix) {
  return nn::HybridConcurrent({.axis = 1, .prefix = prefix});
}

nn::HybridConcurrent block_a(const std::string& prefix, std::int64_t pooled) {
  nn::HybridConcurrent out = joined(prefix);
  const auto scope = out.name_scope();
  out.add(branch({point(64)}));
  out.add(branch({point(48), square(64, 5)}));
  out.add(branch({point(64), square(96, 3), square(96, 3)}));
  out.add(branch(Pooled::average, {point(pooled)}));
  return out;
}

nn::HybridConcurrent block_b(const std::string& prefix) {
  nn::HybridConcurrent out = joined(prefix);
  const auto scope = out.name_scope();
  out.add(branch({plain(384, 2)}));
  out.add(branch({point(64), square(96, 3), plain(96, 2)}));
  out.add(branch(Pooled::maximum, {}));
  return out;
}

nn::HybridConcurrent block_c(const std::string& prefix, std::int64_t inner) {
  nn::HybridConcurrent out = joined(prefix);
  const auto scope = out.name_scope();
  out.add(branch({point(192)}));
  out.add(branch({point(inner), row(inner, 7), column(192, 7)}));
  out.add(branch({point(inner), column(inner, 7), row(inner, 7), column(inner, 7), row(192, 7)}));
  out.add(branch(Pooled::average, {point(192)}));
  return out;
}

nn::HybridConcurrent block_d(const std::string& prefix) {
  nn::HybridConcurrent out = joined(prefix);
  const auto scope = out.name_scope();
  out.add(branch({point(192), plain(320, 2)}));
  out.add(branch({point(192), row(192, 7), column(192, 7), plain(192, 2)}));
  out.add(branch(Pooled::maximum, {}));
  return out;
}

/// A branch that ends in a row and a column convolution, concatenated.
nn::HybridSequential forked(std::initializer_list<ConvSize> convs) {
  nn::HybridSequential out = sequence();
  out.add(branch(convs));
  nn::HybridConcurrent fork = joined("");
  fork.add(branch({row(384, 3)}));
  fork.add(branch({column(384, 3)}));
  out.add(fork);
  return out;
}

nn::HybridConcurrent block_e(const std::string& prefix) {
  nn::HybridConcurrent out = joined(prefix);
  const auto scope = out.name_scope();
  out.add(branch({point(320)}));
  out.add(forked({point(384)}));
  out.add(forked({point(448), square(384, 3)}));
  out.add(branch(Pooled::average, {point(192)}));
  return out;
}

}  // namespace

Inception3::Inception3(const ModelOptions& o, Where where) try : VisionModel("Inception3", o) {
  const auto scope = name_scope();
  features = sequence();
  features->add(basic_conv(plain(32, 2)));
  features->add(basic_conv(plain(32, 1)));
  features->add(basic_conv(square(64, 3)));
  features->add(nn::MaxPool2D(3, 2));
  features->add(basic_conv(point(80)));
  features->add(basic_conv(plain(192, 1)));
  features->add(nn::MaxPool2D(3, 2));
  features->add(block_a("A1_", 32));
  features->add(block_a("A2_", 64));
  features->add(block_a("A3_", 64));
  features->add(block_b("B_"));
  features->add(block_c("C1_", 128));
  features->add(block_c("C2_", 160));
  features->add(block_c("C3_", 160));
  features->add(block_c("C4_", 192));
  features->add(block_d("D_"));
  features->add(block_e("E1_"));
  features->add(block_e("E2_"));
  features->add(nn::AvgPool2D(8));
  features->add(nn::Dropout(0.5));
  output = nn::Dense(o.classes);
} catch (const Error&) {
  rethrow_at_line(where);
}

}  // namespace kiln::model_zoo::vision
