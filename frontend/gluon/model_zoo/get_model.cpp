// Networks by name.
#include "frontend/call/line.h"
#include "frontend/tensor/text.h"
#include "runtime/fail.h"
#include "runtime/once.h"

#include <kiln/model_zoo.h>

#include <fmt/ranges.h>
#include <functional>
#include <map>

namespace kiln::model_zoo::vision {
namespace {

using detail::lower;
using Where = std::source_location;
using Make = std::function<VisionModel(const ModelOptions&, Where)>;

/// The factory of each network.
std::map<std::string, Make> make_table() {
  std::map<std::string, Make> table;
  table["alexnet"] = [](const ModelOptions& o, Where w) { return AlexNet(o, w); };
  table["inceptionv3"] = [](const ModelOptions& o, Where w) { return Inception3(o, w); };
  for (const char* version : {"1.0", "1.1"})
    table[std::string("squeezenet") + version] = [=](const ModelOptions& o, Where w) {
      return SqueezeNet(version, o, w);
    };

  const auto vgg = [&](const std::string& depth, const std::vector<int>& layers) {
    const std::vector<int> filters = {64, 128, 256, 512, 512};
    table["vgg" + depth] = [=](const ModelOptions& o, Where w) { return VGG(layers, filters, o, w); };
    table["vgg" + depth + "_bn"] = [=](ModelOptions o, Where w) {
      o.batch_norm = true;
      return VGG(layers, filters, o, w);
    };
  };
  vgg("11", {1, 1, 2, 2, 2});
  vgg("13", {2, 2, 2, 2, 2});
  vgg("16", {2, 2, 3, 3, 3});
  vgg("19", {2, 2, 4, 4, 4});

  const auto densenet = [&](const std::string& depth, int begin, int growth, const std::vector<int>& blocks) {
    table["densenet" + depth] = [=](const ModelOptions& o, Where w) {
      return DenseNet(begin, growth, blocks, o, w);
    };
  };
  densenet("121", 64, 32, {6, 12, 24, 16});
  densenet("161", 96, 48, {6, 12, 36, 24});
  densenet("169", 64, 32, {6, 12, 32, 32});
  densenet("201", 64, 32, {6, 12, 48, 32});

  const auto resnet = [&](const std::string& depth, ResNetBlock block, const std::vector<int>& layers) {
    const std::vector<int> channels = block == ResNetBlock::basic ? std::vector{64, 64, 128, 256, 512}
                                                                  : std::vector{64, 256, 512, 1024, 2048};
    table["resnet" + depth + "_v1"] = [=](const ModelOptions& o, Where w) {
      return ResNetV1(block, layers, channels, o, w);
    };
    table["resnet" + depth + "_v2"] = [=](const ModelOptions& o, Where w) {
      return ResNetV2(block, layers, channels, o, w);
    };
  };
  resnet("18", ResNetBlock::basic, {2, 2, 2, 2});
  resnet("34", ResNetBlock::basic, {3, 4, 6, 3});
  resnet("50", ResNetBlock::bottleneck, {3, 4, 6, 3});
  resnet("101", ResNetBlock::bottleneck, {3, 4, 23, 3});
  resnet("152", ResNetBlock::bottleneck, {3, 8, 36, 3});

  const auto mobilenet = [&](const std::string& multiplier, double value) {
    table["mobilenet" + multiplier] = [=](const ModelOptions& o, Where w) { return MobileNet(value, o, w); };
    table["mobilenetv2_" + multiplier] = [=](const ModelOptions& o, Where w) {
      return MobileNetV2(value, o, w);
    };
  };
  mobilenet("1.0", 1);
  mobilenet("0.75", 0.75);
  mobilenet("0.5", 0.5);
  mobilenet("0.25", 0.25);
  return table;
}

const std::map<std::string, Make>& models() { return once<make_table>(); }

/// An option of another family has no effect here: it is rejected as a probable mistake.
void check_options(const std::string& name, const ModelOptions& o) {
  const ModelOptions plain;
  const auto only_of = [&](bool given, const char* option, const char* family) {
    if (given && !name.starts_with(family))
      fail("{}: the option {} is one of {} networks", name, option, family);
  };
  only_of(o.batch_norm != plain.batch_norm, "batch_norm", "vgg");
  only_of(o.thumbnail != plain.thumbnail, "thumbnail", "resnet");
  only_of(o.bn_size != plain.bn_size, "bn_size", "densenet");
  only_of(o.dropout != plain.dropout, "dropout", "densenet");
}

}  // namespace

VisionModel::VisionModel(const std::string& class_name, const ModelOptions& o)
    : HybridBlock({.prefix = o.prefix, .params = o.params}, lower(class_name)), class_name_(class_name) {
  if (o.classes <= 0) fail("{}: the number of classes must be positive, not {}", class_name, o.classes);
}

Tensor VisionModel::hybrid_forward(F&, const Tensor& x) { return output(features(x)); }

VisionModel get_model(const std::string& name, const ModelOptions& options, std::source_location where) {
  return at_line(where, [&] {
    const auto found = models().find(lower(name));
    if (found == models().end())
      fail("Model {} is not supported. Available options are\n\t{}", name, fmt::join(model_names(), "\n\t"));
    check_options(found->first, options);
    return found->second(options, where);
  });
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : models()) names.push_back(name);
  return names;
}

}  // namespace kiln::model_zoo::vision
